// Shows an original next to its chunks. Originals are not trusted. Text is shown as text. A web page is rebuilt from a
// list of allowed elements, in a frame that runs no scripts. Pages of a PDF are shown as pictures, because a PDF in the
// browser's viewer runs its scripts, follows its links and sends its forms.
import { get, send, withQuery } from './api.js';
import { fill, h } from './dom.js';
import { locate } from './locate.js';
import { announce, button, problem } from './ui.js';
import { bytes } from './words.js';

const shownText = 200_000; // maximum number of characters shown around the fragment in a text
const mostElements = 30_000; // maximum number of elements of a web page
const unasked = 25_000_000; // maximum size, in bytes, of an original that is fetched without asking the user

/**
 * Shows a datasource's original in an element, and marks fragments in it.
 * @param {any} source
 * @param {any} place
 * @param {AbortSignal} signal
 * @returns {(fragment: {text: string, page: number | null}) => void} marks another fragment
 */
export function original(source, place, signal) {
  const kind = String(source.config.mime_type ?? (source.type === 'web_page' ? 'text/html' : 'text/plain')).split(';')[0];
  /** @type {any} */
  let fragment = null;
  /** @type {(f: any) => void} */
  let mark = () => {};
  const load = async () => {
    fill(place, h('p', { class: 'faint' }, 'Loading the original …'));
    try {
      if (kind === 'application/pdf') {
        mark = pdf(source, place, signal);
        mark(fragment ?? { page: 1 });
        return;
      }
      const response = await send('GET', `datasources/${source.id}/original`, { signal });
      mark = await viewer(response, source, kind, place, signal);
      if (fragment) mark(fragment);
    } catch (e) {
      if (!signal.aborted) fill(place, problem(e));
    }
  };
  const size = source.config.file_size ?? 0;
  if (!canShow(kind)) fill(place, h('p', { class: 'note' }, 'The browser cannot display this type of file. Read its text in the list of chunks, or download the file.'));
  else if (size > unasked && kind !== 'application/pdf') fill(place, button(`Show original (${bytes(size)})`, load));
  else load();
  return (f) => {
    fragment = f;
    mark(f);
  };
}

/** @param {string} kind */
const canShow = (kind) => kind === 'application/pdf' || kind === 'application/xhtml+xml' || kind === 'application/json' || kind.startsWith('text/');

/** @param {Response} response @param {any} source @param {string} declared @param {any} place @param {AbortSignal} signal */
async function viewer(response, source, declared, place, signal) {
  const kind = (response.headers.get('Content-Type') ?? declared).split(';')[0];
  if (kind === 'application/pdf') {
    await response.body?.cancel();
    return pdf(source, place, signal);
  }
  const text = decode(await response.arrayBuffer(), response.headers.get('Content-Type') ?? '');
  if (kind === 'text/html' || kind === 'application/xhtml+xml') return page(text, place);
  return plain(text, place);
}

/**
 * Shows a page of a PDF as a picture. The fragment is marked in the page's extracted text, which is shown above it.
 * @param {any} source
 * @param {any} place
 * @param {AbortSignal} signal
 */
function pdf(source, place, signal) {
  const read = h('div', {});
  const show = pictures(source, signal);
  fill(place, read, show.view);
  let asked = 0;
  return async (/** @type {any} */ f) => {
    const turn = ++asked;
    show.page(f.page ?? 1);
    if (!f.text) return;
    try {
      const { before, after } = await around(source, f, signal);
      if (turn !== asked) return; // the user has chosen another fragment meanwhile
      const marked = h('mark', {}, f.text);
      const view = h('pre', { class: 'read', tabindex: '0', 'aria-label': `Text of page ${f.page ?? 1}` }, before.map((/** @type {string} */ t) => `${t}\n\n`), marked, after.map((/** @type {string} */ t) => `\n\n${t}`));
      fill(read, h('p', {}, h('small', {}, `Extracted text of page ${f.page ?? 1}:`)), view);
      view.scrollTop += marked.getBoundingClientRect().top - view.getBoundingClientRect().top - view.clientHeight / 3;
    } catch (e) {
      if (!signal.aborted) fill(read, problem(e));
    }
  };
}

/**
 * Pictures of a PDF's pages, with buttons to turn the pages.
 * @param {any} source
 * @param {AbortSignal} signal
 */
function pictures(source, signal) {
  const count = source.config.document?.pages ?? 0;
  const picture = h('div', { class: 'page' });
  const where = h('span', { role: 'status' });
  const back = h('button', { type: 'button', onclick: () => page(shown - 1) }, 'Previous page');
  const on = h('button', { type: 'button', onclick: () => page(shown + 1) }, 'Next page');
  let shown = 0;
  let address = '';
  const release = () => URL.revokeObjectURL(address);
  signal.addEventListener('abort', release);
  const page = async (/** @type {number} */ n) => {
    if (n === shown) return;
    shown = n;
    fill(where, count ? `Page ${n} of ${count}` : `Page ${n}`);
    back.disabled = n <= 1;
    on.disabled = count > 0 && n >= count;
    fill(picture, h('p', { class: 'faint' }, 'Loading the page …'));
    try {
      const drawn = await (await send('GET', withQuery(`datasources/${source.id}/picture`, { page: n }), { signal })).blob();
      if (n !== shown || signal.aborted) return; // the user has gone on meanwhile
      release();
      // Set the type here and do not rely on the response, so that the browser shows only a picture.
      address = URL.createObjectURL(new Blob([drawn], { type: 'image/png' }));
      fill(picture, h('img', { src: address, alt: `The original, page ${n}. Its text is in the chunks.` }));
    } catch (e) {
      if (n === shown && !signal.aborted) fill(picture, problem(e));
    }
  };
  return { view: h('div', {}, h('div', { class: 'actions' }, back, where, on), picture), page };
}

const pageChunks = 100; // maximum number of chunks read before and after a fragment

/** The text before and after a fragment on its page. @param {any} source @param {any} f @param {AbortSignal} signal */
async function around(source, f, signal) {
  const from = Math.max(0, f.ordinal - pageChunks);
  const { data } = await get(withQuery(`datasources/${source.id}/chunks`, { cursor: from || '', limit: 2 * pageChunks }), signal);
  const near = data.filter((/** @type {any} */ c) => c.page === f.page);
  return {
    before: near.filter((/** @type {any} */ c) => c.ordinal < f.ordinal).map((/** @type {any} */ c) => c.text),
    after: near.filter((/** @type {any} */ c) => c.ordinal > f.ordinal).map((/** @type {any} */ c) => c.text),
  };
}

/**
 * Decodes a text. The encoding is the first of these that applies: that of the byte order mark, UTF-8 if the text is
 * valid UTF-8, that of the header, Windows-1252.
 * @param {ArrayBuffer} content
 * @param {string} header
 */
function decode(content, header) {
  const start = new Uint8Array(content, 0, Math.min(2, content.byteLength));
  const marked = start[0] === 0xff && start[1] === 0xfe ? 'utf-16le' : start[0] === 0xfe && start[1] === 0xff ? 'utf-16be' : null;
  const said = /charset="?([\w-]+)/i.exec(header)?.[1];
  for (const name of [marked, 'utf-8', said, 'windows-1252']) {
    if (!name) continue;
    try {
      return new TextDecoder(name, { fatal: name === 'utf-8' }).decode(content);
    } catch { /* another one */ }
  }
  return '';
}

/** @param {string} text @param {any} place */
function plain(text, place) {
  const view = h('pre', { tabindex: '0', 'aria-label': 'The original' });
  fill(place, view);
  const show = (/** @type {{start: number, end: number} | null} */ found) => {
    const from = found ? Math.max(0, found.start - shownText / 2) : 0;
    const to = Math.min(text.length, from + shownText);
    if (!found) return fill(view, text.slice(from, to), to < text.length && '\n…');
    const marked = h('mark', {}, text.slice(found.start, found.end));
    fill(view, from > 0 && '…\n', text.slice(from, found.start), marked, text.slice(found.end, to), to < text.length && '\n…');
    // Scroll only within the box, not the page.
    view.scrollTop += marked.getBoundingClientRect().top - view.getBoundingClientRect().top - view.clientHeight / 3;
  };
  show(null);
  return (/** @type {any} */ f) => {
    const found = locate(text, f.text);
    show(found);
    if (!found) announce('The passage was not found in the original');
  };
}

// Elements of a web page that are kept. Other elements are replaced with their content, and those in the second list
// are removed with their content.
const kept = new Set(('H1 H2 H3 H4 H5 H6 P DIV SECTION ARTICLE MAIN UL OL LI DL DT DD TABLE CAPTION THEAD TBODY TFOOT TR TH TD PRE CODE KBD SAMP BLOCKQUOTE '
  + 'EM STRONG B I U S SUB SUP SMALL BR HR FIGURE FIGCAPTION ADDRESS DETAILS SUMMARY').split(' '));
const gone = new Set('SCRIPT STYLE TEMPLATE NOSCRIPT IFRAME OBJECT EMBED SVG MATH SELECT TEXTAREA AUDIO VIDEO CANVAS HEAD LINK META BASE'.split(' '));

/** The only policy for parsing HTML. The parsed document is not displayed and runs no scripts. */
const inert = /** @type {any} */ (globalThis).trustedTypes?.createPolicy('inert', { createHTML: (/** @type {string} */ s) => s }) ?? { createHTML: (/** @type {string} */ s) => s };

/** @param {string} html @param {any} place */
async function page(html, place) {
  const parsed = new DOMParser().parseFromString(inert.createHTML(html), 'text/html');
  // The sandbox disables scripts, and the copied content has none. Either would be enough.
  const frame = h('iframe', { sandbox: 'allow-same-origin', title: 'The original web page' });
  const ready = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
  fill(place, frame);
  await ready;
  const inside = frame.contentDocument;
  if (!inside) return () => {};
  const style = inside.createElement('link');
  style.rel = 'stylesheet';
  style.href = new URL('./original.css', import.meta.url).href;
  inside.head.append(style);
  inside.title = 'The original web page';
  inside.documentElement.lang = parsed.documentElement.lang;
  let left = mostElements;
  const copy = (/** @type {Node} */ from, /** @type {Node} */ into) => {
    for (const node of from.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) {
        into.appendChild(inside.createTextNode(node.nodeValue ?? ''));
      } else if (node instanceof Element && !gone.has(node.tagName.toUpperCase()) && left-- > 0) {
        const tag = node.tagName.toUpperCase();
        if (tag === 'IMG') into.appendChild(inside.createTextNode(node.getAttribute('alt') ? `[${node.getAttribute('alt')}]` : ''));
        else copy(node, kept.has(tag) ? into.appendChild(inside.createElement(tag)) : into);
      }
    }
  };
  copy(parsed.body, inside.body);
  return (/** @type {any} */ f) => {
    if (!markIn(inside, f.text)) announce('The passage was not found in the original');
  };
}

/** @param {Document} inside @param {string} fragment */
function markIn(inside, fragment) {
  for (const old of inside.querySelectorAll('mark')) old.replaceWith(...old.childNodes);
  inside.body.normalize();
  /** @type {Text[]} */
  const texts = [];
  const walker = inside.createTreeWalker(inside.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  // Join with a line break, because elements separate words even without a space between their texts.
  const found = locate(texts.map((t) => t.data).join('\n'), fragment);
  if (!found) return false;
  let at = 0;
  let first = null;
  for (const text of texts) {
    const start = Math.max(0, found.start - at);
    const end = Math.min(text.data.length, found.end - at);
    at += text.data.length + 1;
    if (start >= end || !text.data.slice(start, end).trim()) continue;
    const range = inside.createRange();
    range.setStart(text, start);
    range.setEnd(text, end);
    const mark = inside.createElement('mark');
    range.surroundContents(mark);
    first ??= mark;
  }
  first?.scrollIntoView({ block: 'center' });
  return true;
}
