// The list of agents.
import { all, call, get, withQuery } from '../api.js';
import { h } from '../dom.js';
import { go } from '../router.js';
import { may } from '../session.js';
import { check, dialog, field, form, head, pages } from '../ui.js';

/** @type {import('../router.js').View} */
export async function show({ signal }) {
  const stores = await all('datastores', signal);
  const create = h('button', { type: 'button', class: 'main', onclick: () => dialog('New agent', (close) => [createForm(stores, close)]) }, 'New agent');
  const names = new Map(stores.map((s) => [s.id, s.name]));
  const none = h('div', { class: 'card' }, h('p', {}, 'An agent answers questions from datastores and cites its sources.'),
    may.write() && (stores.length === 0 ? h('p', {}, h('a', { href: '#/datastores' }, 'Create a datastore first.'))
      : createForm(stores, () => {})));
  const list = await pages((cursor) => get(withQuery('agents', { cursor }), signal), (a) => h('li', {},
    h('h2', {}, h('a', { href: `#/agents/${a.id}` }, a.name)),
    a.description && h('p', {}, a.description),
    h('p', {}, h('small', {}, a.datastoreIds.length === 0 ? 'No datastore selected yet.' : `Answers from ${a.datastoreIds.map((/** @type {string} */ id) => names.get(id) ?? 'a deleted datastore').join(', ')}.`,
      a.visibility === 'public' ? ' Public: anyone can ask it.' : ''))), none);
  return { title: 'Agents', body: [head('Agents', [may.write() && create]), list] };
}

/** @param {any[]} stores @param {() => void} close */
function createForm(stores, close) {
  const name = h('input', { maxlength: '200', required: true, placeholder: 'Support' });
  const chosen = storeChoice(stores, stores.length === 1 ? [stores[0].id] : []);
  return form('Create agent', async () => {
    const made = await call('POST', 'agents', { name: name.value, datastoreIds: chosen.read() });
    close();
    go(`#/agents/${made.id}`);
  }, [field('Name', name), chosen.body]);
}

/**
 * Checkboxes to choose the datastores of an agent.
 * @param {any[]} stores
 * @param {string[]} ids
 */
export function storeChoice(stores, ids) {
  const boxes = stores.map((s) => ({ id: s.id, name: s.name, box: h('input', { type: 'checkbox', checked: ids.includes(s.id) }) }));
  return {
    body: h('fieldset', {}, h('legend', {}, 'Answers from'), boxes.map(({ name, box }) => check(name, box)), boxes.length === 0 && 'There are no datastores yet.'),
    read: () => boxes.filter(({ box }) => box.checked).map(({ id }) => id),
  };
}
