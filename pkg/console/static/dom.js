// All elements are created here. Text becomes text nodes and addresses are checked, so that no text of a document, web
// page or model can become markup or a script.

/** @typedef {Node | string | number | null | undefined | false | readonly any[]} Child nested lists are flattened */

// Attributes whose value is an address that the browser loads or follows.
const addresses = new Set(['href', 'src', 'action', 'formaction']);
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
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) {
      if (typeof value !== 'function') throw new TypeError(`${name} is no function`);
      element.addEventListener(name.slice(2), value);
    } else if (properties.has(name)) {
      /** @type {any} */ (element)[name] = value;
    } else {
      if (addresses.has(name) && !isSafe(String(value))) continue;
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  // Set the value of a select last, because its options must exist.
  element.append(...nodes(children));
  if (tag === 'select' && props.value !== undefined && props.value !== null) /** @type {any} */ (element).value = props.value;
  return element;
}

/**
 * Reports whether an address is safe to follow: it leads to the console, the service or the web.
 * @param {string} address
 */
export function isSafe(address) {
  if (address.startsWith('#')) return true;
  try {
    return ['http:', 'https:', 'blob:'].includes(new URL(address, document.baseURI).protocol);
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
  return flat.filter((c) => c !== null && c !== undefined && c !== false && c !== '').map((c) => (c instanceof Node ? c : String(c)));
}
