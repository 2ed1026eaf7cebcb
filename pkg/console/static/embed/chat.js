// The chat that other websites embed, either with a script that has data-agent="ID" or with an element <sluice-chat
// agent="ID">. It works under the strictest Content-Security-Policies: it creates elements instead of parsing HTML, its
// style is a constructed style sheet, and it calls only the host that serves it. It is served as one classic script
// (console/bundle.go).
import { away, fill, h, inDocument } from '../dom.js';
import { highlighted, markdown, unsupportedMarks } from '../markdown.js';
import { events } from '../sse.js';
import { style } from './style.js';

/** @typedef {{query: string, answer: string, sources: any[], unsupported?: {start: number, end: number, unsupported: boolean}[]}} Turn unsupported: the sentences that the sources do not support */
/** @typedef {{visitor: string, conversation: string, turns: Turn[]}} Kept */

// Null if this file is loaded as a module. The element then needs the attribute host.
const current = inDocument('currentScript');
const script = current instanceof HTMLScriptElement ? current : null;

// Address of the service. It is read once, because a <base> that the page gets later would change a relative src.
const served = script ? new URL('..', script.src).href : '';

const mostTurns = 40; // maximum number of turns stored in the browser
const mostText = 2000; // maximum number of characters stored of a fragment

const words = {
  heading: 'Ask us', greeting: '', placeholder: 'Your question', question: 'You', answer: 'Answer', ask: 'Ask', stop: 'Stop',
  open: 'Open the chat', close: 'Close the chat', again: 'New conversation', conversation: 'Conversation', searching: 'Searching …',
  sources: 'Sources', source: 'Source', page: 'page', web: 'Open the page', wait: 'Too many questions. Try again in {seconds} seconds.',
  unsupported: 'The sources do not support the underlined text.',
  trouble: 'The chat is not available right now. Try again later.', broken: 'The answer was interrupted. Ask again.',
};

/** An error whose message is shown to the visitor. The cause is logged to the browser's console, for the owner of the site. */
class Failure extends Error {
  /** @param {string} shown @param {string} [cause] */
  constructor(shown, cause) {
    super(shown);
    if (cause) console.error(`sluice-chat: ${cause}`);
  }
}

class SluiceChat extends HTMLElement {
  static observedAttributes = ['agent', 'host', 'heading', 'greeting', 'placeholder', 'floating', 'words', 'accent'];

  constructor() {
    super();
    this.root = this.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    this.tint = new CSSStyleSheet();
    this.root.adoptedStyleSheets = [sheet, this.tint];
    /** @type {AbortController | null} */
    this.running = null;
    this.shown = false;
    /** @type {Record<string, string>} */
    this.said = {};
    /** @type {Kept} */
    this.kept = { visitor: '', conversation: '', turns: [] };
    this.synch = (/** @type {StorageEvent} */ e) => {
      if (e.key === this.place() && !this.running) this.show(); // another tab has continued the conversation
    };
  }

  connectedCallback() {
    window.addEventListener('storage', this.synch);
    this.build();
  }

  disconnectedCallback() {
    window.removeEventListener('storage', this.synch);
    this.running?.abort();
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    if (name === 'accent') this.color();
    else if (this.isConnected && this.root.firstChild) this.build();
  }

  /** Applies the accent. A style sheet of the page comes before it. */
  color() {
    const accent = this.getAttribute('accent') ?? '';
    const valid = CSS.supports('color', accent);
    if (accent && !valid) console.error(`sluice-chat: the accent "${accent}" is not a colour`);
    this.tint.replaceSync(valid ? `:host { --sluice-accent: ${accent}; }` : '');
  }

  /** @param {keyof typeof words} name */
  word(name) {
    return this.said[name] ?? words[name];
  }

  /** Opens a floating chat, or shows a chat that is part of the page. */
  open() {
    this.toggle(true);
  }

  /** Closes a floating chat, or hides a chat that is part of the page. */
  close() {
    this.toggle(false);
  }

  /** Recreates all elements. */
  build() {
    this.running?.abort();
    this.said = {};
    try {
      this.said = JSON.parse(this.getAttribute('words') ?? '{}') ?? {};
    } catch {
      console.error('sluice-chat: the "words" attribute is not a JSON object');
    }
    for (const name in this.said) if (!(name in words)) console.warn(`sluice-chat: there is no word "${name}"`);
    if (!this.agent()) console.error('sluice-chat: the attribute "agent" is missing');
    for (const name of ['heading', 'greeting', 'placeholder']) {
      const value = this.getAttribute(name);
      if (value !== null) this.said[name] = value;
    }
    const floating = this.hasAttribute('floating');
    this.log = h('div', { class: 'log', part: 'log', role: 'log', tabindex: '0', 'aria-live': 'off', 'aria-label': this.word('conversation') });
    this.status = h('div', { class: 'unseen', role: 'status' });
    this.question = h('textarea', { rows: '2', maxlength: '8000', part: 'input', 'aria-label': this.word('placeholder'), placeholder: this.word('placeholder'), onkeydown: (/** @type {KeyboardEvent} */ e) => {
      // With Shift, or while an input method is composing a word, Enter does not send the question.
      if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
        e.preventDefault();
        this.ask();
      }
    } });
    this.sender = h('button', { type: 'submit', class: 'main', part: 'button' }, this.word('ask'));
    this.stopper = h('button', { type: 'button', hidden: true, onclick: () => this.running?.abort() }, this.word('stop'));
    this.panel = h('section', { class: 'panel', part: 'panel', id: 'panel', role: floating ? 'dialog' : 'region', 'aria-label': this.word('heading'), hidden: floating && !this.shown, onkeydown: (/** @type {KeyboardEvent} */ e) => {
      if (e.key === 'Escape' && floating) this.close();
    } },
    h('header', { part: 'header' }, h('h2', {}, this.word('heading')),
      h('button', { type: 'button', class: 'quiet', title: this.word('again'), 'aria-label': this.word('again'), onclick: () => this.forget() }, '↺'),
      floating && h('button', { type: 'button', class: 'quiet', title: this.word('close'), 'aria-label': this.word('close'), onclick: () => this.close() }, '×')),
    this.log, this.status,
    h('form', { onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); this.ask(); } }, this.question, this.sender, this.stopper));
    this.launcher = h('button', { type: 'button', class: 'launcher', part: 'launcher', hidden: !floating, 'aria-controls': 'panel', onclick: () => this.toggle(!this.shown) });
    this.label();
    this.root.replaceChildren(this.panel, this.launcher);
    this.show();
    if (floating && this.hasAttribute('open') && !this.shown) this.toggle(true);
  }

  /** @param {boolean} open */
  toggle(open) {
    this.shown = open;
    if (!this.hasAttribute('floating')) {
      this.hidden = !open;
      if (open) this.question.focus();
      return;
    }
    this.panel.hidden = !open;
    this.label();
    if (open) {
      this.question.focus();
      this.log.scrollTop = this.log.scrollHeight;
    } else {
      this.launcher.focus();
    }
  }

  /** Says on the launcher what it does. */
  label() {
    fill(this.launcher, this.shown ? '×' : '?');
    this.launcher.setAttribute('aria-label', this.word(this.shown ? 'close' : 'open'));
    this.launcher.setAttribute('aria-expanded', String(this.shown));
  }

  agent() {
    return this.getAttribute('agent') ?? '';
  }

  /** The address of the service, with a slash at its end. */
  home() {
    return (this.getAttribute('host') ?? (served || location.origin)).replace(/\/*$/, '/');
  }

  /** The key under which the conversation is stored. */
  place() {
    return `sluice-chat ${this.home()} ${this.agent()}`;
  }

  /** Shows the stored conversation, which may come from another tab. */
  show() {
    const fresh = { visitor: [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join(''), conversation: '', turns: [] };
    try {
      const found = JSON.parse(localStorage.getItem(this.place()) ?? 'null');
      this.kept = Array.isArray(found?.turns) ? { ...fresh, ...found } : fresh;
    } catch {
      this.kept = fresh; // the browser stores nothing, or stores something else under this key
    }
    const greeting = this.word('greeting');
    fill(this.log, greeting && h('div', { class: 'turn' }, markdown(greeting)), this.kept.turns.map((t) => [this.asked(t.query), this.answered(t)]));
    this.log.scrollTop = this.log.scrollHeight;
  }

  /** Stores the conversation, or only the end of a long one. */
  keep() {
    this.kept.turns.splice(0, this.kept.turns.length - mostTurns);
    for (let from = 0; from <= this.kept.turns.length; from = from * 2 + 1) {
      try {
        localStorage.setItem(this.place(), JSON.stringify({ ...this.kept, turns: this.kept.turns.slice(from) }));
        return;
      } catch { /* try with fewer turns; perhaps the browser stores nothing at all */ }
    }
  }

  /** Starts a new conversation. */
  forget() {
    this.running?.abort();
    this.kept = { ...this.kept, conversation: '', turns: [] };
    this.keep();
    this.show();
    this.question.focus();
  }

  async ask() {
    const query = this.question.value.trim();
    if (!query || this.running) return;
    const running = new AbortController();
    this.running = running;
    [this.sender.hidden, this.stopper.hidden] = [true, false];
    this.question.value = '';
    this.log.querySelector('.problem')?.remove();
    const place = h('article', { class: 'turn', 'aria-label': this.word('answer'), 'aria-busy': 'true' }, h('p', { class: 'faint' }, this.word('searching')));
    this.log.append(this.asked(query), place);
    this.log.scrollTop = this.log.scrollHeight;
    fill(this.status, this.word('searching'));
    /** @type {Turn} */
    const turn = { query, answer: '', sources: [] };
    try {
      const end = await this.read(turn, place, running.signal);
      turn.answer = end.answer;
      turn.sources = end.sources.map((/** @type {any} */ s) => ({
        citation: s.citation, name: s.datasource_name, page: s.page, heading: s.heading, source: s.source, text: s.text.slice(0, mostText),
        highlights: s.highlights,
      }));
      turn.unsupported = (end.sentences ?? []).filter((/** @type {any} */ s) => s.unsupported).map((/** @type {any} */ s) => ({ start: s.start, end: s.end, unsupported: true }));
      this.kept.conversation = end.conversationId;
      fill(this.status, `${this.word('answer')}: ${place.textContent}`);
    } catch (e) {
      if (!running.signal.aborted) {
        const message = e instanceof Failure ? e.message : this.word('trouble');
        place.after(h('p', { class: 'problem', role: 'alert' }, message));
        if (!this.question.value.trim()) this.question.value = query; // so that the visitor need not type it again
      }
      fill(this.status);
    }
    this.running = null;
    [this.sender.hidden, this.stopper.hidden] = [false, true];
    if (!place.isConnected) return; // a new conversation was started, or the element was removed
    if (turn.answer) {
      const below = this.isBelow();
      place.replaceWith(this.answered(turn));
      if (below) this.log.scrollTop = this.log.scrollHeight;
      this.kept.turns.push(turn);
      this.keep();
    } else {
      place.remove();
    }
    if (this.root.activeElement === null || this.root.activeElement === this.stopper) this.question.focus();
  }

  /** Whether the end of the conversation is visible. If so, it is kept visible. */
  isBelow() {
    return this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 60;
  }

  /**
   * Reads an answer as it arrives. The display is updated a few times per second, however fast the pieces arrive.
   * @param {Turn} turn
   * @param {any} place
   * @param {AbortSignal} signal
   */
  async read(turn, place, signal) {
    const response = await this.send(turn.query, signal);
    let end = '';
    let waiting = 0;
    const show = () => {
      waiting = 0;
      const below = this.isBelow();
      fill(place, h('div', { class: 'md' }, markdown(turn.answer)));
      if (below) this.log.scrollTop = this.log.scrollHeight;
    };
    for await (const event of events(/** @type {ReadableStream<Uint8Array>} */ (response.body))) {
      if (event.name === 'answer') {
        turn.answer += event.data;
        waiting ||= setTimeout(show, 60);
      } else if (event.name === 'endpoint_response') {
        end += event.data;
      } else if (event.data === '[DONE]') {
        clearTimeout(waiting);
        show();
        return JSON.parse(end);
      } else if (event.data.startsWith('[ERROR]')) {
        throw new Failure(this.word('broken'), event.data.slice(8));
      }
    }
    throw new Failure(this.word('broken'), 'the connection to the service was lost');
  }

  /** @param {string} query @param {AbortSignal} signal @returns {Promise<Response>} */
  async send(query, signal) {
    const { visitor, conversation } = this.kept;
    let response;
    try {
      response = await fetch(new URL(`agents/${encodeURIComponent(this.agent())}/query`, this.home()), {
        method: 'POST', signal, credentials: 'omit', cache: 'no-store', headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
        body: JSON.stringify({ query, streaming: true, visitorId: visitor, ...(conversation ? { conversationId: conversation } : {}) }),
      });
    } catch (e) {
      if (signal.aborted) throw e;
      throw new Failure(this.word('trouble'), `${this.home()} cannot be reached from ${location.origin}. Check that the agent ${this.agent()} is public, that its allowedOrigins include this origin, and that the page's Content-Security-Policy allows the service in connect-src.`);
    }
    if (response.ok) return response;
    if (response.status === 404 && conversation) { // the conversation was deleted or belongs to another visitor
      this.kept.conversation = '';
      return this.send(query, signal);
    }
    const said = await response.json().catch(() => ({}));
    const seconds = response.headers.get('Retry-After') ?? '60';
    throw new Failure(response.status === 429 ? this.word('wait').replace('{seconds}', seconds) : this.word('trouble'), said.detail ?? `the service answered ${response.status}`);
  }

  /** @param {string} query */
  asked(query) {
    return h('article', { class: 'turn user', 'aria-label': this.word('question') }, query);
  }

  /** @param {Turn} turn */
  answered({ answer, sources, unsupported = [] }) {
    const items = sources.map((s) => this.source(s));
    const byNumber = new Map(sources.map((s, i) => [s.citation, items[i]]));
    const cite = (/** @type {number} */ n) => {
      const item = byNumber.get(n);
      return item && h('button', { type: 'button', class: 'cite', 'aria-label': `${this.word('source')} ${n}`, onclick: () => {
        const details = item.querySelector('details');
        details.open = true;
        details.querySelector('summary').focus({ preventScroll: true });
        this.reveal(details);
      } }, n);
    };
    const text = h('div', { class: 'md' }, markdown(unsupportedMarks(answer, unsupported), cite));
    for (const mark of text.querySelectorAll('mark')) mark.title = this.word('unsupported');
    return h('article', { class: 'turn', 'aria-label': this.word('answer') }, text,
      unsupported.length > 0 && h('p', { class: 'faint' }, this.word('unsupported')),
      items.length > 0 && h('ol', { class: 'sources', 'aria-label': this.word('sources') }, items));
  }

  /** Scrolls the conversation to the sentence in an open source that supports the answer. @param {any} details */
  reveal(details) {
    const box = this.log.getBoundingClientRect();
    const at = (details.querySelector('mark') ?? details).getBoundingClientRect();
    if (at.top < box.top || at.bottom > box.bottom) this.log.scrollTop += at.top - box.top - box.height / 3;
  }

  /** @param {any} s */
  source(s) {
    const where = [s.page && `${this.word('page')} ${s.page}`, s.heading].filter(Boolean).join(' · ');
    return h('li', {}, h('details', { ontoggle: (/** @type {Event} */ e) => /** @type {any} */ (e.target).open && this.reveal(e.target) }, h('summary', {}, `[${s.citation}] ${s.name}`, where && h('small', {}, ` ${where}`)),
      h('blockquote', {}, highlighted(s.text, s.highlights ?? [])), /^https?:/.test(s.source) && away(s.source, this.word('web'))));
  }
}

if (!customElements.get('sluice-chat')) customElements.define('sluice-chat', SluiceChat);

const options = new Set([...SluiceChat.observedAttributes, 'theme', 'side', 'open']);

/** Adds a floating chat to the page, for a script that names an agent. */
function mount() {
  const element = h('sluice-chat', { floating: true });
  for (const [name, value] of Object.entries(script?.dataset ?? {})) {
    if (!options.has(name)) console.warn(`sluice-chat: there is no option data-${name}`);
    element.setAttribute(name, value ?? '');
  }
  inDocument('body').append(element);
}

if (script?.dataset.agent) inDocument('body') ? mount() : window.addEventListener('DOMContentLoaded', mount);
else if (script) {
  window.addEventListener('load', () => {
    if (!Document.prototype.querySelector.call(document, 'sluice-chat')) console.warn('sluice-chat: the script has no data-agent, and the page has no element <sluice-chat>');
  });
}
