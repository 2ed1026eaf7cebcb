// Selects views by the address after the #, so that each view has a link and the browser's back and forward buttons
// work.

/**
 * The arguments of a view.
 * @typedef {object} Page
 * @property {Record<string, string>} params parameters in the path
 * @property {URLSearchParams} query parameters after the ?
 * @property {AbortSignal} signal aborted when the user leaves the view
 * @property {string} here the address of the view, with its #
 */

/** @typedef {(page: Page) => Promise<{title: string, body: any}>} View */

/**
 * Finds the route that matches an address.
 * @template T
 * @param {[string, T][]} routes patterns, in which :name matches one segment, and their targets
 * @param {string} hash
 * @returns {{target: T, params: Record<string, string>, query: URLSearchParams} | null}
 */
export function match(routes, hash) {
  const [path, search = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  let parts;
  try {
    parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    return null; // a % without a valid code
  }
  for (const [pattern, target] of routes) {
    const names = pattern.split('/').filter(Boolean);
    if (names.length !== parts.length) continue;
    /** @type {Record<string, string>} */
    const params = {};
    if (names.every((name, i) => (name.startsWith(':') ? (params[name.slice(1)] = parts[i]) : name === parts[i]))) {
      return { target, params, query: new URLSearchParams(search) };
    }
  }
  return null;
}

/**
 * Goes to another view.
 * @param {string} hash
 */
export function go(hash) {
  location.hash = hash;
}

/**
 * Changes the address of the current view without reloading the view, so that a link to the address leads to the view's
 * present state.
 * @param {string} hash
 */
export function rename(hash) {
  history.replaceState(null, '', hash);
}
