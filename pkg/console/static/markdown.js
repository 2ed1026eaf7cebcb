// Creates elements from Markdown written by models. It supports a small part of Markdown. HTML is shown as text, and
// links lead only to the web.
import { away, h } from './dom.js';

/** @typedef {(n: number) => any} Cite returns the replacement for [n], or null to keep the text */

const deepest = 4; // maximum nesting of lists and quotes

/**
 * @param {string} text
 * @param {Cite} [cite]
 * @returns {any[]} block elements
 */
export function markdown(text, cite = () => null) {
  return blocks(text.replace(/\r\n?/g, '\n').split('\n'), cite, 0);
}

/**
 * Encloses the unsupported sentences of an answer, except rows of tables, in characters for private use, for markdown to
 * mark them.
 * @param {string} text
 * @param {{ start: number, end: number, unsupported: boolean }[]} sentences
 */
export function unsupportedMarks(text, sentences) {
  const characters = Array.from(text, (c) => (c === '\uE000' || c === '\uE001' ? '' : c));
  const out = [];
  let at = 0;
  for (const s of sentences.filter(({ unsupported }) => unsupported)) {
    out.push(characters.slice(at, s.start).join(''), characters.slice(s.start, s.end).join('').replace(/^(?!\s*\|)[^\n]*\S[^\n]*$/gm, '\uE000$&\uE001'));
    at = s.end;
  }
  return out.join('') + characters.slice(at).join('');
}

/**
 * The text of a source, in which the parts that support the answer are marked.
 * @param {string} text
 * @param {{ start: number, end: number }[]} ranges
 */
export function highlighted(text, ranges) {
  const characters = Array.from(text);
  let at = 0;
  return ranges.filter(({ start }) => start < characters.length).flatMap(({ start, end }) => {
    const before = characters.slice(at, start).join('');
    at = end;
    return [before, h('mark', {}, characters.slice(start, end).join(''))];
  }).concat(characters.slice(at).join(''));
}

/** @param {string[]} lines @param {Cite} cite @param {number} depth @returns {any[]} */
function blocks(lines, cite, depth) {
  const out = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const fence = line.match(/^ {0,3}(```+|~~~+)/);
    const below = lines[i + 1] ?? '';
    if (!line.trim()) {
      i++;
    } else if (fence) {
      const stop = until(lines, i + 1, (l) => l.trim().startsWith(fence[1]) && l.trim().replaceAll(fence[1][0], '') === '');
      out.push(h('pre', { tabindex: '0' }, h('code', {}, lines.slice(i + 1, stop).join('\n'))));
      i = stop + 1;
    } else if (/^ {0,3}#{1,6}\s/.test(line)) {
      out.push(h('h3', {}, inline(title(line), cite)));
      i++;
    } else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) {
      out.push(h('hr'));
      i++;
    } else if (/^ {0,3}>/.test(line) && depth < deepest) {
      const stop = until(lines, i, (l) => !/^ {0,3}>/.test(l));
      out.push(h('blockquote', {}, blocks(lines.slice(i, stop).map((l) => l.replace(/^ {0,3}> ?/, '')), cite, depth + 1)));
      i = stop;
    } else if (item(line) && depth < deepest) {
      i = list(lines, i, cite, depth, out);
    } else if (line.includes('|') && below.includes('|') && below.includes('-') && /^[\s|:-]*$/.test(below)) {
      const stop = until(lines, i + 2, (l) => !l.includes('|'));
      out.push(table(line, lines.slice(i + 2, stop), cite));
      i = stop;
    } else {
      const stop = Math.max(i + 1, until(lines, i + 1, (l) => !l.trim() || /^ {0,3}(#{1,6}\s|>|```|~~~)/.test(l) || (item(l) !== null && depth < deepest)));
      out.push(h('p', {}, lines.slice(i, stop).map((l, n) => [n > 0 && h('br'), inline(l.trim(), cite)])));
      i = stop;
    }
  }
  return out;
}

/** The text of a heading, without the #s around it. @param {string} line */
function title(line) {
  const text = line.replace(/^ *#+\s+/, '').trimEnd();
  let end = text.length;
  while (text[end - 1] === '#') end--;
  return end === 0 || /\s/.test(text[end - 1]) ? text.slice(0, end).trimEnd() : text;
}

/** @param {string} line */
const item = (line) => line.match(/^( *)([-*+]|\d{1,9}[.)])(\s+)(?=\S)/);

/** @param {string[]} lines @param {number} from @param {(line: string) => boolean} ends */
function until(lines, from, ends) {
  let i = from;
  while (i < lines.length && !ends(lines[i])) i++;
  return i;
}

/** @param {string[]} lines @param {number} from @param {Cite} cite @param {number} depth @param {any[]} out */
function list(lines, from, cite, depth, out) {
  const first = /** @type {RegExpMatchArray} */ (item(lines[from]));
  const ordered = /\d/.test(first[2]);
  const items = [];
  let i = from;
  for (let m = item(lines[i] ?? ''); m && m[1].length <= first[1].length + 1 && /\d/.test(m[2]) === ordered; m = item(lines[i] ?? '')) {
    const indent = m[0].length;
    const outer = m[1].length;
    const begin = i;
    i = until(lines, i + 1, (l) => l.trim() !== '' && l.search(/\S/) <= outer + 1);
    const inside = lines.slice(begin, i).map((l, n) => (n === 0 ? l.slice(indent) : l.slice(Math.min(indent, Math.max(0, l.search(/\S/))))));
    const content = blocks(inside, cite, depth + 1);
    // A single paragraph is unwrapped, so that it has no margins.
    items.push(h('li', {}, content[0]?.tagName === 'P' ? [[...content[0].childNodes], content.slice(1)] : content));
  }
  out.push(ordered ? h('ol', { start: Number.parseInt(first[2], 10) }, items) : h('ul', {}, items));
  return i;
}

/** @param {string} head @param {string[]} rows @param {Cite} cite */
function table(head, rows, cite) {
  const cells = (/** @type {string} */ row) => row.trim().replace(/^\||\|$/g, '').split('|').map((c) => inline(c.trim(), cite));
  return h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Table' }, h('table', {},
    h('thead', {}, h('tr', {}, cells(head).map((c) => h('th', { scope: 'col' }, c)))),
    h('tbody', {}, rows.map((r) => h('tr', {}, cells(r).map((c) => h('td', {}, c)))))));
}

// The alternatives are tried in this order at each position. None matches across lines. The first is text between the
// characters with which unsupportedMarks encloses unsupported sentences. Each stops at the next mark of its kind or after
// a fixed length: otherwise a text of opening marks would be read to its end from every one of them.
const marks = /\uE000([^\uE000\uE001]+)\uE001|`([^`]+)`|\*\*(?=\S)(.+?)\*\*|__(?=\S)(.{1,500}?)__(?!\w)|(?<!\*)\*(?=[^\s*])([^*]+?)\*(?!\*)|\[(\d{1,3})\](?!\()|\[([^[\]]+)\]\((https?:\/\/[^\s)]{1,2000})\)|(https?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)\]])/;

// Names after which brackets are a subscript, as in code, and not a citation. The rules are the same as in subscript.go
// in package answer.
const names = [
  /(?:^|[^\p{L}\p{M}\p{N}_$])(?:arr|argv|args|buf|cols|dict|elems|idx|lst|mat|nums|params|ptr|regs|str|tmp|tup|vals|vec|[a-z][0-9a-z]*_[0-9a-z_]*|\$[0-9A-Za-z_]+)$/u,
  /(?:^|[^\p{L}\p{M}\p{N}_$'’./-])[a-z]$/u,
  /[0-9A-Za-z_]\([^()]*\)$/,
];
const name = /[A-Za-z_$][0-9A-Za-z_$]*$/;
const codeFollows = /^(?:\s?(?:[-+*/|&^%:]?=|[!<>]=)|\+\+|--|->|\.[a-z_]|\{|\[[A-Za-z'"])/;

/** @param {string} before @param {string} after */
function subscripted(before, after) {
  const end = before.slice(-64);
  if (/:\/\/\S*$/.test(end)) return false;
  return names.some((pattern) => pattern.test(end)) || (name.test(end) && codeFollows.test(after));
}

/** Removes marks of unsupported sentences that other markup has cut in two. @param {string} text */
const plain = (text) => text.replace(/[\uE000\uE001]/g, '');

/** @param {string} text @param {Cite} cite @returns {any[]} */
function inline(text, cite) {
  const out = [];
  let subscriptsTo = -1; // where the last subscript ends
  for (let rest = text; rest;) {
    const m = marks.exec(rest);
    if (!m) {
      out.push(plain(rest));
      break;
    }
    out.push(plain(rest.slice(0, m.index)));
    const [whole, unsupported, code, strong, strong2, em, number, label, target, address] = m;
    if (unsupported) out.push(h('mark', { class: 'unsupported', title: 'The sources do not support this sentence.' }, inline(unsupported, cite)));
    else if (code !== undefined) out.push(h('code', {}, code));
    else if (strong ?? strong2) out.push(h('strong', {}, inline(strong ?? strong2, cite)));
    else if (em) out.push(h('em', {}, inline(em, cite)));
    else if (number) {
      const at = text.length - rest.length + m.index;
      const isCode = at === subscriptsTo || subscripted(text.slice(0, at), text.slice(at + whole.length));
      if (isCode) subscriptsTo = at + whole.length;
      out.push(isCode ? whole : cite(Number(number)) ?? whole);
    }
    else if (label) out.push(away(target, label));
    else out.push(away(address, address));
    rest = rest.slice(m.index + whole.length);
  }
  return out;
}
