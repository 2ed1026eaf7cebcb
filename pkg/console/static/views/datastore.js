// The view of a datastore: content, search and settings.
import { all, call, get } from '../api.js';
import { fill, h } from '../dom.js';
import { go } from '../router.js';
import { may } from '../session.js';
import { button, confirm, field, form, head, problem, tabs, announce } from '../ui.js';
import { addPanel } from './add.js';
import { countChips, readCounts, visibilitySelect } from './datastores.js';
import { counted } from '../words.js';
import { sources } from './sources.js';
import { playground } from './playground.js';

/** @type {import('../router.js').View} */
export async function show(page) {
  const { params, signal } = page;
  const tab = params.tab ?? '';
  const store = await get(`datastores/${encodeURIComponent(params.id)}`, signal);
  const root = `#/datastores/${store.id}`;
  const body = [
    head(store.name, [button('Ask', () => ask(store, signal), { class: 'main' })], h('a', { href: '#/datastores' }, 'Datastores')),
    tabs('Datastore sections', [[root, 'Content'], [`${root}/search`, 'Search'], ...(may.write() ? /** @type {[string, string][]} */ ([[`${root}/search-settings`, 'Search settings'], [`${root}/settings`, 'Settings']]) : [])], tab ? `${root}/${tab}` : root),
    store.description && h('p', {}, store.description),
    store.move && moving(store.move),
  ];
  if (tab === '') body.push(await content(store, page));
  else if (tab === 'search') body.push(playground(store, page));
  else if (tab === 'search-settings' && may.write()) body.push(await (await import('./searchsettings.js')).searchSettings(store, signal));
  else if (tab === 'settings' && may.write()) body.push(settings(store));
  else throw new Error('Page not found.');
  return { title: store.name, body };
}

/** @param {any} move */
function moving(move) {
  return h('p', { class: 'note' }, `Moving the content to ${move.type} with ${move.embeddingModel}: ${move.done} of ${move.total} datasources done. `, move.error);
}

/**
 * @param {any} store
 * @param {import('../router.js').Page} page
 */
async function content(store, page) {
  const counts = h('ul', { class: 'counts', 'aria-label': 'Datasources by status' });
  const refresh = async () => fill(counts, countChips(await readCounts(store.id, page.signal)));
  const list = sources(store.id, page, () => refresh().catch(() => {}));
  const [, shown] = await Promise.all([refresh(), list]);
  return [may.write() && addPanel(store, page.signal), h('h2', {}, 'Content'), counts, shown];
}

/**
 * Goes to an agent that answers from the datastore, and creates one if there is none.
 * @param {any} store
 * @param {AbortSignal} signal
 */
async function ask(store, signal) {
  const agents = await all('agents', signal);
  const agent = agents.find((a) => a.datastoreIds.length === 1 && a.datastoreIds[0] === store.id)
    ?? (may.write() ? null : agents.find((a) => a.datastoreIds.includes(store.id)))
    ?? await create(store);
  go(`#/agents/${agent.id}`);
}

/** @param {any} store */
async function create(store) {
  const agent = await call('POST', 'agents', { name: store.name, datastoreIds: [store.id] });
  announce(`The agent “${agent.name}” was created to answer from this datastore`);
  return agent;
}

/** @param {any} store */
function settings(store) {
  const control = {
    name: h('input', { value: store.name, maxlength: '200' }),
    description: h('textarea', { value: store.description, maxlength: '2000' }),
    visibility: visibilitySelect(store.visibility),
    target: h('input', { type: 'number', min: '32', max: '2048', value: store.chunking.targetTokens }),
    most: h('input', { type: 'number', min: '32', max: '2048', value: store.chunking.maxTokens }),
    languages: h('input', { value: (store.ocrLanguages ?? []).join(', '), placeholder: 'deu, eng' }),
    type: h('input', { value: store.type }),
    model: h('input', { value: store.embeddingModel }),
  };
  const path = `datastores/${store.id}`;
  return h('div', { class: 'card' },
    form('Save', async () => {
      /** @type {Record<string, any>} */
      const patch = { name: control.name.value, description: control.description.value, visibility: control.visibility.value };
      const chunking = { targetTokens: Number(control.target.value), maxTokens: Number(control.most.value) };
      const languages = control.languages.value.split(',').map((/** @type {string} */ name) => name.trim()).filter(Boolean);
      if (languages.join() !== (store.ocrLanguages ?? []).join()) patch.ocrLanguages = languages;
      // These settings cause all content to be processed again, so send them only if they were changed.
      if (chunking.targetTokens !== store.chunking.targetTokens || chunking.maxTokens !== store.chunking.maxTokens) patch.chunking = chunking;
      if (control.type.value.trim() !== store.type) patch.type = control.type.value.trim();
      if (control.model.value.trim() !== store.embeddingModel) patch.embeddingModel = control.model.value.trim();
      await call('PATCH', path, patch);
      announce('Saved');
      window.dispatchEvent(new HashChangeEvent('hashchange'));
    }, [
      field('Name', control.name), field('Description', control.description), field('Access', control.visibility), field('Languages of scans (as Tesseract names them)', control.languages),
      h('details', {}, h('summary', {}, 'Indexing'),
        h('p', { class: 'note' }, 'Changing these settings re-indexes all content, which stays searchable in the meantime.'),
        h('div', { class: 'row' }, field('Chunk size (tokens)', control.target), field('Maximum chunk size (tokens)', control.most)),
        h('div', { class: 'row' }, field('Engine', control.type), field('Embedding model', control.model))),
    ]),
    h('h2', {}, 'Re-index'),
    h('div', { class: 'actions' },
      button('Re-index all content', async () => {
        const { queued } = await call('POST', `${path}/resync`, { mode: 'reindex' });
        announce(`${counted(queued, 'datasource')} queued`);
        go(`#/datastores/${store.id}`);
      }),
      h('button', { type: 'button', onclick: () => confirm(`Delete ${store.name}?`, 'The datastore and all its content will be permanently deleted.', 'Delete', async () => {
        await call('DELETE', path, {});
        announce('Deleted');
        go('#/datastores');
      }) }, 'Delete datastore')),
    store.visibility === 'public' ? problem('Anyone who can reach the service can query this datastore.') : null);
}
