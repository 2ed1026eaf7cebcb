// Components that the views share.
import { fill, h } from './dom.js';
import { sentence, statusOf } from './words.js';

/**
 * Shows a short message for a few seconds. Screen readers announce it without moving the focus.
 * @param {string} text
 * @param {{unseen?: boolean}} [options] unseen: only for screen readers, because the page itself shows the result
 */
export function announce(text, { unseen = false } = {}) {
  clearTimeout(hiding);
  for (const place of document.querySelectorAll('.said')) fill(place);
  // Set the text a frame later: a text that equals the last one is announced again only if it was removed in between.
  requestAnimationFrame(() => {
    // While a dialog is open, browsers hide the rest of the page from screen readers.
    const place = /** @type {HTMLElement} */ ([...document.querySelectorAll('dialog[open] .said')].at(-1) ?? document.getElementById('said'));
    fill(place, text);
    place.classList.toggle('unseen', unseen);
    hiding = setTimeout(() => place.classList.add('unseen'), 4000 + 60 * text.length);
  });
}
/** @type {any} */
let hiding;

/**
 * Replaces the content of an element. If a control in it had the focus, the new control with the same text gets it.
 * @param {Element} element
 * @param {...any} children
 */
export function refill(element, ...children) {
  const had = element.contains(document.activeElement) ? document.activeElement : null;
  fill(element, ...children);
  /** @type {any} */
  const now = had && [...element.querySelectorAll(had.tagName)].find((e) => e.textContent === had.textContent);
  now?.focus();
}

/**
 * A control with a label and a hint. Screen readers read the hint with the control.
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
 * A checkbox with its label after it.
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
 * A button for an operation that takes a while. During the operation, the button is disabled. Failures are shown.
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
 * A form. Its submit button is disabled while the form is being sent, and failures are shown in the form.
 * @param {string} submit label of its button
 * @param {(form: HTMLFormElement) => Promise<any>} work
 * @param {any[]} children
 * @param {{buttons?: any[], class?: string}} [options]
 */
export function form(submit, work, children, { buttons = [], class: kind = '' } = {}) {
  const trouble = h('div', {});
  const send = h('button', { type: 'submit', class: 'main' }, submit);
  const element = h('form', { class: kind, novalidate: true, oninput: () => fill(trouble), onsubmit: async (/** @type {Event} */ event) => {
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

/** Moves the focus to the first empty control that the form requires, and throws an error. @param {HTMLFormElement} element */
function fillIn(element) {
  /** @type {any} */
  const empty = [...element.elements].find((/** @type {any} */ c) => c.required && !c.value.trim());
  if (!empty) return;
  empty.focus();
  throw new Error(`“${empty.labels[0].textContent}” is required.`);
}

/**
 * Opens a dialog. The browser keeps the focus inside, closes the dialog with Escape and restores the focus.
 * @param {string} title
 * @param {(close: () => void) => any[]} content
 * @returns {HTMLDialogElement}
 */
export function dialog(title, content) {
  const heading = h('h2', { id: 'dialog-title' }, title);
  const element = h('dialog', { 'aria-labelledby': 'dialog-title', onclose: () => element.remove() });
  const close = () => element.close();
  element.append(h('div', { class: 'head' }, heading, h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close', onclick: close }, '×')), ...content(close), h('div', { class: 'said unseen', role: 'status' }));
  document.body.append(element);
  element.showModal();
  // By default, the browser would focus the first button, which closes the dialog. The attribute is not autofocus,
  // because the browser complains about that in a page that has the focus.
  (element.querySelector('[data-first]') ?? element.querySelector('input, select, textarea'))?.focus();
  return element;
}

/**
 * Shows a failure in a dialog, if there is no better place for it.
 * @param {any} e
 */
export function tell(e) {
  dialog('Something went wrong', (close) => [h('p', {}, said(e)), h('div', { class: 'actions' }, h('button', { type: 'button', class: 'main', 'data-first': true, onclick: close }, 'OK'))]);
}

/**
 * Asks the user to confirm an operation that cannot be undone.
 * @param {string} title
 * @param {string} text
 * @param {string} verb
 * @param {() => Promise<any>} work
 */
export function confirm(title, text, verb, work) {
  dialog(title, (close) => [form(verb, async () => { await work(); close(); }, [h('p', {}, text)], {
    buttons: [h('button', { type: 'button', 'data-first': true, onclick: close }, 'Cancel')], class: 'danger',
  })]);
}

/**
 * Links between the sections of an object.
 * @param {string} label
 * @param {[string, string][]} links addresses and labels
 * @param {string} here the address of the current section
 */
export function tabs(label, links, here) {
  return h('nav', { class: 'tabs', 'aria-label': label }, links.map(([href, text]) => h('a', { href, 'aria-current': href === here ? 'page' : null }, text)));
}

/**
 * The head of a view.
 * @param {any} title
 * @param {any[]} [actions]
 * @param {any} [above] a link to its parent
 */
export function head(title, actions = [], above = null) {
  return h('div', { class: 'top' }, above && h('p', { class: 'above' }, above), h('div', { class: 'head' }, h('h1', { tabindex: '-1' }, title), h('div', { class: 'actions' }, actions)));
}

/**
 * A list that is read page by page.
 * @param {(cursor: string) => Promise<{data: any[], nextCursor?: string | null}>} read
 * @param {(item: any) => any} show
 * @param {any} none shown instead of an empty list
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
      announce('More items loaded', { unseen: true });
    }));
    if (cursor) items[0]?.querySelector('a, button')?.focus(); // the button that had the focus was removed
    return page.data.length;
  };
  return (await next('')) === 0 ? none : [list, more];
}

/**
 * @param {() => string} text returns the text to copy
 * @param {string} label
 */
export function copyButton(text, label) {
  return button(label, async () => {
    await navigator.clipboard.writeText(text());
    announce('Copied');
  });
}
