// The panel that adds content to a datastore: files and folders, pasted text, web pages and websites.
import { Problem, all, call, requestKey } from '../api.js';
import { fill, h } from '../dom.js';
import { chosen, dropped } from '../files.js';
import { announce, dialog, field, form, problem } from '../ui.js';
import { queue, uploadPanel } from '../uploads.js';
import { counted } from '../words.js';
import { planView } from './plan.js';

/**
 * @param {any} store
 * @param {AbortSignal} signal
 */
export function addPanel(store, signal) {
  const take = (/** @type {import('../files.js').Found[]} */ found) => {
    queue.add(found, store.id);
    announce(found.length === 0 ? 'No files found' : `Uploading ${counted(found.length, 'file')}`);
  };
  const files = chooser('Choose files', take, {});
  const folder = chooser('Choose folder', take, { webkitdirectory: true });
  let depth = 0; // number of nested elements that the drag has entered and not left
  const over = (/** @type {number} */ by) => {
    depth = Math.max(0, depth + by);
    drop.classList.toggle('over', depth > 0);
  };
  const drop = h('div', {
    class: 'drop',
    ondragenter: (/** @type {DragEvent} */ e) => { e.preventDefault(); over(1); },
    ondragover: (/** @type {DragEvent} */ e) => e.preventDefault(),
    ondragleave: () => over(-1),
    ondrop: async (/** @type {DragEvent} */ e) => {
      e.preventDefault();
      over(-depth);
      if (!e.dataTransfer) return;
      const text = e.dataTransfer.getData('text/plain');
      const found = await dropped(e.dataTransfer);
      if (found.length > 0) take(found);
      else if (text) addText(store, text);
    },
  }, h('p', {}, 'Drop files or folders here, or'), h('div', { class: 'actions' }, files, folder,
    h('button', { type: 'button', onclick: () => addText(store) }, 'Paste text'),
    h('button', { type: 'button', onclick: () => addPage(store) }, 'Add web page'),
    h('button', { type: 'button', onclick: () => addSite(store, signal) }, 'Add website')));
  // Keep the browser from opening a file that is dropped outside the panel.
  for (const kind of ['dragover', 'drop']) window.addEventListener(kind, (e) => e.preventDefault(), { signal });
  return h('section', { class: 'add', 'aria-label': 'Add content' }, drop, uploadPanel(store.id, signal));
}

/** @param {string} label @param {(found: import('../files.js').Found[]) => void} take @param {any} props */
function chooser(label, take, props) {
  const input = h('input', { type: 'file', multiple: true, hidden: true, 'aria-label': label, ...props, onchange: () => {
    take(chosen(input.files));
    input.value = ''; // so that the same files can be chosen again
  } });
  return [h('button', { type: 'button', onclick: () => input.click() }, label), input];
}

/**
 * A dialog that adds one datasource. All attempts use the same Idempotency-Key, so that a second click adds nothing.
 * @param {any} store
 * @param {string} title
 * @param {any[]} fields
 * @param {() => {type: string, name?: string, config: any}} read
 */
function adder(store, title, fields, read) {
  let sent = '';
  let key = '';
  const known = h('div', {});
  dialog(title, (close) => [form('Add', async () => {
    const body = { datastoreId: store.id, ...read() };
    fill(known);
    if (JSON.stringify(body) !== sent) [sent, key] = [JSON.stringify(body), requestKey()];
    const there = await added(body, key);
    if (there) {
      fill(known, alreadyThere(there));
      return known.scrollIntoView({ block: 'nearest' });
    }
    close();
    announce('Added');
  }, [...fields, known], { buttons: [h('button', { type: 'button', onclick: close }, 'Cancel')] })]);
}

/** @param {string} id of the website that the datastore already has */
const alreadyThere = (id) => problem('This website is already in the datastore.', h('a', { href: `#/datasources/${encodeURIComponent(id)}` }, 'Open'));

/**
 * Adds a datasource. If the datastore already contains the site, returns the id of the existing one.
 * @param {any} body
 * @param {string} key
 * @returns {Promise<string | undefined>}
 */
async function added(body, key) {
  try {
    await call('POST', 'datasources', body, { headers: { 'Idempotency-Key': key } });
  } catch (e) {
    const there = e instanceof Problem && e.status === 409 && /already has this site as datasource "([^"]+)"/.exec(e.message)?.[1];
    if (!there) throw e;
    return there;
  }
}

/** @param {any} store @param {string} [initial] */
function addText(store, initial = '') {
  const name = h('input', { maxlength: '500' });
  const text = h('textarea', { rows: '12', value: initial, required: true });
  adder(store, 'Paste text', [field('Text', text), field('Name', name, 'If empty, the beginning of the text is used.')],
    () => ({ type: 'text', name: name.value || undefined, config: { text: text.value } }));
}

/** @param {any} store */
function addPage(store) {
  const address = addressInput(true);
  const refresh = refreshField();
  adder(store, 'Add web page', [field('Address', address), refresh.field],
    () => ({ type: 'web_page', config: { source_url: addressIn(address), ...(refresh.read() ? { refresh: refresh.read() } : {}) } }));
}

/** @param {boolean} [required] */
const addressInput = (required = false) => h('input', { type: 'url', inputmode: 'url', placeholder: 'https://', required, spellcheck: 'false' });

/** The value of an address field. As in a browser, a missing scheme means https. @param {any} control */
function addressIn(control) {
  const typed = control.value.trim();
  if (typed && !/^[a-z][a-z\d+.-]*:\/\//i.test(typed)) control.value = `https://${typed}`;
  return control.value.trim();
}

/** A field for the refresh schedule of web content. @param {string} [value] */
export function refreshField(value = '') {
  const control = h('input', { value, placeholder: '24h', maxlength: '100' });
  return {
    field: field('Refresh schedule', control, 'An interval of at least 10m, such as 24h or 7d, or a cron expression in UTC. Leave empty for no refresh. An unchanged page costs one small request.'),
    /** @returns {string} empty: never */
    read: () => control.value.trim(),
  };
}

/** Fields for the settings of a website that can be changed. @param {any} config */
export function siteFields(config) {
  const include = h('textarea', { rows: '2', value: (config.include ?? []).join('\n') });
  const exclude = h('textarea', { rows: '2', value: (config.exclude ?? []).join('\n') });
  const pages = h('input', { type: 'number', min: '1', value: config.max_pages ?? '' });
  const depth = h('input', { type: 'number', min: '1', max: '100', value: config.max_depth ?? '' });
  const refresh = refreshField(config.refresh);
  const lines = (/** @type {any} */ control) => control.value.split('\n').map((/** @type {string} */ l) => l.trim()).filter(Boolean);
  return {
    fields: [
      field('Include paths', include, 'One pattern per line, such as /docs/**'),
      field('Exclude paths', exclude),
      h('div', { class: 'row' }, field('Maximum pages', pages, 'Default: the service\u2019s limit.'), field('Maximum link depth', depth, 'Default: 10.')),
      refresh.field,
    ],
    read: () => ({ include: lines(include), exclude: lines(exclude), max_pages: Number(pages.value), max_depth: Number(depth.value), refresh: refresh.read() }),
  };
}

/** What makes two websites in a datastore the same. @param {any} config */
const scope = (config) => JSON.stringify([config.source_url, config.sitemap, config.include, config.exclude].map((v) => (Array.isArray(v) ? v : v ? [v.replace(/\/$/, '')] : [])));

/** @param {any} store @param {AbortSignal} signal */
function addSite(store, signal) {
  const address = addressInput();
  const sitemap = addressInput();
  const limits = siteFields({});
  /** @returns {Record<string, any>} */
  const config = () => {
    if (!address.value.trim() && !sitemap.value.trim()) {
      address.focus();
      throw new Error('Enter the website\u2019s address or, under More, its sitemap.');
    }
    return Object.fromEntries(Object.entries({
      source_url: addressIn(address), sitemap: addressIn(sitemap), ...limits.read(),
    }).filter(([, v]) => (Array.isArray(v) ? v.length > 0 : Boolean(v))));
  };
  const preview = h('div', { class: 'below' });
  const look = h('button', { type: 'button', onclick: async () => {
    look.disabled = true;
    try {
      const { refresh, ...wanted } = config();
      fill(preview, h('p', { class: 'note', role: 'status' }, 'Checking the website. This can take up to 20 seconds …'));
      const plan = await call('POST', 'datasources/plan', { config: wanted });
      const known = (await all(`datasources?datastoreId=${encodeURIComponent(store.id)}&type=web_site`, signal)).find((s) => scope(s.config) === scope(wanted));
      fill(preview, known && alreadyThere(known.id), planView(plan, Boolean(known)));
    } catch (e) {
      fill(preview, problem(e));
    }
    look.disabled = false;
  } }, 'Preview the crawl');
  adder(store, 'Add website', [
    field('Address', address, 'The start of the website. Pages below this address are added.'),
    h('details', {}, h('summary', {}, 'More'),
      field('Sitemap', sitemap, 'If empty, Sluice looks for one. Without a sitemap, the crawl follows links.'),
      limits.fields),
    look, preview,
  ], () => ({ type: 'web_site', config: config() }));
}
