// Finds a fragment in its original. Extraction has removed spaces, punctuation and tags from the fragment, so runs of
// three words are compared.

// Scripts without spaces between words are compared letter by letter.
const word = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Khmer}\p{sc=Lao}\p{sc=Myanmar}]|[\p{L}\p{N}]+/gu;

/** @param {string} text */
function words(text) {
  const found = [];
  for (const m of text.matchAll(word)) found.push({ text: m[0].toLowerCase(), at: m.index, end: m.index + m[0].length });
  return found;
}

/**
 * Drops the first and the last group of adjacent hits if the other hits contain the same words. Such a group is not part
 * of the fragment, but for example a link to the section.
 * @param {number[]} hits
 * @param {(hit: number) => string} key
 */
function withoutRepeats(hits, key) {
  const groups = [[hits[0]]];
  for (let i = 1; i < hits.length; i++) hits[i] === hits[i - 1] + 1 ? groups[groups.length - 1].push(hits[i]) : groups.push([hits[i]]);
  const isRepeat = (/** @type {number[]} */ group, /** @type {number[][]} */ others) => {
    const keys = new Set(others.flat().map(key));
    return others.length > 0 && group.every((hit) => keys.has(key(hit)));
  };
  if (isRepeat(groups[0], groups.slice(1))) groups.shift();
  if (isRepeat(groups[groups.length - 1], groups.slice(0, -1))) groups.pop();
  return groups.flat();
}

/**
 * Finds the part of the text that contains most of the fragment.
 * @param {string} text
 * @param {string} fragment
 * @returns {{start: number, end: number} | null} null if no part contains at least a third of the fragment
 */
export function locate(text, fragment) {
  const sought = words(fragment);
  const there = words(text);
  const run = Math.min(3, sought.length);
  if (run === 0 || there.length < run) return null;
  const key = (/** @type {{text: string}[]} */ list, /** @type {number} */ i) => list.slice(i, i + run).map((w) => w.text).join(' ');
  const runs = new Set();
  for (let i = 0; i + run <= sought.length; i++) runs.add(key(sought, i));
  /** @type {number[]} */
  const hits = [];
  for (let i = 0; i + run <= there.length; i++) if (runs.has(key(there, i))) hits.push(i);

  // The window is longer than the fragment, because the original may contain more, such as table markup or page
  // headers.
  const span = Math.ceil(sought.length * 1.3) + 3;
  let best = { from: 0, count: 0 };
  for (let from = 0, to = 0; from < hits.length; from++) {
    while (to < hits.length && hits[to] < hits[from] + span) to++;
    if (to - from > best.count) best = { from, count: to - from };
  }
  if (best.count * 3 < sought.length - run + 1 || best.count === 0) return null;
  const part = withoutRepeats(hits.slice(best.from, best.from + best.count), (hit) => key(there, hit));
  const [a, z] = [part[0], part[part.length - 1] + run - 1];
  let [start, end] = [there[a].at, there[z].end];
  // Include the punctuation at the fragment's ends.
  const lead = fragment.slice(0, sought[0].at).trim();
  const tail = fragment.slice(sought[sought.length - 1].end).trim();
  if (lead && there[a].text === sought[0].text && text.slice(0, start).endsWith(lead)) start -= lead.length;
  if (tail && there[z].text === sought[sought.length - 1].text && text.startsWith(tail, end)) end += tail.length;
  return { start, end };
}
