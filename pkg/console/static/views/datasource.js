// The view of a datasource: its state, its chunks, and next to them the original with the current chunk marked.
import { call, get, send, withQuery } from '../api.js';
import { away, fill, h } from '../dom.js';
import { go, rename } from '../router.js';
import { may } from '../session.js';
import { announce, button, chip, confirm, dialog, field, form, head, problem, refill, tell } from '../ui.js';
import { bytes, counted, isGroup, isSettled, mayHelp, number, stages, types, when } from '../words.js';
import { original } from '../original.js';
import { refreshField, siteFields } from './add.js';
import { retry } from './sources.js';

const chunkPage = 50;

/** @type {import('../router.js').View} */
export async function show({ params, query, signal, here }) {
  const source = await get(`datasources/${encodeURIComponent(params.id)}`, signal);
  const store = await get(`datastores/${source.datastoreId}`, signal);
  const wanted = Number.parseInt(query.get('chunk') ?? '', 10) || 0;
  const group = source.groupId && await get(`datasources/${source.groupId}`, signal).catch(() => null);
  const top = head(source.name, [], [h('a', { href: `#/datastores/${store.id}` }, store.name), group && [' › ', h('a', { href: `#/datasources/${group.id}` }, group.name)]]);
  const card = h('div', { class: 'card' });
  const crawl = h('div', {});
  let offered = '';
  const shown = (/** @type {any} */ s) => {
    refill(card, h('div', {}, stateOf(s)), facts(s));
    if (isGroup(s)) refill(crawl, parts(s));
    const offer = JSON.stringify([s.name, s.status === 'error' && mayHelp(s), isSettled(s.status), s.config, s.metadata]);
    if (offer !== offered) refill(top.querySelector('.actions'), actions(s));
    offered = offer;
  };
  shown(source);
  follow(source, shown, signal);
  return { title: source.name, body: [top, card, ...(isGroup(source) ? [crawl] : await beside(source, wanted, query.has('chunk'), here.split('?')[0], signal))] };
}

/** Asks the view to read its datasource at once, because an action has changed it. */
const acted = () => window.dispatchEvent(new Event('acted'));

/** @param {any} s */
function actions(s) {
  return [
    s.type !== 'web_site' && button('Download original', () => download(s)),
    ...(may.write() ? changes(s) : []),
  ];
}

/** @param {any} s */
function changes(s) {
  return [
    s.type !== 'archive' && button('Edit', async () => (s.type === 'web_site' ? editSite(s) : edit(s))),
    takesFile(s) && replaceButton(s),
    (s.status !== 'error' || mayHelp(s)) && again(s),
    s.type === 'web_page' && h('button', { type: 'button', onclick: () => schedule(s) }, 'Schedule'),
    s.type === 'web_site' && !isSettled(s.status) && button('Stop crawl', async () => {
      await call('POST', `datasources/${s.id}/stop`, {});
      announce('The crawl is being stopped');
      acted();
    }),
    h('button', { type: 'button', onclick: () => confirm(`Delete ${s.name}?`, `${{ web_site: 'The website and all its pages', archive: 'The archive and all its files' }[/** @type {string} */ (s.type)] ?? 'It'} will be permanently deleted and no longer appear in search results.`, 'Delete', async () => {
      await call('DELETE', `datasources/${s.id}`, {});
      announce('Deleted');
      go(`#/datastores/${s.datastoreId}`);
    }) }, 'Delete'),
  ];
}

/** A button that fetches web content again, or processes other content again. @param {any} s */
function again(s) {
  const [label, said] = s.status === 'error' ? ['Retry', 'Retrying'] : s.type.startsWith('web_') ? ['Refresh', 'Refresh started'] : ['Re-index', 'Re-indexing started'];
  return button(label, async () => {
    await retry(s.id, said);
    acted();
  });
}

/** Whether the datasource's file can be replaced: that of a file on its own, or an archive. @param {any} s */
const takesFile = (s) => s.type === 'archive' || (s.type === 'file' && !s.groupId && !s.config.file_id);

/** A button that replaces the datasource's file. @param {any} s */
function replaceButton(s) {
  const input = h('input', { type: 'file', hidden: true, 'aria-label': 'New version', onchange: async () => {
    const file = input.files?.[0];
    input.value = ''; // so that the same file can be chosen again
    if (!file) return;
    const body = new FormData();
    body.append('file', file);
    try {
      await send('PUT', `datasources/${s.id}/original`, { body });
      acted();
      announce('Replaced. The previous version stays searchable until the new one is ready.');
    } catch (e) { tell(e); }
  } });
  return [h('button', { type: 'button', onclick: () => input.click() }, 'Replace file'), input];
}

/**
 * A dialog to edit a datasource's name and metadata and, if it is a text, the text.
 * @param {any} s
 */
async function edit(s) {
  const isText = s.type === 'text';
  const had = isText ? await (await send('GET', `datasources/${s.id}/original`)).text() : '';
  const name = h('input', { value: s.name, maxlength: '500', required: true });
  const text = h('textarea', { rows: '12', value: had });
  const metadata = h('textarea', { class: 'code', rows: '5', value: JSON.stringify(s.metadata, null, 2) });
  dialog(`Edit ${s.name}`, (close) => [form('Save', async () => {
    const meant = { name: name.value, metadata: object(metadata.value) };
    if (isText && text.value !== had) await call('POST', `datastores/update/${s.datastoreId}`, { id: s.id, text: text.value, ...meant });
    else await call('PATCH', `datasources/${s.id}`, meant);
    close();
    announce('Saved. The previous version stays searchable until the new one is ready.');
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  }, [field('Name', name), isText && field('Text', text), field('Metadata', metadata, 'A JSON object that searches can filter by. The keys \u201csource\u201d, \u201cauthor\u201d and \u201cdate\u201d are shown with passages; \u201ccustom_id\u201d is your own id.')], {
    buttons: [h('button', { type: 'button', onclick: close }, 'Cancel')],
  })]);
}

/** A dialog to edit a website's name and the settings of its crawls. @param {any} s */
function editSite(s) {
  const name = h('input', { value: s.name, maxlength: '500', required: true });
  const { fields, read } = siteFields(s.config);
  dialog(`Edit ${s.name}`, (close) => [form('Save', async () => {
    await call('PATCH', `datasources/${s.id}`, { name: name.value, config: read() });
    close();
    announce('Saved');
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  }, [field('Name', name), h('p', {}, h('small', {}, 'Changes apply immediately to known pages and links, and at the next refresh to other pages in a sitemap.')), fields], {
    buttons: [h('button', { type: 'button', onclick: close }, 'Cancel')],
  })]);
}

/** @param {string} text */
function object(text) {
  try {
    const value = JSON.parse(text.trim() || '{}');
    if (value && typeof value === 'object' && !Array.isArray(value)) return value;
  } catch { /* reported below */ }
  throw new Error('The metadata must be a JSON object, such as {"team": "pumps"}.');
}

/** A dialog to set the refresh schedule of web content. @param {any} s */
function schedule(s) {
  const refresh = refreshField(s.config.refresh);
  dialog('Refresh schedule', (close) => [form('Save', async () => {
    await call('PATCH', `datasources/${s.id}`, { config: { refresh: refresh.read() } });
    close();
    announce('Saved');
    acted();
  }, [refresh.field])]);
}

/** @param {any} s */
async function download(s) {
  const blob = await (await send('GET', `datasources/${s.id}/original`)).blob();
  const address = URL.createObjectURL(blob);
  h('a', { href: address, download: s.config.file_name ?? s.name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** @param {any} s */
function stateOf(s) {
  const p = s.progress ?? {};
  return [
    h('p', {}, chip(s), ' ', !isSettled(s.status) && (stages[p.stage] ?? p.stage)),
    !isSettled(s.status) && h('progress', { 'aria-label': 'Progress', ...(p.total > 0 ? { max: p.total, value: p.done } : {}) }),
    s.error && (s.status === 'error' ? problem(s.error) : h('p', { class: 'note' }, s.error)),
    s.warnings.map((/** @type {string} */ w) => h('p', { class: 'note' }, w)),
  ];
}

/** Reads the datasource at intervals and shows its state, until the view is left. @param {any} s @param {(s: any) => void} shown @param {AbortSignal} signal */
async function follow(s, shown, signal) {
  while (!signal.aborted) {
    await new Promise((done) => {
      setTimeout(done, isSettled(s.status) ? 5000 : 1000);
      window.addEventListener('acted', done, { once: true, signal });
    });
    if (signal.aborted) return;
    if (document.hidden) continue;
    try {
      const now = await get(`datasources/${s.id}`, signal);
      if (now.type !== s.type) return window.dispatchEvent(new HashChangeEvent('hashchange')); // a file that is an archive, or a page that is a sitemap
      if (JSON.stringify(now) !== JSON.stringify(s)) shown(now);
      s = now;
    } catch { /* try again the next time */ }
  }
}

/** @param {any} s */
function facts(s) {
  const c = s.config;
  const pairs = [
    ['Type', types[s.type]],
    ['File type', c.mime_type],
    ['Address', c.source_url && away(c.source_url, c.source_url)],
    ['Redirects to', c.final_url && away(c.final_url, c.final_url)],
    ['Sitemap', c.sitemap && away(c.sitemap, c.sitemap)],
    ['Size', c.file_size && bytes(c.file_size)],
    ['Pages', c.document?.pages],
    ['Language', c.document?.language],
    ['Text', s.textBytes > 0 && `${bytes(s.textBytes)} in ${counted(s.chunks, 'chunk')}`],
    ['Custom id', s.customId],
    ['Include paths', c.include?.join(', ')],
    ['Exclude paths', c.exclude?.join(', ')],
    ['Refresh', c.refresh],
    ['Added', when(s.createdAt)],
    ['Searchable since', s.lastSynch && when(s.lastSynch)],
    ['Metadata', Object.keys(s.metadata).length > 0 && h('code', {}, JSON.stringify(s.metadata))],
  ];
  return h('dl', { class: 'facts' }, pairs.filter(([, v]) => v).map(([name, v]) => h('div', {}, h('dt', {}, name), h('dd', {}, v))));
}

/** The pages of a website or the files of an archive, counted. @param {any} s */
function parts(s) {
  const c = s.crawl;
  const isArchive = s.type === 'archive';
  if (!c) return h('p', {}, 'The website has not been crawled yet.');
  const counts = [[isArchive ? 'Files' : 'Pages', c.discovered], ['Queued', c.waiting], ['New or changed', c.fetched], ['Unchanged', c.unchanged], ['Skipped', c.skipped], ['Failed', c.failed], ['Removed', c.removed]];
  return h('section', { class: 'card' },
    h('h2', {}, isArchive ? 'Files in the archive' : 'Last crawl'),
    h('dl', { class: 'facts' }, [['Started', when(c.startedAt)], ...counts.map(([name, n]) => [name, number(n)])].map(([name, v]) => h('div', {}, h('dt', {}, name), h('dd', {}, v)))),
    Object.keys(c.leftOut).length > 0 && [h('h3', {}, isArchive ? 'Skipped files' : 'Skipped addresses'), h('ul', {}, Object.entries(c.leftOut).map(([why, n]) => h('li', {}, `${why}: ${number(n)}`)))],
    h('p', {}, h('a', { href: `#/datastores/${s.datastoreId}?site=${s.id}` }, isArchive ? 'Show files' : 'Show pages')));
}

/**
 * Shows chunks and original side by side. The view's address contains the marked chunk.
 * @param {any} source
 * @param {number} wanted the ordinal of the chunk to mark first
 * @param {boolean} asked whether the address names that chunk
 * @param {string} here
 * @param {AbortSignal} signal
 */
async function beside(source, wanted, asked, here, signal) {
  const list = h('ol', { class: 'chunks', 'aria-label': 'Chunks' });
  const more = h('div', { class: 'actions' });
  const before = h('div', { class: 'actions' });
  const place = h('div', { class: 'original' });
  const mark = original(source, place, signal);
  /** @type {any} */
  let pressed = null;
  const choose = (/** @type {any} */ chunk, /** @type {any} */ element) => {
    pressed?.setAttribute('aria-pressed', 'false');
    element.setAttribute('aria-pressed', 'true');
    pressed = element;
    mark(chunk);
  };
  const item = (/** @type {any} */ chunk) => {
    const where = [chunk.page && `Page ${chunk.page}`, chunk.heading].filter(Boolean).join(' · ');
    const element = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => {
      choose(chunk, element);
      rename(`${here}?chunk=${chunk.ordinal}`);
    } }, where && h('small', {}, where, '\n'), chunk.text);
    if (chunk.ordinal === wanted) queueMicrotask(() => choose(chunk, element));
    return h('li', {}, element);
  };
  const read = (/** @type {string | number} */ cursor) => get(withQuery(`datasources/${source.id}/chunks`, { cursor, limit: chunkPage }), signal);
  const append = async (/** @type {string | number} */ cursor) => {
    const page = await read(cursor);
    list.append(...page.data.map(item));
    fill(more, page.nextCursor && button('Show more', () => append(page.nextCursor)));
    return page.data.length;
  };
  const from = Math.max(0, wanted - 3);
  const n = await append(from || '');
  if (from > 0) {
    fill(before, button('Show previous', async () => {
      const cursor = Math.max(0, from - 200);
      const page = await get(withQuery(`datasources/${source.id}/chunks`, { cursor: cursor || '', limit: from - cursor }), signal);
      list.prepend(...page.data.map(item));
      fill(before);
    }));
  }
  if (asked) setTimeout(() => pressed?.scrollIntoView({ block: 'nearest' }), 50);
  return [h('div', { class: 'beside' },
    h('section', { 'aria-labelledby': 'chunks' }, h('h2', { id: 'chunks' }, 'Chunks'), before, n === 0 ? h('p', { class: 'faint' }, source.status === 'error' ? 'No chunks: the content could not be read.' : 'No chunks yet.') : list, more),
    h('section', { 'aria-labelledby': 'original' }, h('h2', { id: 'original' }, 'Original'), place))];
}
