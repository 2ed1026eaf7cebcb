// The only view for a key that may ask just one agent: the chat. Sources are shown in the chat, because such a key
// cannot read anything else.
import { get } from '../api.js';
import { h } from '../dom.js';
import { may } from '../session.js';
import { head } from '../ui.js';
import { chat } from './chat.js';

/** @type {import('../router.js').View} */
export async function show({ signal }) {
  const agent = await get(`v1/models/${encodeURIComponent(may.onlyAsk())}`, signal);
  return { title: agent.name, body: [head(agent.name), agent.description && h('p', {}, agent.description), await chat({ id: agent.id, datastoreIds: null }, null, signal)] };
}
