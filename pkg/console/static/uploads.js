// The queue of uploads, and the display of its progress. Uploads continue in the background when the user changes the
// view.
import { fill, h } from './dom.js';
import { Queue } from './queue.js';
import { announce } from './ui.js';
import { bytes, counted, number, sentence } from './words.js';

export const queue = new Queue();

/**
 * Calls f after changes to the queue, at most ten times per second, until the signal is aborted.
 * @param {() => void} f
 * @param {AbortSignal} [signal]
 */
function onChange(f, signal) {
  let asked = false;
  queue.addEventListener('change', () => {
    if (asked) return;
    asked = true;
    // Not requestAnimationFrame, because it does not run while the page is in the background.
    setTimeout(() => { asked = false; f(); }, 100);
  }, { signal });
}

/** The link in the page's header while files are being sent. It leads to their datastore. */
export function watchUploads() {
  const place = h('a', { class: 'uploading', hidden: true });
  let wasBusy = false;
  onChange(() => {
    const { done, failed } = queue.counts;
    const all = queue.uploads.length;
    place.hidden = !queue.busy;
    if (queue.busy) {
      place.setAttribute('href', `#/datastores/${queue.uploads[all - 1].storeId}`);
      fill(place, `Uploading: ${number(done + failed)} of ${number(all)}`);
    } else if (wasBusy) {
      announce(failed > 0 ? `${counted(done, 'file')} uploaded, ${failed} failed` : `${counted(done, 'file')} uploaded`);
    }
    wasBusy = queue.busy;
  });
  window.addEventListener('beforeunload', (event) => {
    if (queue.busy) event.preventDefault(); // the browser asks whether to leave
  });
  return place;
}

const shownFailures = 50;

/**
 * Shows the progress of the uploads to a datastore.
 * @param {string} storeId
 * @param {AbortSignal} signal
 */
export function uploadPanel(storeId, signal) {
  const bar = h('progress', { 'aria-label': 'Uploads' });
  const text = h('p', {});
  const failures = h('ul', {});
  const again = h('button', { type: 'button', onclick: () => queue.retry() }, 'Retry failed uploads');
  const clear = h('button', { type: 'button', onclick: () => queue.clear() });
  const panel = h('section', { class: 'card', 'aria-label': 'Uploads', hidden: true }, text, bar, failures, h('div', { class: 'actions' }, again, clear));
  const show = () => {
    const ours = queue.uploads.filter((u) => u.storeId === storeId);
    panel.hidden = ours.length === 0;
    if (panel.hidden) return;
    const total = ours.reduce((n, u) => n + u.file.size, 0);
    // Failed files count as sent, so that the bar reaches its end.
    const sent = ours.reduce((n, u) => n + (u.state === 'failed' ? u.file.size : u.sent), 0);
    const failed = ours.filter((u) => u.state === 'failed');
    const done = ours.filter((u) => u.state === 'done').length;
    bar.max = Math.max(total, 1);
    bar.value = sent;
    const waits = queue.resumeAt > Date.now() && queue.busy ? ' The service is busy; the upload will resume shortly.' : '';
    fill(text, `${number(done)} of ${counted(ours.length, 'file')} uploaded, ${bytes(sent)} of ${bytes(total)}.`, failed.length > 0 && ` ${number(failed.length)} failed:`, waits);
    fill(failures, failed.slice(0, shownFailures).map((u) => h('li', {}, h('strong', {}, u.path), `: ${sentence(u.error)}`)),
      failed.length > shownFailures && h('li', {}, `and ${number(failed.length - shownFailures)} more`));
    again.hidden = failed.every((u) => u.hopeless);
    fill(clear, queue.busy ? 'Cancel remaining' : 'Close');
  };
  onChange(show, signal);
  show();
  return panel;
}
