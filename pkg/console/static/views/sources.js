// The live list of a datastore's datasources. More pages are read as the user scrolls, so that the list can have ten
// thousand rows. Rows change in place when the service reports changes, which are shown in batches.
import { call, get, stream, withQuery } from '../api.js';
import { fill, h } from '../dom.js';
import { rename } from '../router.js';
import { may } from '../session.js';
import { announce, button, chip, field, isAbort, select, tell } from '../ui.js';
import { compact, isGroup, isSettled, mayHelp, pagesOf, sentence, stages, statuses, types } from '../words.js';

const pageSize = 100;
const untilRefresh = 10_000; // ms between comparisons with the service, because events can get lost
const mostCompared = 1000; // maximum number of rows compared after the event stream broke; rows further down are updated when the list is opened again
const mostLookedUp = 20; // maximum number of rows looked up at a time

/**
 * @param {string} storeId
 * @param {import('../router.js').Page} page
 * @param {() => void} changed called when counts may have changed
 */
export async function sources(storeId, page, changed) {
  const site = page.query.get('site');
  const list = new List(storeId, page, changed, site && await get(`datasources/${encodeURIComponent(site)}`, page.signal).catch(() => null));
  await list.restart();
  list.watch();
  return list.body;
}

/** The fields of a datasource that a row shows. */
const told = ['name', 'status', 'error', 'warnings', 'chunks', 'progress', 'crawl'];

class List {
  /** @param {string} storeId @param {import('../router.js').Page} page @param {() => void} changed @param {any} group the site or archive whose parts are listed, or null */
  constructor(storeId, page, changed, group) {
    this.storeId = storeId;
    this.group = group;
    this.signal = page.signal;
    this.here = page.here.split('?')[0];
    this.changed = changed;
    const q = page.query;
    this.filter = { search: q.get('search') ?? '', status: q.get('status') ?? '', type: q.get('type') ?? '', groupId: q.get('site') ?? '' };
    /** @type {Map<string, {item: any, row: any}>} */
    this.rows = new Map();
    this.cursor = '';
    this.reading = false;
    this.round = 0;
    /** @type {Map<string, any>} events that are not shown yet */
    this.news = new Map();
    this.scheduled = false;
    /** @type {Map<string, any>} events that arrived while the list was being read; they are newer than the list */
    this.heard = new Map();
    this.behind = false;
    this.wholly = false;
    this.catching = false;
    // Rows are grouped into blocks, so that the browser can skip invisible blocks. Otherwise it would have to check ten
    // thousand rows for every frame.
    this.list = h('div', { class: 'sources', role: 'list', 'aria-label': 'Datasources' });
    this.foot = h('div', { class: 'more' });
    this.body = [this.controls(), this.list, this.foot];
    // Read the next page before the end of this one becomes visible.
    this.observer = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && this.next().catch(tellUnlessLeft), { rootMargin: '1500px' });
    this.signal.addEventListener('abort', () => this.observer.disconnect());
  }

  controls() {
    const f = this.filter;
    /** @type {any} */
    let timer;
    const apply = () => {
      clearTimeout(timer);
      rename(withQuery(this.here, { search: f.search, status: f.status, type: f.type, site: f.groupId }));
      this.restart().catch(tellUnlessLeft);
    };
    const search = h('input', { type: 'search', value: f.search, maxlength: '200', oninput: () => {
      f.search = search.value;
      clearTimeout(timer);
      timer = setTimeout(apply, 250);
    } });
    const status = select([['', 'All'], ...Object.entries(statuses)], { value: f.status, onchange: () => { f.status = status.value; apply(); } });
    const type = select([['', 'All'], ...Object.entries(types)], { value: f.type, onchange: () => { f.type = type.value; apply(); } });
    return [
      h('form', { class: 'filters', role: 'search', 'aria-label': 'Datasources', onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); apply(); } },
        field('Search by name', search), field('Status', status), field('Type', type)),
      f.groupId && h('p', { class: 'note' }, 'Showing only ', this.group ? [this.group.type === 'archive' ? 'the files in ' : 'the pages of ', h('a', { href: `#/datasources/${this.group.id}` }, this.group.name)] : 'one website or archive', '. ', h('a', { href: this.here }, 'Show all')),
    ];
  }

  /** Reads the list from its beginning. */
  async restart() {
    this.round++;
    this.reading = false;
    this.rows.clear();
    this.cursor = '';
    fill(this.list);
    fill(this.foot);
    await this.next(true);
    if (this.filter.search || this.filter.status || this.filter.type) announce(this.rows.size === 0 ? 'No results' : `${this.rows.size}${this.cursor ? ' or more' : ''} items`, { unseen: true });
  }

  /** Reads the next page. @param {boolean} [first] */
  async next(first = false) {
    if (this.reading || (!first && !this.cursor)) return;
    this.reading = true;
    this.observer.disconnect();
    const round = this.round;
    try {
      const read = await get(withQuery('datasources', { datastoreId: this.storeId, ...this.filter, limit: pageSize, cursor: this.cursor }), this.signal);
      if (round !== this.round) return; // the filter was changed meanwhile
      this.cursor = read.nextCursor ?? '';
      const rows = [];
      for (const item of read.data) {
        if (this.rows.has(item.id)) continue; // an event has already added it
        const row = rowOf(item, this);
        this.rows.set(item.id, { item, row });
        rows.push(row);
      }
      if (rows.length > 0) this.list.append(h('div', { class: 'block', role: 'none' }, rows));
      this.showFoot();
    } finally {
      if (round === this.round) this.reading = false;
    }
  }

  showFoot() {
    if (this.cursor) {
      fill(this.foot, h('button', { type: 'button', onclick: () => this.next().catch(tellUnlessLeft) }, 'Show more'));
      this.observer.observe(this.foot);
      return;
    }
    const filtered = Object.values(this.filter).some(Boolean);
    fill(this.foot, this.rows.size === 0 && (filtered ? 'No matches.' : (may.write() ? 'No content yet. Add files, text, web pages or a website above.' : 'No content yet.')),
      this.filter.status === 'error' && may.write() && [...this.rows.values()].some(({ item }) => mayHelp(item)) && button('Retry all', () => this.retryAll()));
  }

  async retryAll() {
    const failed = [...this.rows.values()].filter(({ item }) => item.status === 'error' && mayHelp(item)).map(({ item }) => item.id);
    const workers = Array.from({ length: 4 }, async () => {
      for (let id = failed.pop(); id && !this.signal.aborted; id = failed.pop()) await retry(id);
    });
    await Promise.all(workers);
    announce('Retrying');
  }

  /** Shows changes as they arrive, and reconnects when the connection breaks. */
  async watch() {
    let pause = 1000;
    const compare = () => document.hidden || this.mend().catch(() => {}); // the next comparison may succeed
    const timer = setInterval(compare, untilRefresh);
    this.signal.addEventListener('abort', () => clearInterval(timer));
    document.addEventListener('visibilitychange', compare, { signal: this.signal });
    for (let broken = false; !this.signal.aborted; broken = true) {
      // Read the list to get the changes from before the stream was opened.
      const opened = () => {
        pause = 1000;
        this.catchUp(broken).catch(() => {});
      };
      try {
        for await (const event of stream('GET', `datastores/${this.storeId}/events`, { signal: this.signal, opened })) {
          if (event.name === 'datasource') this.take(JSON.parse(event.data));
          if (event.name === 'deleted') this.take({ ...JSON.parse(event.data), deleted: true });
        }
      } catch (e) {
        if (this.signal.aborted || isAbort(e)) return;
      }
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, 30_000);
    }
  }

  /** Applies changes whose events were lost. It looks up rows that are not settled, and compares the newest rows. */
  async mend() {
    const waiting = [...this.rows.values()].filter(({ item }) => !isSettled(item.status));
    await this.lookUp(waiting.map(({ item }) => item.id));
    if (waiting.length > 0) this.changed();
    await this.catchUp();
  }

  /** Reads datasources one by one. @param {string[]} ids */
  async lookUp(ids) {
    for (const id of ids.slice(0, mostLookedUp)) {
      if (this.signal.aborted) return;
      this.take(await get(`datasources/${id}`, this.signal).catch((e) => {
        if (e.status !== 404) throw e;
        return { id, deleted: true };
      }));
    }
  }

  /** @param {any} event */
  take(event) {
    this.news.set(event.id, event);
    this.heard.set(event.id, event);
    if (this.scheduled) return;
    this.scheduled = true;
    // Show events in batches, so that indexing a thousand files does not keep the page busy.
    setTimeout(() => requestAnimationFrame(() => this.showNews()), 150);
  }

  showNews() {
    this.scheduled = false;
    if (this.signal.aborted) return;
    const fresh = [];
    /** @type {string[]} */
    const finished = [];
    for (const [id, event] of this.news) {
      const known = this.rows.get(id);
      if (event.deleted) {
        known?.row.remove();
        this.rows.delete(id);
      } else if (known) {
        Object.assign(known.item, event);
        update(known.row, known.item, this);
        // Events contain neither the results of a crawl nor warnings.
        if (isGroup(event) && isSettled(event.status) && !event.warnings) finished.push(id);
      } else if (this.matches(event)) {
        fresh.push(event);
      }
    }
    this.news.clear();
    this.lookUp(finished).catch(() => {}); // the next comparison may succeed
    // If all rows have been read, datasources that are not among them are new. Otherwise they may be further down, so
    // read the list.
    if (!this.cursor) this.prepend(fresh.reverse());
    else if (fresh.length > 0) this.catchUp().catch(tellUnlessLeft);
    this.changed();
  }

  /** Adds rows at the top. @param {any[]} items the newest first */
  prepend(items) {
    for (const item of items.toReversed()) {
      if (this.rows.has(item.id)) continue;
      const row = rowOf(item, this);
      this.rows.set(item.id, { item, row });
      this.topBlock().prepend(row);
    }
    if (items.length > 0 && !this.cursor) this.showFoot();
  }

  /**
   * Compares the newest rows, or all rows shown, with the service, at most once per second.
   * @param {boolean} [whole]
   */
  async catchUp(whole = false) {
    this.behind = true;
    this.wholly ||= whole;
    if (this.catching) return;
    this.catching = true;
    try {
      while (this.behind && !this.signal.aborted) {
        const all = this.wholly;
        this.behind = false;
        this.wholly = false;
        await this.compare(all);
        await new Promise((done) => setTimeout(done, 1000));
      }
    } finally {
      this.catching = false;
    }
  }

  /** @param {boolean} whole */
  async compare(whole) {
    const { round } = this;
    const items = [];
    let cursor = '';
    let met = false;
    this.heard.clear();
    do {
      const read = await get(withQuery('datasources', { datastoreId: this.storeId, ...this.filter, limit: pageSize, cursor }), this.signal);
      if (round !== this.round) return; // the filter was changed, and with it all rows
      items.push(...read.data);
      met ||= read.data.some((/** @type {any} */ item) => this.rows.has(item.id));
      cursor = read.nextCursor ?? '';
    } while (cursor && this.rows.size > 0 && items.length < mostCompared && (!met || (whole && items.length < this.rows.size)));
    if (!met && cursor) return this.restart(); // so many rows are new that none of those shown was found
    const gone = this.missing(items, !cursor);
    if (this.merge(items, !cursor)) this.changed();
    await this.lookUp(gone);
  }

  /**
   * Merges the given items into the rows at the top of the list. New rows are inserted in order. Returns whether
   * anything changed.
   * @param {any[]} items the newest first
   * @param {boolean} ended whether the items reach the end of the list
   */
  merge(items, ended) {
    let isNew = false;
    /** @type {any} */
    let below; // the row of the previous item, which is older
    for (const item of items.toReversed()) {
      let row = this.rows.get(item.id)?.row;
      if (row) {
        const { item: known } = /** @type {any} */ (this.rows.get(item.id));
        if (!this.heard.has(item.id) && told.some((f) => JSON.stringify(known[f]) !== JSON.stringify(item[f]))) {
          Object.assign(known, item);
          update(row, known, this);
          isNew = true;
        }
      } else if (this.heard.get(item.id)?.deleted || (!below && !(ended && !this.cursor))) {
        continue; // it was deleted again, or is older than all rows shown
      } else {
        const known = { ...item, ...this.heard.get(item.id) };
        row = rowOf(known, this);
        this.rows.set(item.id, { item: known, row });
        if (!below && this.list.lastElementChild) this.list.lastElementChild.append(row);
        else if (!below || below === this.list.firstElementChild?.firstElementChild) this.topBlock().prepend(row);
        else below.before(row);
        isNew = true;
      }
      below = row;
    }
    if (isNew && !this.cursor) this.showFoot();
    return isNew;
  }

  /**
   * The ids of rows that should be among the items but are not.
   * @param {any[]} items
   * @param {boolean} ended
   */
  missing(items, ended) {
    const ids = new Set(items.map((item) => item.id));
    const last = items.map((item) => this.rows.get(item.id)?.row).findLast(Boolean);
    return [...this.rows].filter(([id, { item, row }]) => !ids.has(id) && !this.heard.has(id) && this.matches(item)
      && (ended || (last && last.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_PRECEDING))).map(([id]) => id);
  }

  /** The block for new rows. */
  topBlock() {
    const first = this.list.firstElementChild;
    if (first && first.childElementCount < pageSize) return first;
    const block = h('div', { class: 'block', role: 'none' });
    this.list.prepend(block);
    return block;
  }

  /** Whether a datasource matches the list's filter. @param {any} item */
  matches(item) {
    const f = this.filter;
    return (!f.status || f.status === item.status) && (!f.type || f.type === item.type)
      && (!f.groupId || f.groupId === item.groupId) && (!f.search || item.name.toLowerCase().includes(f.search.toLowerCase()));
  }
}

/** @param {any} e */
function tellUnlessLeft(e) {
  if (!isAbort(e)) tell(e);
}

/** @param {any} item @param {List} list */
function rowOf(item, list) {
  return update(h('div', { class: 'source', role: 'listitem' }), item, list);
}

/** @param {any} row @param {any} item @param {List} list */
function update(row, item, list) {
  const focused = row.contains(document.activeElement) ? document.activeElement?.tagName : '';
  const p = item.progress ?? {};
  const stage = stages[p.stage] ?? p.stage;
  const moving = !isSettled(item.status);
  fill(row,
    h('div', { class: 'what' }, h('a', { href: `#/datasources/${item.id}`, title: item.name }, item.name), h('small', {}, types[item.type])),
    h('small', { class: 'size' }, isGroup(item) && pagesOf(item) ? pagesOf(item) : item.chunks > 0 ? `${compact(item.chunks)} ${item.chunks === 1 ? 'chunk' : 'chunks'}` : ''),
    h('div', {}, chip(item),
      moving && h('progress', { 'aria-label': `Progress of ${item.name}`, ...(p.total > 0 ? { max: p.total, value: p.done } : {}) }),
      moving && stage && h('small', {}, stage)),
    isGroup(item) && isSettled(item.status) && (item.warnings ?? []).map((/** @type {string} */ w) => h('p', { class: 'why soft' }, sentence(w))),
    item.error && h('p', { class: item.status === 'error' ? 'why' : 'why soft' }, sentence(item.error), ' ',
      item.status === 'error' && mayHelp(item) && may.write() && button('Retry', () => retry(item.id), { 'aria-label': `Retry: ${item.name}` })));
  // The element that had the focus was replaced with a new one.
  if (focused) row.querySelector(focused.toLowerCase())?.focus();
  return row;
}

/** Fetches web content again, or processes other content again. @param {string} id @param {string} [said] */
export async function retry(id, said = 'Retrying') {
  await call('POST', `datasources/${encodeURIComponent(id)}/resync`, { mode: 'refresh' });
  announce(said);
}
