// The workspace's usage in a month, and its limits.
import { call, get, withQuery } from '../api.js';
import { fill, h } from '../dom.js';
import { may } from '../session.js';
import { announce, field, form, head } from '../ui.js';
import { bytes, number } from '../words.js';
import { limitFields } from './keys.js';

/** @type {Record<string, string>} */
const metrics = {
  queries: 'Agent questions', retrievals: 'Datastore queries', tokens: 'Model tokens', prompt_tokens: 'Model input tokens',
  completion_tokens: 'Model output tokens', embed_tokens: 'Embedding tokens', stored_chunks: 'Chunks stored', stored_bytes: 'Content stored',
};

/** @type {import('../router.js').View} */
export async function show({ signal }) {
  const month = h('input', { type: 'month', value: new Date().toISOString().slice(0, 7), onchange: () => read().catch(() => {}) });
  const shown = h('div', {});
  const read = async () => fill(shown, tables(await get(withQuery('usage', { month: month.value, by: 'key' }), signal)));
  const [, limits] = await Promise.all([read(), get('usage/limits', signal)]);
  return { title: 'Usage', body: [head('Usage', [field('Month', month)]), shown, may.write() && limitsForm(limits)] };
}

/** @param {string} metric @param {number} n */
const amount = (metric, n) => (metric === 'stored_bytes' ? bytes(n) : number(n));

/** @param {any} usage */
function tables(usage) {
  return [
    h('div', { class: 'scroll card', tabindex: '0', role: 'group', 'aria-label': 'Usage this month' }, h('table', {},
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Metric'), h('th', { scope: 'col', class: 'n' }, 'Used'), h('th', { scope: 'col', class: 'n' }, 'Limit'), h('th', { scope: 'col' }, 'Share of limit'))),
      h('tbody', {}, usage.usage.map((/** @type {any} */ u) => h('tr', {},
        h('th', { scope: 'row' }, metrics[u.metric] ?? u.metric),
        h('td', { class: 'n' }, amount(u.metric, u.used)),
        h('td', { class: 'n' }, u.limit === null ? 'none' : amount(u.metric, u.limit)),
        h('td', {}, u.limit ? h('meter', { min: '0', max: String(u.limit), value: String(Math.min(u.used, u.limit)), 'aria-label': metrics[u.metric] ?? u.metric }) : '')))))),
    h('h2', {}, 'By key'),
    byKey(usage.keys ?? []),
  ];
}

/** @param {any[]} keys */
function byKey(keys) {
  if (keys.length === 0) return h('p', { class: 'faint' }, 'No usage this month.');
  return h('div', { class: 'scroll card', tabindex: '0', role: 'group', 'aria-label': 'Usage by key' }, h('table', {},
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Key'), h('th', { scope: 'col' }, 'Metric'), h('th', { scope: 'col', class: 'n' }, 'Used'))),
    // A row for each metric: a column for each would be cut off on phones.
    h('tbody', {}, keys.map((k) => k.usage.map((/** @type {any} */ u, /** @type {number} */ i) => h('tr', {},
      i === 0 && h('th', { scope: 'row', rowspan: String(k.usage.length) }, k.name ?? (k.keyId ? 'Revoked key' : 'No key')),
      h('td', {}, metrics[u.metric] ?? u.metric), h('td', { class: 'n' }, amount(u.metric, u.used))))))));
}

/** @param {any} limits */
function limitsForm(limits) {
  const control = limitFields({ queries: 'Questions per month', tokens: 'Model tokens per month', stored_chunks: 'Chunks stored', stored_bytes: 'Bytes stored' }, limits);
  return h('section', { class: 'card' }, h('h2', {}, 'Workspace limits'), form('Save limits', async () => {
    await call('PUT', 'usage/limits', control.read());
    announce('Saved');
  }, [control.body]));
}
