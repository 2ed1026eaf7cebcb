// The one queue of uploads, which goes on whatever view is shown, and what is seen of it.
import { fill, h } from './dom.js';
import { Queue } from './queue.js';
import { announce } from './ui.js';
import { bytes, counted, number, sentence } from './words.js';

export const queue = new Queue();

/**
 * Calls f when the queue has changed, as often as the screen is painted and no more, until the signal ends.
 * @param {() => void} f
 * @param {AbortSignal} [signal]
 */
function onChange(f, signal) {
  let asked = false;
  queue.addEventListener('change', () => {
    if (asked) return;
    asked = true;
    // A page in the background is not painted; it is brought up to date all the same.
    setTimeout(() => { asked = false; f(); }, 100);
  }, { signal });
}

/** What stands in the head of the page while files are sent: it leads back to where they go. */
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
      announce(failed > 0 ? `${counted(done, 'file')} uploaded, ${failed} not` : `${counted(done, 'file')} uploaded`);
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
 * How the uploads to a datastore are doing.
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
    // A failed one is dealt with, too.
    const sent = ours.reduce((n, u) => n + (u.state === 'failed' ? u.file.size : u.sent), 0);
    const failed = ours.filter((u) => u.state === 'failed');
    const done = ours.filter((u) => u.state === 'done').length;
    bar.max = Math.max(total, 1);
    bar.value = sent;
    const waits = queue.resumeAt > Date.now() && queue.busy ? ' The service is busy; the upload continues shortly.' : '';
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
