// The search view: results of a query, with an explanation of each fragment's rank.
import { call } from '../api.js';
import { fill, h } from '../dom.js';
import { rename } from '../router.js';
import { announce, field, form, select } from '../ui.js';
import { counted } from '../words.js';

/**
 * @param {any} store
 * @param {import('../router.js').Page} page
 */
export function playground(store, page) {
  const query = h('input', { type: 'search', 'data-first': true, value: page.query.get('query') ?? '', maxlength: '8000', required: true });
  const topK = h('input', { type: 'number', min: '1', max: '100', value: '5' });
  const mode = select([['hybrid', 'Hybrid (keywords and vectors)'], ['lexical', 'Keywords only'], ['dense', 'Vectors only']], { value: 'hybrid' });
  const each = h('input', { type: 'number', min: '1', max: '100' });
  const rerank = select([['', 'If configured'], ['true', 'Always'], ['false', 'Never']], { value: '' });
  const metadata = h('textarea', { class: 'code', rows: '2', placeholder: '{"team": ["pumps", "valves"]}' });
  const customIds = h('input', {});
  const ids = h('input', {});
  const results = h('div', {});
  const list = (/** @type {any} */ control) => control.value.split(/[\s,]+/).filter(Boolean);

  const run = async () => {
    /** @type {Record<string, any>} */
    const filters = {};
    if (metadata.value.trim()) filters.metadata = parse(metadata.value);
    if (customIds.value.trim()) filters.custom_ids = list(customIds);
    if (ids.value.trim()) filters.datasource_ids = list(ids);
    const found = await call('POST', `datastores/${store.id}/query?explain=true`, {
      query: query.value, topK: Number(topK.value) || 5, mode: mode.value, filters,
      ...(each.value ? { maxPerDatasource: Number(each.value) } : {}),
      ...(rerank.value ? { rerank: rerank.value === 'true' } : {}),
    }, { signal: page.signal });
    rename(`${page.here.split('?')[0]}?query=${encodeURIComponent(query.value)}`);
    fill(results, shown(found));
    announce(`${counted(found.fragments.length, 'fragment')} found`, { unseen: true });
  };
  const body = form('Search', run, [
    field('Query', query),
    h('details', {}, h('summary', {}, 'Settings and filters'),
      h('div', { class: 'row' }, field('Maximum results', topK), field('Search mode', mode), field('Maximum results per datasource', each), field('Reranker', rerank)),
      h('div', { class: 'row' }, field('Metadata filter', metadata, 'A JSON object with keys and their allowed values.'), field('Custom ids', customIds, 'Separated by spaces.'), field('Datasource ids', ids, 'Separated by spaces.'))),
  ], { class: 'card' });
  // If the address contains a query, show its results. Submit later, because the form is not in the page yet.
  if (query.value) setTimeout(() => body.requestSubmit());
  return [body, results];
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('The metadata filter must be a JSON object, such as {"team": "pumps"}.');
  }
}

/** The address of the datasource's view with the fragment marked. @param {any} f */
export function placeOf(f) {
  const ordinal = String(f.chunk_id ?? '').split(':')[2] ?? '0';
  return `#/datasources/${encodeURIComponent(f.datasource_id)}?chunk=${ordinal}`;
}

/** @param {any} found */
function shown({ fragments, explanation }) {
  return [
    explanation.notes.map((/** @type {string} */ n) => h('p', { class: 'note' }, n)),
    fragments.length === 0 && h('p', {}, 'No results. Try other words or fewer filters, or wait until the content is searchable.'),
    h('ol', { class: 'hits', 'aria-label': 'Results' }, fragments.map(hit)),
    h('details', { class: 'card' }, h('summary', {}, 'Search details'), how(explanation)),
  ];
}

/** @param {any} f */
function hit(f) {
  const e = f.explanation;
  const stages = [
    ['Keywords (BM25)', e.lexical_score, e.lexical_rank], ['Vectors (cosine)', e.dense_score, e.dense_rank],
    ['Whole document', e.document_score, null], ['Merged', e.fused_score, e.fused_rank],
    ['Neighbouring chunks', e.neighbour_score, null], ['Link list', e.link_list_score, e.rank], ['Reranker', e.reranked_score, e.reranked_rank],
  ].filter(([, score]) => score !== null);
  return h('li', { class: 'card' },
    h('div', { class: 'head' }, h('h2', {}, h('a', { href: placeOf(f) }, f.datasource_name)), h('span', {}, 'Score ', h('strong', {}, f.score.toFixed(3)))),
    (f.page || f.heading) && h('small', {}, [f.page && `Page ${f.page}`, f.heading].filter(Boolean).join(' · ')),
    h('blockquote', {}, f.text),
    h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Ranks and scores' }, h('table', {},
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Stage'), h('th', { scope: 'col', class: 'n' }, 'Score'), h('th', { scope: 'col', class: 'n' }, 'Rank'))),
      h('tbody', {}, stages.map(([name, score, rank]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'n' }, score.toFixed(4)), h('td', { class: 'n' }, rank ?? '–')))))),
    e.terms.length > 0 && h('p', {}, h('small', {}, `Matched query words: ${e.terms.join(', ')}`)),
    e.merged.length + e.duplicates.length > 0 && h('p', {}, h('small', {}, [e.merged.length > 0 && `Merged with ${counted(e.merged.length, 'adjacent chunk')}.`,
      e.duplicates.length > 0 && `${counted(e.duplicates.length, 'duplicate')} dropped.`].filter(Boolean).join(' '))));
}

/** @param {any} e */
function how(e) {
  const d = e.dropped;
  return [
    h('p', {}, `${counted(e.candidates, 'chunk')} ranked. Dropped: ${d.duplicate} duplicates, ${d.merged} merged, ${d.over_max_per_datasource} over the datasource limit, ${d.below_top_k} below the top results, ${d.inactive} from inactive versions.`),
    e.rerank.model && h('p', {}, `${e.rerank.model} reranked ${e.rerank.candidates} candidates.`, e.rerank.error && ` ${e.rerank.error}`),
    Object.keys(e.terms).length > 0 && h('p', {}, 'Term weights: ', Object.entries(e.terms).sort((a, b) => b[1] - a[1]).map(([t, w]) => `${t} ${w.toFixed(2)}`).join(', ')),
    d.chunks.length > 0 && h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Dropped results' }, h('table', {},
      h('thead', {}, h('tr', {}, ['Dropped result', 'Reason', 'Rank', 'Score'].map((t) => h('th', { scope: 'col' }, t)))),
      h('tbody', {}, d.chunks.map((/** @type {any} */ c) => h('tr', {}, h('td', {}, h('a', { href: placeOf(c) }, c.datasource_name), c.heading && h('small', {}, ` ${c.heading}`)),
        h('td', {}, c.reason.replaceAll('_', ' ')), h('td', { class: 'n' }, c.rank), h('td', { class: 'n' }, c.score.toFixed(3))))))),
  ];
}
