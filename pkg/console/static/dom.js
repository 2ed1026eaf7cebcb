// Elements are made here and nowhere else. Text becomes text nodes and addresses are looked at, so that nothing that a
// document, a web page or a model says can become markup or a script.

/** @typedef {Node | string | number | null | undefined | false | readonly any[]} Child lists of children in one another count as one */

// Attributes whose value is fetched or followed.
const addresses = new Set(['href', 'src', 'action', 'formaction']);
// What is set as a property: as attributes these would only be the initial state.
const properties = new Set(['value', 'checked', 'disabled', 'selected', 'hidden', 'open', 'indeterminate', 'multiple']);

/**
 * Makes an element.
 * @param {string} tag
 * @param {Record<string, any>} [props] attributes; functions under "on…" are listeners; null, undefined and false leave one out
 * @param {...Child} children
 * @returns {any} the element; any, because callers know which
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
  // A select's value can be chosen only when its options are there.
  element.append(...nodes(children));
  if (tag === 'select' && props.value !== undefined && props.value !== null) /** @type {any} */ (element).value = props.value;
  return element;
}

/**
 * Reports whether an address may be followed: one of the console, of the service, or of the web.
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
 * A link to another site. It tells that site nothing of where it was followed from.
 * @param {string} address
 * @param {...Child} children
 */
export function away(address, ...children) {
  let scheme = '';
  try {
    scheme = new URL(address).protocol;
  } catch { /* not an address: it stays text */ }
  if (scheme !== 'http:' && scheme !== 'https:') return h('span', {}, ...children);
  return h('a', { href: address, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...children);
}

/**
 * Puts children in the place of what an element holds.
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
