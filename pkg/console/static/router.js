// Views by the address behind the #, so that each has a link, and the browser's own buttons lead back and forth.

/**
 * What a view is given.
 * @typedef {object} Page
 * @property {Record<string, string>} params parts of the path
 * @property {URLSearchParams} query what stands behind its ?
 * @property {AbortSignal} signal ends when the person goes elsewhere
 * @property {string} here the address of the view, with its #
 */

/** @typedef {(page: Page) => Promise<{title: string, body: any}>} View */

/**
 * Takes an address apart by the patterns of the routes.
 * @template T
 * @param {[string, T][]} routes patterns, in which :name stands for one part, and what belongs to them
 * @param {string} hash
 * @returns {{target: T, params: Record<string, string>, query: URLSearchParams} | null}
 */
export function match(routes, hash) {
  const [path, search = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  let parts;
  try {
    parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    return null; // a % that encodes nothing
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
 * Leads to another view.
 * @param {string} hash
 */
export function go(hash) {
  location.hash = hash;
}

/**
 * Writes another address of the view that is shown, without showing it anew: a link to it then leads here.
 * @param {string} hash
 */
export function rename(hash) {
  history.replaceState(null, '', hash);
}
