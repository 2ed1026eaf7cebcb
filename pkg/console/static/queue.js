// The queue of uploads: a few at a time, however many are put in. An upload that the service has no time for waits as
// long as it says, and is sent again under the same Idempotency-Key, so that none is lost and none is there twice.
import { address, authorization, noAnswer, problemOf, requestKey } from './api.js';

/**
 * A file on its way.
 * @typedef {object} Upload
 * @property {File} file
 * @property {string} path within the folder that was dropped, or its name
 * @property {string} storeId
 * @property {string} key of the request, the same at every try
 * @property {'waiting' | 'sending' | 'done' | 'failed'} state
 * @property {number} sent bytes
 * @property {number} tries
 * @property {string} error why it failed
 * @property {boolean} hopeless it would fail again, however often it is sent
 */

const atOnce = 3; // a browser has six connections to a host, and the console needs some itself
const mostTries = 12;
const slowest = 30_000; // ms between tries, when the service does not say

export class Queue extends EventTarget {
  constructor() {
    super();
    /** @type {Upload[]} */
    this.uploads = [];
    this.next = 0; // index below which none waits
    this.active = 0;
    this.resumeAt = 0; // ms since 1970; before it nothing is sent
    /** @type {any} */
    this.timer = undefined; // fires at resumeAt
    this.counts = { waiting: 0, sending: 0, done: 0, failed: 0 };
  }

  /** @param {{file: File, path: string}[]} files @param {string} storeId */
  add(files, storeId) {
    for (const { file, path } of files) {
      this.uploads.push({ file, path, storeId, key: requestKey(), state: 'waiting', sent: 0, tries: 0, error: '', hopeless: false });
      this.counts.waiting++;
    }
    this.work();
  }

  /** Puts in again what may fare better, under the same keys: what was refused has freed its key, what was lost may have been done. */
  retry() {
    for (const u of this.uploads.filter((u) => u.state === 'failed' && !u.hopeless)) {
      Object.assign(u, { tries: 0, error: '', sent: 0 });
      this.move(u, 'waiting');
    }
    this.next = 0;
    this.work();
  }

  /** Forgets what waits and what has ended; what is under way is finished. */
  clear() {
    this.uploads = this.uploads.filter((u) => u.state === 'sending');
    this.next = 0;
    this.counts = { waiting: 0, sending: this.uploads.length, done: 0, failed: 0 };
    this.tell();
  }

  get busy() {
    return this.counts.waiting + this.counts.sending > 0;
  }

  /** @param {Upload} u @param {Upload['state']} state */
  move(u, state) {
    this.counts[u.state]--;
    this.counts[state]++;
    u.state = state;
  }

  tell() {
    this.dispatchEvent(new Event('change'));
  }

  work() {
    const rest = this.resumeAt - Date.now();
    if (rest > 0) {
      this.timer ??= setTimeout(() => { this.timer = undefined; this.work(); }, rest);
    } else {
      while (this.active < atOnce) {
        while (this.next < this.uploads.length && this.uploads[this.next].state !== 'waiting') this.next++;
        const u = this.uploads[this.next];
        if (!u) break;
        this.send(u);
      }
    }
    this.tell();
  }

  /** @param {Upload} u */
  async send(u) {
    this.active++;
    this.move(u, 'sending');
    u.tries++;
    const answer = await post(u, () => this.tell());
    const gone = answer.status === 0 && !await isReadable(u.file);
    this.active--;
    if (!this.uploads.includes(u)) return this.work(); // forgotten meanwhile
    if (answer.status >= 200 && answer.status < 300) {
      this.move(u, 'done');
      u.sent = u.file.size;
    } else if (passes(answer) && !gone && u.tries < mostTries) {
      this.move(u, 'waiting');
      u.sent = 0;
      this.next = Math.min(this.next, this.uploads.indexOf(u));
      // All wait: what the service has no time for, it has no time for whichever file it is.
      const wait = answer.retryAfter * 1000 || Math.min(500 * 2 ** u.tries, slowest);
      this.resumeAt = Math.max(this.resumeAt, Date.now() + wait * (1 + Math.random() / 4));
    } else {
      this.move(u, 'failed');
      u.hopeless = gone || ofContent.includes(answer.status);
      u.error = gone ? 'The file can no longer be read: it was moved, deleted or changed. Add it again.'
        : answer.status === 0 ? noAnswer : problemOf(answer.status, answer.text, null).message;
    }
    this.work();
  }
}

/**
 * Whether the same request may succeed later.
 * @param {{status: number, retryAfter: number}} answer
 */
function passes({ status, retryAfter }) {
  return status === 0 || status === 429 || status >= 500 || (status === 409 && retryAfter > 0);
}

/** What the service answers when it is about the file, or about where it should go, and not about the moment. */
const ofContent = [400, 404, 409, 413, 415, 422];

/** Whether a file is still what was chosen: a browser refuses to read one that has changed since. @param {File} file */
const isReadable = (file) => file.slice(0, 1).arrayBuffer().then(() => true, () => false);

/**
 * Sends one file. XMLHttpRequest, unlike fetch, tells how much of it has been sent.
 * @param {Upload} u
 * @param {() => void} progressed
 * @returns {Promise<{status: number, text: string, retryAfter: number}>} status 0: there was no answer
 */
function post(u, progressed) {
  const form = new FormData();
  // The file comes last: what is wrong with the other parts is then known before it is sent.
  form.set('type', 'file');
  form.set('datastoreId', u.storeId);
  if (u.path !== u.file.name) form.set('metadata', JSON.stringify({ path: u.path }));
  form.set('file', u.file, u.file.name);
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('POST', address('datasources'));
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.setRequestHeader('Idempotency-Key', u.key);
    request.upload.onprogress = (e) => {
      u.sent = Math.min(e.loaded, u.file.size);
      progressed();
    };
    const end = () => resolve({
      status: request.status, text: request.responseText, retryAfter: Number.parseInt(request.getResponseHeader('Retry-After') ?? '', 10) || 0,
    });
    request.onload = end;
    request.onerror = end;
    request.onabort = end;
    request.send(form);
  });
}
