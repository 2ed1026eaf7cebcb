// The parts that views are put together from.
import { fill, h } from './dom.js';
import { sentence, statusOf } from './words.js';

/**
 * Has a screen reader say something, without moving the focus.
 * @param {string} text
 */
export function announce(text) {
  const place = /** @type {HTMLElement} */ (document.getElementById('said'));
  fill(place);
  // A text that is the same as the last one is said again only when it has been away in between.
  requestAnimationFrame(() => fill(place, text));
}

/**
 * A labelled control. What is wrong with it stands beside it and is read with it.
 * @param {string} label
 * @param {any} control an input, select or textarea
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  control.id ||= `f${++fields}`;
  const about = hint && h('small', { id: `${control.id}-hint` }, hint);
  if (about) control.setAttribute('aria-describedby', about.id);
  return h('div', { class: 'field' }, h('label', { for: control.id }, label), control, about);
}
let fields = 0;

/**
 * A checkbox with its label behind it.
 * @param {string} label
 * @param {any} control
 * @param {string} [hint]
 */
export function check(label, control, hint) {
  control.type = 'checkbox';
  return h('label', { class: 'check' }, control, h('span', {}, label, hint && h('small', {}, hint)));
}

/** @param {any[]} pairs of value and label @param {Record<string, any>} [props] */
export function select(pairs, props = {}) {
  return h('select', props, pairs.map(([value, label]) => h('option', { value }, label)));
}

/** @param {any} message @param {...any} more */
export function problem(message, ...more) {
  return h('p', { class: 'problem', role: 'alert' }, said(message), ' ', ...more);
}

/** @param {any} e an error, or its text @returns {string} */
const said = (e) => sentence(e instanceof Error ? e.message : String(e));

/** The status of a datasource. @param {any} s */
export function chip(s) {
  return h('span', { class: `chip ${s.status}` }, statusOf(s));
}

/**
 * A button that does something that takes a while: it is off meanwhile, and says what went wrong.
 * @param {string} label
 * @param {() => Promise<any>} work
 * @param {Record<string, any>} [props]
 */
export function button(label, work, props = {}) {
  const element = h('button', { type: 'button', ...props, onclick: async () => {
    element.disabled = true;
    try {
      await work();
    } catch (e) {
      if (!isAbort(e)) tell(e);
    } finally {
      element.disabled = false;
    }
  } }, label);
  return element;
}

/** @param {any} e */
export const isAbort = (e) => e?.name === 'AbortError';

/**
 * A form whose controls are off while it is sent, and that shows what went wrong.
 * @param {string} submit label of its button
 * @param {(form: HTMLFormElement) => Promise<any>} work
 * @param {any[]} children
 * @param {{buttons?: any[], class?: string}} [options]
 */
export function form(submit, work, children, { buttons = [], class: kind = '' } = {}) {
  const trouble = h('div', {});
  const send = h('button', { type: 'submit', class: 'main' }, submit);
  const element = h('form', { class: kind, novalidate: true, onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    fill(trouble);
    send.disabled = true;
    try {
      fillIn(element);
      await work(element);
    } catch (e) {
      if (!isAbort(e)) {
        fill(trouble, problem(e));
        trouble.scrollIntoView({ block: 'nearest' });
      }
    } finally {
      send.disabled = false;
    }
  } }, ...children, trouble, h('div', { class: 'actions' }, send, ...buttons));
  return element;
}

/** Leads to the first control of a form that must have something in it, and has nothing. @param {HTMLFormElement} element */
function fillIn(element) {
  /** @type {any} */
  const empty = [...element.elements].find((/** @type {any} */ c) => c.required && !c.value.trim());
  if (!empty) return;
  empty.focus();
  throw new Error(`“${empty.labels[0].textContent}” is required.`);
}

/**
 * Opens a dialog. The browser keeps the focus in it, closes it by Escape, and gives the focus back.
 * @param {string} title
 * @param {(close: () => void) => any[]} content
 * @returns {HTMLDialogElement}
 */
export function dialog(title, content) {
  const heading = h('h2', { id: 'dialog-title' }, title);
  const element = h('dialog', { 'aria-labelledby': 'dialog-title', onclose: () => element.remove() });
  const close = () => element.close();
  element.append(h('div', { class: 'head' }, heading, h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close', onclick: close }, '×')), ...content(close));
  document.body.append(element);
  element.showModal();
  // The browser would choose the first button, which closes the dialog again.
  if (!element.querySelector('[autofocus]')) element.querySelector('input, select, textarea')?.focus();
  return element;
}

/**
 * Says what went wrong where there is no better place for it.
 * @param {any} e
 */
export function tell(e) {
  dialog('Something went wrong', (close) => [h('p', {}, said(e)), h('div', { class: 'actions' }, h('button', { type: 'button', class: 'main', autofocus: true, onclick: close }, 'OK'))]);
}

/**
 * Asks before something is done that cannot be undone.
 * @param {string} title
 * @param {string} text
 * @param {string} verb
 * @param {() => Promise<any>} work
 */
export function confirm(title, text, verb, work) {
  dialog(title, (close) => [form(verb, async () => { await work(); close(); }, [h('p', {}, text)], {
    buttons: [h('button', { type: 'button', autofocus: true, onclick: close }, 'Cancel')], class: 'danger',
  })]);
}

/**
 * Links between the parts of one thing.
 * @param {string} label
 * @param {[string, string][]} links addresses and labels
 * @param {string} here the address of the part that is shown
 */
export function tabs(label, links, here) {
  return h('nav', { class: 'tabs', 'aria-label': label }, links.map(([href, text]) => h('a', { href, 'aria-current': href === here ? 'page' : null }, text)));
}

/**
 * The head of a view.
 * @param {any} title
 * @param {any[]} [actions]
 * @param {any} [above] where it belongs
 */
export function head(title, actions = [], above = null) {
  return h('div', { class: 'top' }, above && h('p', { class: 'above' }, above), h('div', { class: 'head' }, h('h1', { tabindex: '-1' }, title), h('div', { class: 'actions' }, actions)));
}

/**
 * A list that is read page by page.
 * @param {(cursor: string) => Promise<{data: any[], nextCursor?: string | null}>} read
 * @param {(item: any) => any} show
 * @param {any} none what is shown in place of an empty list
 * @param {Record<string, any>} [props] of the list
 */
export async function pages(read, show, none, props = {}) {
  const list = h('ul', { class: 'cards', ...props });
  const more = h('div', { class: 'actions' });
  /** @param {string} cursor */
  const next = async (cursor) => {
    const page = await read(cursor);
    const items = page.data.map(show);
    list.append(...items);
    fill(more, page.nextCursor && button('Show more', async () => {
      await next(/** @type {string} */ (page.nextCursor));
      announce('More items loaded');
    }));
    if (cursor) items[0]?.querySelector('a, button')?.focus(); // the button that had the focus is gone
    return page.data.length;
  };
  return (await next('')) === 0 ? none : [list, more];
}

/**
 * @param {string} text
 * @param {string} label
 */
export function copyButton(text, label) {
  return button(label, async () => {
    await navigator.clipboard.writeText(text);
    announce('Copied');
  });
}
