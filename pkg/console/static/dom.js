// All elements are created here. Text becomes text nodes and addresses are checked, so that no text of a document, web
// page or model can become markup or a script.

/** @typedef {Node | string | number | null | undefined | false | readonly any[]} Child nested lists are flattened */

// Attributes whose value is an address that the browser loads or follows.
const addresses = new Set(['href', 'src', 'action', 'formaction']);
/**
 * Reads a property of the document through its prototype. The chat runs in other sites' pages, where an element may hide
 * a property of the document by its name: with <img name=body>, document.body is the image.
 * @param {string} name
 * @param {object} [prototype]
 * @returns {any}
 */
export const inDocument = (name, prototype = Document.prototype) => Object.getOwnPropertyDescriptor(prototype, name)?.get?.call(document);

// Characters that change the direction of the text after them. With one of them, the name "invoice\u202Efdp.exe" would
// look like "invoiceexe.pdf".
const directions = /[\u202A-\u202E\u2066-\u2069]/g;

/** Replaces characters that change the direction of text with their visible code. @param {string} text */
export const visible = (text) => text.replace(directions, (c) => `\u27E8U+${c.charCodeAt(0).toString(16).toUpperCase()}\u27E9`);

// Names that are set as properties, because the attributes would set only the initial state.
const properties = new Set(['value', 'checked', 'disabled', 'selected', 'hidden', 'open', 'indeterminate', 'multiple']);

/**
 * Creates an element.
 * @param {string} tag
 * @param {Record<string, any>} [props] attributes, and event listeners under names that begin with "on"; values that are null, undefined or false are left out
 * @param {...Child} children
 * @returns {any} the element; its type is any because callers know the kind of element
 */
export function h(tag, props = {}, ...children) {
  const element = /** @type {any} */ (Document.prototype.createElement.call(document, tag));
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) {
      if (typeof value !== 'function') throw new TypeError(`${name} is no function`);
      element.addEventListener(name.slice(2), value);
    } else if (properties.has(name)) {
      element[name] = value;
    } else {
      const isAddress = addresses.has(name);
      if (isAddress && !isSafe(String(value))) continue;
      element.setAttribute(name, value === true ? '' : isAddress ? String(value) : visible(String(value)));
    }
  }
  // Set the value of a select last, because its options must exist.
  element.append(...nodes(children));
  if (tag === 'select' && props.value !== undefined && props.value !== null) element.value = props.value;
  return element;
}

/**
 * Reports whether an address is safe to follow: it leads to the console, the service or the web.
 * @param {string} address
 */
export function isSafe(address) {
  if (address.startsWith('#')) return true;
  try {
    return ['http:', 'https:', 'blob:'].includes(new URL(address, inDocument('baseURI', Node.prototype)).protocol);
  } catch {
    return false;
  }
}

/**
 * A link to another site. It sends that site no referrer.
 * @param {string} address
 * @param {...Child} children
 */
export function away(address, ...children) {
  let scheme = '';
  try {
    scheme = new URL(address).protocol;
  } catch { /* not an address: show it as text */ }
  if (scheme !== 'http:' && scheme !== 'https:') return h('span', {}, ...children);
  return h('a', { href: address, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...children);
}

/**
 * Replaces the content of an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/** @param {Child[]} children @returns {(Node | string)[]} */
function nodes(children) {
  /** @type {any[]} */
  const flat = children.flat(Infinity);
  return flat.filter((c) => c !== null && c !== undefined && c !== false && c !== '').map((c) => (c instanceof Node ? c : visible(String(c))));
}
