// All that a key can do which may ask one agent: the chat with it. Its sources are shown in place, for such a key reads nothing else.
import { get } from '../api.js';
import { h } from '../dom.js';
import { may } from '../session.js';
import { head } from '../ui.js';
import { chat } from './chat.js';

/** @type {import('../router.js').View} */
export async function show({ signal }) {
  const agent = await get(`v1/models/${encodeURIComponent(may.onlyAsk())}`, signal);
  return { title: agent.name, body: [head(agent.name), agent.description && h('p', {}, agent.description), await chat({ id: agent.id, datastoreIds: null }, '', signal)] };
}
