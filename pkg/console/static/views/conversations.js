// The list of conversations.
import { all, call, get, send, withQuery } from '../api.js';
import { fill, h } from '../dom.js';
import { may } from '../session.js';
import { announce, button, confirm, field, form, head, pages, select } from '../ui.js';
import { when } from '../words.js';
import { isOwn } from './chat.js';

/** @type {import('../router.js').View} */
export async function show({ signal }) {
  const agents = await all('agents', signal);
  const agent = select([['', 'All agents'], ...agents.map((a) => [a.id, a.name])], { value: '' });
  return { title: 'Conversations', body: [head('Conversations'), await conversationList({}, signal, field('Agent', agent), () => ({ agentId: agent.value }), new Map(agents.map((a) => [a.id, a.name])))] };
}

/**
 * @param {Record<string, string>} fixed parameters of the list
 * @param {AbortSignal} signal
 * @param {any} [choice] another control
 * @param {() => Record<string, string>} [more] returns the parameters from that control
 * @param {Map<string, string>} [names] of the agents, by id
 */
export async function conversationList(fixed, signal, choice = null, more = () => ({}), names = new Map()) {
  const text = h('input', { type: 'search', maxlength: '200' });
  const from = h('input', { type: 'date' });
  const to = h('input', { type: 'date' });
  const list = h('div', {});
  const params = () => ({ ...fixed, ...more(), query: text.value, from: from.value, to: to.value });
  const read = async () => {
    const asked = params();
    fill(list, await pages((cursor) => get(withQuery('conversations', { ...asked, cursor }), signal), (v) => item(v, names), h('p', { class: 'faint' }, 'No conversations found. Conversations with ', h('a', { href: '#/agents' }, 'agents'), ' appear here.')));
  };
  await read();
  const controls = form('Apply', async () => { await read(); announce('List updated', { unseen: true }); },
    [h('div', { class: 'row' }, choice, field('Search messages', text), field('From', from), field('To', to))],
    { class: 'card', buttons: [button('Export as JSON', () => save('json', params())), button('Export as CSV', () => save('csv', params()))] });
  return [controls, h('h2', {}, 'Newest first'), list];
}

/** @param {any} v @param {Map<string, string>} names */
function item(v, names) {
  const visitor = isOwn(v) ? 'from the console' : `visitor ${v.visitorId.length > 20 ? `${v.visitorId.slice(0, 12)}…` : v.visitorId}`;
  const row = h('li', { class: 'head' },
    h('div', {}, h('a', { href: withQuery(`#/agents/${v.agentId}/conversations/${encodeURIComponent(v.id)}`, { visitorId: v.visitorId }) }, v.title || 'Untitled'), h('p', {}, h('small', {}, [names.get(v.agentId), visitor, `started ${when(v.createdAt)}`, `last message ${when(v.updatedAt)}`].filter(Boolean).join(' · ')))),
    may.write() && h('button', { type: 'button', 'aria-label': `Delete conversation ${v.title}`, onclick: () => confirm('Delete this conversation?', 'The conversation and its messages will be permanently deleted.', 'Delete', async () => {
      await call('DELETE', withQuery(`conversations/${encodeURIComponent(v.id)}`, { agentId: v.agentId, visitorId: v.visitorId }), {});
      row.remove();
      announce('Deleted');
    }) }, 'Delete'));
  return row;
}

/** @param {string} kind @param {Record<string, string>} params */
async function save(kind, params) {
  const blob = await (await send('GET', withQuery('conversations/export', { ...params, format: kind }))).blob();
  const address = URL.createObjectURL(blob);
  h('a', { href: address, download: `conversations.${kind}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
