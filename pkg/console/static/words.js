// Formats numbers, sizes, dates and statuses for users.

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** @param {number} n */
export const number = (n) => whole.format(n);

/** @param {number} n */
export const compact = (n) => (n < 10_000 ? whole.format(n) : short.format(n));

/**
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** @param {number} n */
export function bytes(n) {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; unit++) n /= 1000;
  return `${unit && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`;
}

/** Capitalises the first word of an error, unless it is an address or a file name. Errors of the service begin in lower case. @param {string} text */
export const sentence = (text) => (/^\p{Ll}+[ ,]/u.test(text) ? text[0].toUpperCase() + text.slice(1) : text);

/** @type {Record<string, string>} */
const fields = {
  file: 'the file', name: 'the name', description: 'the description', metadata: 'the metadata', query: 'the query', datastoreIds: 'the list of datastores',
  'config.source_url': 'the address', 'config.sitemap': 'the sitemap', 'config.text': 'the text', 'config.refresh': 'the refresh schedule',
  'config.max_pages': 'the number of pages', 'config.max_depth': 'the link depth', expiresAt: 'the expiry date', text: 'the text',
  topK: 'the number of passages', maxPerDatasource: 'the number of passages per datasource', 'chunking.targetTokens': 'the chunk size', 'chunking.maxTokens': 'the maximum chunk size',
};

/** Describes a fault in a field of a request. The field is named as in the form. @param {{field: string, message: string}} fault */
export function complaint({ field, message }) {
  const line = /^allowedOrigins\[(\d+)\]$/.exec(field);
  if (line) return `line ${Number(line[1]) + 1} ${message}`;
  return fields[field] ? `${fields[field]} ${message}` : `${field}: ${message}`;
}

/** @param {string | null | undefined} at */
export function when(at) {
  if (!at) return 'never';
  const day = at.length === 10;
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', ...(day ? {} : { timeStyle: 'short' }) });
}

/** @type {Record<string, string>} */
export const statuses = {
  unsynched: 'Accepted',
  pending: 'Queued',
  running: 'Processing',
  synched: 'Searchable',
  error: 'Failed',
  skipped: 'Skipped',
};

/** @type {Record<string, string>} */
export const types = { file: 'File', web_page: 'Web page', web_site: 'Website', text: 'Text', qa: 'Question and answer', archive: 'ZIP archive' };

/** @type {Record<string, string>} */
export const stages = {
  fetching: 'fetching', fetched: 'fetched', extracting: 'reading', indexing: 'indexing', embedding: 'embedding',
  discovering: 'finding pages', crawling: 'crawling pages', unpacking: 'unpacking', 'reading files': 'reading files', retrying: 'waiting to retry',
};

/** Whether a datasource consists of others: the pages of a website, or the files in an archive. @param {any} s */
export const isGroup = (s) => s.type === 'web_site' || s.type === 'archive';

/** @param {string} status */
export const isSettled = (status) => status === 'synched' || status === 'error' || status === 'skipped';

/** The name of a datasource's status. A group is only partly searchable if some of its pages or files failed. @param {any} s */
export const statusOf = (s) => (s.status === 'synched' && s.crawl?.failed > 0 ? 'Partly searchable' : statuses[s.status] ?? s.status);

/** The number of a group's pages or files that are searchable or, until all are processed, done; '' if none has been found yet. @param {any} s */
export function pagesOf(s) {
  const { crawl: c, progress: p } = s;
  const noun = s.type === 'archive' ? 'files' : 'pages';
  if (c && isSettled(s.status) && c.discovered > c.skipped) return `${number(c.fetched + c.unchanged)} of ${number(c.discovered - c.skipped)} ${noun}`;
  return p?.total > 0 ? `${number(p.done)} of ${number(p.total)} ${noun}` : '';
}

/** Whether a retry of a failed datasource may succeed. An unreadable file stays unreadable, but a web page can change. @param {any} s */
export const mayHelp = (s) => s.progress?.stage !== 'unreadable' || s.type.startsWith('web_');
