// The queue of uploads. It sends a few files at a time, however many are added. If the service is busy, the upload
// waits as long as the service asks and is sent again with the same Idempotency-Key, so that no file is lost or stored
// twice.
import { address, authorization, noAnswer, problemOf, requestKey } from './api.js';

/**
 * A file to upload.
 * @typedef {object} Upload
 * @property {File} file
 * @property {string} path path within the dropped folder, or the file name
 * @property {string} storeId
 * @property {string} key Idempotency-Key, the same for every attempt
 * @property {'waiting' | 'sending' | 'done' | 'failed'} state
 * @property {number} sent bytes
 * @property {number} tries
 * @property {string} error why it failed
 * @property {boolean} hopeless whether every further attempt would fail too
 */

const atOnce = 3; // browsers open at most six connections to a host, and the console needs some for itself
const mostTries = 12;
const slowest = 30_000; // maximum pause between attempts in ms, if the service does not specify one

export class Queue extends EventTarget {
  constructor() {
    super();
    /** @type {Upload[]} */
    this.uploads = [];
    this.next = 0; // no upload below this index is waiting
    this.active = 0;
    this.resumeAt = 0; // ms since 1970; nothing is sent before this time
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

  /** Sends failed uploads again unless they are hopeless. Their keys stay the same, because a lost request may have been processed. A rejected request has freed its key. */
  retry() {
    for (const u of this.uploads.filter((u) => u.state === 'failed' && !u.hopeless)) {
      Object.assign(u, { tries: 0, error: '', sent: 0 });
      this.move(u, 'waiting');
    }
    this.next = 0;
    this.work();
  }

  /** Removes all uploads except those being sent. */
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
    if (!this.uploads.includes(u)) return this.work(); // removed from the queue meanwhile
    if (answer.status >= 200 && answer.status < 300) {
      this.move(u, 'done');
      u.sent = u.file.size;
    } else if (passes(answer) && !gone && u.tries < mostTries) {
      this.move(u, 'waiting');
      u.sent = 0;
      this.next = Math.min(this.next, this.uploads.indexOf(u));
      // All uploads wait: a busy service is busy for every file.
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
 * Whether a failure passes, so that the same request may succeed later.
 * @param {{status: number, retryAfter: number}} answer
 */
function passes({ status, retryAfter }) {
  return status === 0 || status === 429 || status >= 500 || (status === 409 && retryAfter > 0);
}

/** Statuses that concern the file or its datastore, so that a later attempt would fail too. */
const ofContent = [400, 404, 409, 413, 415, 422];

/** Whether a file is unchanged since it was chosen: browsers refuse to read a changed file. @param {File} file */
const isReadable = (file) => file.slice(0, 1).arrayBuffer().then(() => true, () => false);

/**
 * Sends one file. XMLHttpRequest is used because fetch does not report how much has been sent.
 * @param {Upload} u
 * @param {() => void} progressed
 * @returns {Promise<{status: number, text: string, retryAfter: number}>} status 0 means no answer
 */
function post(u, progressed) {
  const form = new FormData();
  // Send the file last, so that the service finds faults in the other parts before it receives the file.
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
