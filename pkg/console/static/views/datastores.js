// The list of datastores. If there are none yet, it says what to do first.
import { call, get, withQuery } from '../api.js';
import { fill, h } from '../dom.js';
import { go } from '../router.js';
import { may } from '../session.js';
import { dialog, field, form, head, pages, select } from '../ui.js';
import { counted, number, statuses } from '../words.js';

/** @type {import('../router.js').View} */
export async function show({ signal }) {
  const create = h('button', { type: 'button', class: 'main', onclick: () => dialog('New datastore', () => [createForm()]) }, 'New datastore');
  const list = await pages((cursor) => get(withQuery('datastores', { cursor }), signal), (d) => card(d, signal), null);
  if (!list) return { title: 'Welcome', body: welcome() };
  return { title: 'Datastores', body: [head('Datastores', [may.write() && create]), list] };
}

/** @param {any} d @param {AbortSignal} signal */
function card(d, signal) {
  const counts = h('ul', { class: 'counts', 'aria-label': 'Datasources by status' });
  readCounts(d.id, signal).then((n) => fill(counts, countChips(n)), () => {}); // without counts, the card is still useful
  return h('li', {},
    h('h2', {}, h('a', { href: `#/datastores/${d.id}` }, d.name)),
    d.description && h('p', {}, d.description),
    d.visibility === 'public' && h('p', {}, h('small', {}, 'Public: no key is needed to query it.')),
    counts);
}

/** @param {string} id @param {AbortSignal} [signal] */
export const readCounts = (id, signal) => get(`datastores/${encodeURIComponent(id)}/counts`, signal);

/** @param {any} n */
export function countChips(n) {
  if (n.total === 0) return [h('li', { class: 'chip' }, 'Empty')];
  return [h('li', { class: 'chip' }, counted(n.total, 'datasource')),
    ...Object.keys(statuses).filter((s) => n[s] > 0).map((s) => h('li', { class: `chip ${s}` }, `${statuses[s]}: ${number(n[s])}`))];
}

function welcome() {
  if (!may.write()) return [head('Welcome'), h('p', {}, 'There is no content yet. Your key can only read and ask. Someone with a full-access key must create a datastore and add documents.')];
  return [head('Welcome'),
    h('p', {}, 'Get an answer from your own documents in three steps:'),
    h('ol', { class: 'steps' },
      h('li', {}, h('h2', {}, 'Create a datastore'), h('p', {}, 'A datastore holds content that is searched together, such as a handbook or the documents of a project.'), createForm()),
      h('li', {}, h('h2', {}, 'Add documents'), h('p', {}, 'Drop files or folders, paste text, or enter the address of a web page or website. You can watch each one become searchable.')),
      h('li', {}, h('h2', {}, 'Ask'), h('p', {}, 'An agent answers from the datastore and links each statement to its source.')))];
}

function createForm() {
  const name = h('input', { name: 'name', required: true, maxlength: '200', placeholder: 'Handbook' });
  const description = h('textarea', { name: 'description', maxlength: '2000' });
  const visibility = visibilitySelect();
  return form('Create datastore', async () => {
    const made = await call('POST', 'datastores', { name: name.value, description: description.value, visibility: visibility.value });
    document.querySelector('dialog')?.close();
    go(`#/datastores/${made.id}`);
  }, [
    field('Name', name),
    h('details', {}, h('summary', {}, 'More'), field('Description', description), field('Access', visibility)),
  ]);
}

/** @param {string} [value] */
export function visibilitySelect(value = 'private') {
  return select([['private', 'Private: requires a key'], ['public', 'Public: anyone, without a key']], { name: 'visibility', value });
}
