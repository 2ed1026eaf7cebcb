// All datastores, or, where there is none yet, what to do first.
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
  readCounts(d.id, signal).then((n) => fill(counts, countChips(n)), () => {}); // the card says enough without
  return h('li', {},
    h('h2', {}, h('a', { href: `#/datastores/${d.id}` }, d.name)),
    d.description && h('p', {}, d.description),
    d.visibility === 'public' && h('p', {}, h('small', {}, 'Public: it may be queried without a key.')),
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
  if (!may.write()) return [head('Welcome'), h('p', {}, 'Nothing is in here yet. Your key may read and ask; somebody whose key may do everything makes a datastore and puts documents in.')];
  return [head('Welcome'),
    h('p', {}, 'Nothing is in here yet. In three steps you have an answer out of your own documents:'),
    h('ol', { class: 'steps' },
      h('li', {}, h('h2', {}, 'Make a datastore'), h('p', {}, 'It holds what is searched together: a handbook, the documents of a project.'), createForm()),
      h('li', {}, h('h2', {}, 'Put documents in'), h('p', {}, 'Drop files and folders, paste text, or give the address of a web page or a web site. You see each one become searchable.')),
      h('li', {}, h('h2', {}, 'Ask'), h('p', {}, 'An agent answers from the datastore, and each statement leads to the place it is from.')))];
}

function createForm() {
  const name = h('input', { name: 'name', required: true, maxlength: '200', placeholder: 'Handbook' });
  const description = h('textarea', { name: 'description', maxlength: '2000' });
  const visibility = visibilitySelect();
  return form('Make the datastore', async () => {
    const made = await call('POST', 'datastores', { name: name.value, description: description.value, visibility: visibility.value });
    document.querySelector('dialog')?.close();
    go(`#/datastores/${made.id}`);
  }, [
    field('Name', name),
    h('details', {}, h('summary', {}, 'More'), field('Description', description), field('Who may query it', visibility)),
  ]);
}

/** @param {string} [value] */
export function visibilitySelect(value = 'private') {
  return select([['private', 'Private: only with a key'], ['public', 'Public: anybody, without a key']], { name: 'visibility', value });
}
