// The search settings of a datastore: synonyms, stop words, boosts, pinned documents, and their versions.
import { call, get } from '../api.js';
import { fill, h } from '../dom.js';
import { announce, button, field, form, problem, select } from '../ui.js';
import { when } from '../words.js';

/**
 * @param {any} store
 * @param {AbortSignal} signal
 */
export async function searchSettings(store, signal) {
  const path = `datastores/${store.id}/search-settings`;
  const [edited, past] = [h('div', {}), h('div', {})];
  const show = async () => {
    const current = await get(path, signal);
    fill(edited, editor(path, current, listVersions));
    await listVersions();
  };
  const listVersions = async () => {
    const { data } = await get(`${path}/versions`, signal);
    fill(past, history(path, data, show));
  };
  await show();
  return [edited, past];
}

/**
 * @param {string} path
 * @param {any} current the version in use
 * @param {() => Promise<void>} saved called after a new version was saved
 */
function editor(path, current, saved) {
  const warnings = h('div', {});
  const warn = () => fill(warnings, current.warnings.map((/** @type {any} */ w) => problem(`${w.field} ${w.message}`)));
  warn();
  const synonyms = h('textarea', { rows: '8', spellcheck: 'false', value: current.synonyms.join('\n'), placeholder: 'car, automobile\nlaptop => notebook' });
  const stop = h('textarea', { rows: '2', value: current.stopWords.join(', ') });
  const keep = h('textarea', { rows: '2', value: current.keepWords.join(', ') });
  const boosts = h('textarea', { rows: '6', spellcheck: 'false', value: current.boosts.length ? JSON.stringify(current.boosts, null, 1) : '', placeholder: '[{"type": "recency", "key": "datasource.changed_at", "halfLifeDays": 90}]' });
  const pins = h('div', { class: 'pins' }, current.pins.map(pin));
  return h('div', { class: 'card' },
    warnings,
    form('Save', async () => {
      // The form is not replaced, because the user may already have changed something else.
      current = await call('PUT', path, {
        synonyms: lines(synonyms.value), stopWords: words(stop.value), keepWords: words(keep.value), boosts: parsed(boosts.value),
        pins: [...pins.children].map((/** @type {any} */ element) => element.read()).filter(Boolean),
      }, { headers: { 'If-Match': `"${current.version}"` } });
      warn();
      announce('Saved');
      await saved();
    }, [
      field('Synonyms', synonyms, 'One rule per line. Terms separated by commas are synonyms; a => b means that a query with a also finds b.'),
      h('div', { class: 'row' },
        field('Stop words', stop, 'Words to ignore in queries.'),
        field('Words to keep', keep, 'Words to keep in queries even if they are on the language’s list of ignored words.')),
      field('Boosts', boosts, 'A JSON array of boosts.'),
      h('h3', {}, 'Pinned documents'),
      pins,
      h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => {
        const added = pin({ query: '', match: 'exact', documents: [], block: [] });
        pins.append(added);
        added.querySelector('input')?.focus();
      } }, 'Add pin')),
    ]));
}

/** One pin. Its method read returns the pin, or null if its query is empty. @param {any} p */
function pin(p) {
  const query = h('input', { value: p.query, maxlength: '200' });
  const match = select([['exact', 'is'], ['contains', 'contains']], { value: p.match });
  const first = h('textarea', { rows: '2', spellcheck: 'false', value: p.documents.map(written).join('\n') });
  const block = h('textarea', { rows: '2', spellcheck: 'false', value: p.block.map(written).join('\n') });
  const element = h('fieldset', {}, h('legend', {}, 'Pin'),
    h('div', { class: 'row' }, field('The query', match), field('Words', query)),
    h('div', { class: 'row' },
      field('Show first', first, 'Ids or custom ids, one per line; #3 after an id shows chunk 3.'),
      field('Hide', block, 'Ids or custom ids, one per line.')),
    h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => element.remove() }, 'Remove pin')));
  element.read = () => (query.value.trim() ? {
    query: query.value.trim(), match: match.value, documents: lines(first.value).map((line) => documentOf(line, true)), block: lines(block.value).map((line) => documentOf(line, false)),
  } : null);
  return element;
}

/** @param {any} d */
const written = (d) => `${d.datasourceId ?? d.customId}${d.chunk === undefined || d.chunk === null ? '' : `#${d.chunk}`}`;

const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * @param {string} line
 * @param {boolean} chunks whether the line may name a chunk
 */
function documentOf(line, chunks) {
  const found = chunks ? /^(.*)#(\d+)$/.exec(line) : null;
  const id = found ? found[1] : line;
  return { ...(idForm.test(id) ? { datasourceId: id } : { customId: id }), ...(found ? { chunk: Number(found[2]) } : {}) };
}

/** @param {string} text */
const lines = (text) => text.split('\n').map((line) => line.trim()).filter((line) => line && !line.startsWith('#'));

/** @param {string} text */
const words = (text) => text.split(/[\s,]+/).filter(Boolean);

/** @param {string} text */
function parsed(text) {
  if (!text.trim()) return [];
  try {
    return JSON.parse(text);
  } catch (e) {
    throw new Error(`“Boosts” must be JSON: ${/** @type {Error} */ (e).message}`);
  }
}

/**
 * @param {string} path
 * @param {any[]} versions the newest, which is in use, first
 * @param {() => Promise<void>} reload
 */
function history(path, versions, reload) {
  if (versions.length < 2) return null;
  const used = versions[0].version;
  return [h('h2', {}, 'Versions'), h('ul', { class: 'cards' }, versions.map((v) => h('li', {},
    `Version ${v.version}, ${when(v.createdAt)} `,
    v.version === used ? 'in use' : button('Restore', async () => {
      await call('POST', `${path}/restore`, { version: v.version }, { headers: { 'If-Match': `"${used}"` } });
      announce('Restored');
      await reload();
    }))))];
}
