// The chat with an agent. The answer appears as it is written. Its citations link to the fragments in their sources.
import { get, requestKey, stream, withQuery } from '../api.js';
import { away, fill, h } from '../dom.js';
import { highlighted, markdown, unsupportedMarks } from '../markdown.js';
import { rename } from '../router.js';
import { may } from '../session.js';
import { announce, isAbort, problem } from '../ui.js';
import { when } from '../words.js';
import { readCounts } from './datastores.js';
import { placeOf } from './playground.js';

const ownPrefix = 'console-';

/** The visitor as whom the console asks, which distinguishes its conversations from those of websites' visitors. */
function ownVisitor() {
  const kept = localStorage.getItem('sluice.visitor') ?? ownPrefix + requestKey();
  localStorage.setItem('sluice.visitor', kept);
  return kept;
}

/** Whether a conversation was held in the console, and not by a website's visitor or another client. @param {any} conversation */
export const isOwn = (conversation) => conversation.visitorId.startsWith(ownPrefix);

/**
 * Another client's conversation, without a field for questions: a question would become part of the visitor's conversation.
 * @param {any} agent
 * @param {any} kept
 */
export function transcript(agent, kept) {
  return [
    h('p', { class: 'note' }, `The conversation of visitor ${kept.visitorId}, from ${when(kept.createdAt)} to ${when(kept.updatedAt)}.`),
    h('div', { class: 'chat', role: 'group', 'aria-label': 'Conversation' }, kept.messages.map((/** @type {any} */ m) => [
      h('small', {}, when(m.createdAt)), m.role === 'user' ? asked(m.text) : answered(m.text, m.sources, m.sentences)])),
    h('p', { class: 'actions' }, h('a', { class: 'button', href: `#/agents/${agent.id}` }, 'New conversation')),
  ];
}

/**
 * @param {any} agent
 * @param {any} kept the stored conversation to continue, or null
 * @param {AbortSignal} signal
 */
export async function chat(agent, kept, signal) {
  const root = may.read() ? `#/agents/${agent.id}` : '#/'; // a key that may only ask has no other view
  const visitorId = kept?.visitorId ?? (may.read() ? ownVisitor() : undefined);
  let conversationId = kept?.id ?? '';
  const log = h('div', { class: 'chat', role: 'log', 'aria-label': 'Conversation', 'aria-live': 'polite' },
    kept?.messages.map((/** @type {any} */ m) => (m.role === 'user' ? asked(m.text) : answered(m.text, m.sources, m.sentences))));
  const question = h('textarea', { rows: '2', maxlength: '8000', 'aria-label': 'Question', placeholder: 'Ask a question', 'data-first': matchMedia('(min-width: 46rem)').matches, onkeydown: (/** @type {KeyboardEvent} */ e) => {
    // Enter sends the question, as in other chats, except with Shift or while an input method is composing a word.
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
      e.preventDefault();
      ask.requestSubmit();
    }
  } });
  const send = h('button', { type: 'submit', class: 'main' }, 'Ask');
  const stop = h('button', { type: 'button', hidden: true, onclick: () => running?.abort() }, 'Stop');
  /** @type {AbortController | null} */
  let running = null;
  signal.addEventListener('abort', () => running?.abort());
  const trouble = h('div', {});

  const ask = h('form', { class: 'ask', onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    const query = question.value.trim();
    if (!query || running) return;
    running = new AbortController();
    [send.hidden, stop.hidden] = [true, false];
    fill(trouble);
    const place = h('article', { class: 'turn assistant', 'aria-label': 'Answer', 'aria-busy': 'true' }, h('p', { class: 'faint' }, 'Searching …'));
    log.append(asked(query), place);
    question.value = '';
    scrollToEnd();
    try {
      const answer = await read(agent, { query, conversationId: conversationId || undefined, visitorId }, place, running.signal);
      atEnd(() => place.replaceWith(answered(answer.answer, answer.sources, answer.sentences)));
      if (!conversationId) {
        conversationId = answer.conversationId;
        if (may.read()) rename(withQuery(`${root}/conversations/${encodeURIComponent(conversationId)}`, { visitorId }));
      }
    } catch (e) {
      place.removeAttribute('aria-busy');
      if (signal.aborted) return;
      if (place.querySelector('.faint')) place.remove(); // no part of the answer has arrived
      if (isAbort(e)) announce('Stopped', { unseen: true });
      else {
        atEnd(() => fill(trouble, problem(e)));
        question.value ||= query; // so that the user need not type it again
      }
    } finally {
      running = null;
      [send.hidden, stop.hidden] = [false, true];
      // Without preventScroll, the browser would scroll to the field even if the reader has scrolled up.
      if (!signal.aborted) question.focus({ preventScroll: true });
    }
  } }, trouble, question, h('div', { class: 'actions' }, send, stop, h('a', { class: 'button', href: root, onclick: () => {
    // If the chat has no conversation yet, its address is already this one, so the link alone would do nothing.
    if ((location.hash || '#/') === root) window.dispatchEvent(new HashChangeEvent('hashchange'));
  } }, 'New conversation')));

  return [await opening(agent, kept !== null, signal), log, ask];
}

/**
 * The text before the first question. If nothing can be answered yet, it says what to do.
 * @param {any} agent
 * @param {boolean} begun
 * @param {AbortSignal} signal
 */
async function opening(agent, begun, signal) {
  const ids = /** @type {string[]} */ (agent.datastoreIds ?? []);
  const note = (/** @type {any[]} */ ...text) => h('p', { class: 'note' }, text);
  if (may.read()) {
    if (ids.length === 0) return note('This agent has no datastore yet. Select one in its ', h('a', { href: `#/agents/${agent.id}/settings` }, 'settings'), '.');
    const counts = await Promise.all(ids.map((id) => readCounts(id, signal).catch(() => null)));
    const there = h('a', { href: `#/datastores/${ids[0]}` }, 'its datastore');
    if (counts.every((n) => n?.total === 0)) return note('There is no content yet. Add documents to ', there, '.');
    if (counts.every((n) => n?.synched === 0)) return note('No document is searchable yet. See the progress and any errors in ', there, '.');
  }
  return !begun && h('p', { class: 'faint' }, 'Ask a question about the documents. The numbers in an answer link to its sources.');
}

/** @param {string} text */
function asked(text) {
  return h('article', { class: 'turn user', 'aria-label': 'Question' }, text);
}

/**
 * Reads an answer as it arrives. The display is updated a few times per second, however fast the pieces arrive.
 * @param {any} agent
 * @param {any} question
 * @param {any} place
 * @param {AbortSignal} signal
 */
async function read(agent, question, place, signal) {
  let text = '';
  let end = '';
  let waiting = 0;
  const show = () => {
    waiting = 0;
    atEnd(() => fill(place, h('div', { class: 'md' }, markdown(text))));
  };
  for await (const event of stream('POST', `agents/${agent.id}/query`, { body: { ...question, streaming: true }, signal })) {
    if (event.name === 'answer') {
      text += event.data;
      waiting ||= setTimeout(show, 60);
    } else if (event.name === 'endpoint_response') {
      end += event.data;
    } else if (event.data === '[DONE]') {
      return JSON.parse(end);
    } else if (event.data.startsWith('[ERROR]')) {
      throw new Error(event.data.slice('[ERROR]'.length).trim());
    }
  }
  throw new Error('The answer was interrupted: the connection to the service was lost. Ask again.');
}

/** Scrolls to the end of the page. The input is there, below the last answer. */
function scrollToEnd() {
  window.scrollTo(0, document.documentElement.scrollHeight);
}

/**
 * Changes the conversation. A page that is scrolled to its end stays there, so that the answer can be read as it grows; a
 * page that the reader has scrolled up does not move.
 * @param {() => void} change
 */
function atEnd(change) {
  const page = document.documentElement;
  const follow = window.scrollY + window.innerHeight >= page.scrollHeight - 40;
  change();
  if (follow) scrollToEnd();
}

/**
 * An answer with its sources. Citations in the text link to the same fragments as the list of sources.
 * @param {string} text
 * @param {any[]} sources
 * @param {any[]} sentences unsupported ones are marked
 */
export function answered(text, sources, sentences) {
  const items = sources.map((s) => ({ s, item: sourceItem(s) }));
  const byNumber = new Map(items.map((i) => [i.s.citation, i]));
  const cite = (/** @type {number} */ n) => {
    const { s, item } = byNumber.get(n) ?? {};
    return s && !may.read() ? h('button', { type: 'button', class: 'cite', 'aria-label': `Source ${n}: ${s.datasource_name}`, onclick: () => {
      item.querySelector('details').open = true;
      item.querySelector('summary').focus();
    } }, `${n}`) : s && h('a', { class: 'cite', href: placeOf(s), 'aria-label': `Source ${n}: ${s.datasource_name}`, title: `${s.datasource_name}\n${s.text.slice(0, 300)}` }, `${n}`);
  };
  return h('article', { class: 'turn assistant', 'aria-label': 'Answer' }, h('div', { class: 'md' }, markdown(unsupportedMarks(text, sentences), cite)),
    sentences.some((s) => s.unsupported) && h('p', { class: 'faint' }, 'The sources do not support the underlined text.'),
    sources.length > 0 && h('ol', { class: 'cited', 'aria-label': 'Sources' }, items.map(({ item }) => item)));
}

/** @param {any} s */
function sourceItem(s) {
  const where = [s.page && `page ${s.page}`, s.heading].filter(Boolean).join(' · ');
  return h('li', {}, s.citation > 0 && `[${s.citation}] `, may.read() ? h('a', { href: placeOf(s) }, s.datasource_name) : s.datasource_name, where && h('small', {}, ` ${where}`),
    /^https?:/.test(s.source) && [' ', away(s.source, 'Open page')],
    h('details', {}, h('summary', {}, h('small', {}, 'Show passage')), h('p', { class: 'quote' }, highlighted(s.text, s.highlights))));
}
