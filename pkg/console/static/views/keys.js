// The API keys of the workspace.
import { all, call, get } from '../api.js';
import { fill, h } from '../dom.js';
import { announce, confirm, copyButton, dialog, field, form, head, select } from '../ui.js';
import { number, when } from '../words.js';

/** @type {Record<string, string>} */
const rights = { write: 'Full access', read: 'Read and ask', query: 'Ask one agent' };

/** @type {import('../router.js').View} */
export async function show({ signal }) {
  const agents = await all('agents', signal);
  const list = h('div', {});
  const read = async () => fill(list, table((await get('keys', signal)).data, agents, read));
  await read();
  const create = h('button', { type: 'button', class: 'main', onclick: () => createDialog(agents, read) }, 'New key');
  return { title: 'Keys', body: [head('API keys', [create]), list] };
}

/** @param {any[]} keys @param {any[]} agents @param {() => Promise<void>} changed */
function table(keys, agents, changed) {
  const names = new Map(agents.map((a) => [a.id, a.name]));
  return h('div', { class: 'scroll card', tabindex: '0', role: 'group', 'aria-label': 'Keys' }, h('table', {},
    h('thead', {}, h('tr', {}, ['Name', 'Access', 'Key', 'Last used', 'Expires', 'Limits', 'Actions'].map((t) => h('th', { scope: 'col' }, t)))),
    h('tbody', {}, keys.map((k) => h('tr', {},
      h('th', { scope: 'row' }, k.name),
      h('td', {}, rights[k.scopes.includes('write') ? 'write' : k.scopes[0]], k.agentId && h('small', {}, ` ${names.get(k.agentId) ?? ''}`)),
      h('td', {}, h('code', {}, k.hint)), h('td', {}, when(k.lastUsedAt)), h('td', {}, when(k.expiresAt)),
      h('td', {}, limitWords(k.limits)),
      h('td', { class: 'actions' },
        h('button', { type: 'button', 'aria-label': `Limits of ${k.name}`, onclick: () => limitsDialog(k, changed) }, 'Limits'),
        h('button', { type: 'button', 'aria-label': `Revoke ${k.name}`, onclick: () => confirm(`Revoke ${k.name}?`, 'Requests with this key will be rejected from now on. This cannot be undone.', 'Revoke', async () => {
          await call('DELETE', `keys/${k.id}`, {});
          announce('Revoked');
          await changed();
        }) }, 'Revoke')))))));
}

/** @param {any} l */
function limitWords(l) {
  const said = [l?.queries && `${number(l.queries)} questions per month`, l?.tokens && `${number(l.tokens)} tokens per month`, l?.requests_per_second && `${number(l.requests_per_second)} requests per second`].filter(Boolean);
  return said.join(', ') || 'none';
}

/** @param {any[]} agents @param {() => Promise<void>} changed */
function createDialog(agents, changed) {
  const name = h('input', { maxlength: '200', required: true, placeholder: 'Website' });
  const agent = select(agents.map((a) => [a.id, a.name]));
  const which = field('Agent', agent);
  const scope = select(Object.entries(rights), { value: 'write', onchange: () => { which.hidden = scope.value !== 'query'; } });
  which.hidden = true;
  const expires = h('input', { type: 'date' });
  const box = dialog('New key', () => [form('Create key', async () => {
    const made = await call('POST', 'keys', {
      name: name.value, scopes: [scope.value],
      ...(scope.value === 'query' ? { agentId: agent.value } : {}),
      ...(expires.value ? { expiresAt: new Date(`${expires.value}T00:00:00Z`).toISOString() } : {}),
    });
    fill(box, shownOnce(made, () => box.close()));
    await changed();
  }, [field('Name', name, 'The person or program that will use it.'), field('Access', scope), which, field('Expires', expires, 'The key stops working at 00:00 UTC on this date. Leave empty for no expiry.')])]);
}

/** @param {any} made @param {() => void} close */
function shownOnce(made, close) {
  return [
    h('h2', { id: 'dialog-title' }, `The key ${made.name}`),
    h('p', {}, 'Copy the key now. It will not be shown again.'),
    h('p', { class: 'secret', tabindex: '0', 'aria-label': 'The key' }, made.key),
    h('div', { class: 'actions' }, copyButton(() => made.key, 'Copy'), h('button', { type: 'button', class: 'main', onclick: close }, 'Done')),
  ];
}

/** @param {any} k @param {() => Promise<void>} changed */
function limitsDialog(k, changed) {
  const control = limitFields({ queries: 'Questions per month', tokens: 'Model tokens per month', requests_per_second: 'Requests per second' }, k.limits ?? {});
  dialog(`Limits of ${k.name}`, (close) => [form('Save', async () => {
    await call('PUT', `keys/${k.id}/limits`, control.read());
    announce('Saved');
    close();
    await changed();
  }, [control.body])]);
}

/**
 * Fields for limits. An empty field means no limit.
 * @param {Record<string, string>} labels by the names of the limits
 * @param {Record<string, number | null>} values
 */
export function limitFields(labels, values) {
  const controls = Object.entries(labels).map(([name, label]) => ({ name, label, input: h('input', { type: 'number', min: '0', value: values[name] ?? '' }) }));
  return {
    body: [controls.map(({ label, input }) => field(label, input)), h('p', {}, h('small', {}, 'An empty field means no limit.'))],
    read: () => Object.fromEntries(controls.filter(({ input }) => input.value !== '').map(({ name, input }) => [name, Number(input.value)])),
  };
}
