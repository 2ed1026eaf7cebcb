// Requests to the service. Every failure is an Error with a message for users. This is the service's own message or, if
// the service did not answer, a message about the connection.
import { key } from './session.js';
import { events } from './sse.js';
import { complaint } from './words.js';

/** Addresses are relative to the page's address, because the service may be behind a path prefix. */
const base = new URL('.', document.baseURI.split('#')[0]);

export const noAnswer = 'The service is not responding. Check that it is running and that this computer can reach it.';

export class Problem extends Error {
  /**
   * @param {number} status 0 if there was no answer
   * @param {string} message
   * @param {{field: string, message: string}[]} [faults]
   * @param {number} [retryAfter] seconds
   */
  constructor(status, message, faults = [], retryAfter = 0) {
    super(message);
    this.status = status;
    this.faults = faults;
    this.retryAfter = retryAfter;
  }
}

/**
 * Sends a request. Returns the response if the request succeeded; otherwise throws a Problem.
 * @param {string} method
 * @param {string} path
 * @param {{body?: any, signal?: AbortSignal, headers?: Record<string, string>}} [options]
 */
export async function send(method, path, { body, signal, headers = {} } = {}) {
  // Retry reads when the service is busy, for example while a thousand files are being uploaded with the same key.
  for (let patience = method === 'GET' ? 3 : 0; ; patience--) {
    try {
      return await sendOnce(method, path, { body, signal, headers });
    } catch (e) {
      const soon = e instanceof Problem && (e.status === 429 || e.status === 503) && e.retryAfter <= 5;
      if (!soon || patience <= 0) throw e;
      await new Promise((done) => setTimeout(done, 1000 * (/** @type {Problem} */ (e).retryAfter || 1)));
      signal?.throwIfAborted();
    }
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{body: any, signal?: AbortSignal, headers: Record<string, string>}} options
 */
async function sendOnce(method, path, { body, signal, headers }) {
  let response;
  try {
    response = await fetch(address(path), {
      method,
      signal,
      headers: { ...authorization(), ...(body === undefined || body instanceof FormData ? {} : { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined || body instanceof FormData ? body : JSON.stringify(body),
      cache: 'no-store',
      credentials: 'omit',
    });
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new Problem(0, noAnswer);
  }
  if (!response.ok) throw problemOf(response.status, await response.text(), response.headers.get('Retry-After'));
  return response;
}

/** @param {string} path */
export function address(path) {
  return new URL(path, base).href;
}

/** @returns {Record<string, string>} the header with the key, if there is a key */
export function authorization() {
  const secret = key();
  return secret ? { Authorization: `Bearer ${secret}` } : {};
}

/**
 * Parses an error response of the service or of a proxy in front of it.
 * @param {number} status
 * @param {string} text
 * @param {string | null} retryAfter
 */
export function problemOf(status, text, retryAfter) {
  const wait = Number.parseInt(retryAfter ?? '', 10) || 0;
  try {
    const p = JSON.parse(text);
    const said = (p.errors ?? []).map(complaint).join('; ');
    return new Problem(status, said || p.detail || p.title, p.errors ?? [], wait);
  } catch {
    return new Problem(status, `The service answered with status ${status} and no explanation.`, [], wait);
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @param {{signal?: AbortSignal, headers?: Record<string, string>}} [options]
 * @returns {Promise<any>}
 */
export async function call(method, path, body, options = {}) {
  return (await send(method, path, { body, ...options })).json();
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 */
export const get = (path, signal) => call('GET', path, undefined, { signal });

/**
 * Appends query parameters to a path. Empty parameters are left out.
 * @param {string} path
 * @param {Record<string, any>} params
 */
export function withQuery(path, params) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '') q.set(name, String(value));
  }
  return q.size ? `${path}?${q}` : path;
}

/**
 * Reads all pages of a list, up to a maximum number of items.
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {number} [most]
 * @returns {Promise<any[]>}
 */
export async function all(path, signal, most = 1000) {
  const items = [];
  let cursor = '';
  do {
    const separator = path.includes('?') ? '&' : '?';
    const page = await get(`${path}${separator}limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, signal);
    items.push(...page.data);
    cursor = page.nextCursor ?? '';
  } while (cursor && items.length < most);
  return items;
}

/**
 * Opens a stream of server-sent events. EventSource is not used because it cannot send the key.
 * @param {string} method
 * @param {string} path
 * @param {{body?: any, signal: AbortSignal, opened?: () => void}} options opened is called when the response has begun
 */
export async function* stream(method, path, { opened, ...options }) {
  const response = await send(method, path, { ...options, headers: { Accept: 'text/event-stream' } });
  opened?.();
  if (!response.body) return;
  yield* events(response.body);
}

/** Returns an Idempotency-Key. randomUUID is not used because browsers offer it only over https or on localhost. */
export function requestKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');
}
