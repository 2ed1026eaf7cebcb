// The preview of a site's crawl.
import { h } from '../dom.js';
import { counted, number } from '../words.js';

/** @type {Record<string, string>} */
const decisions = { page: 'Included', listed: 'Included', duplicate: 'Duplicate', skipped: 'Skipped', error: 'Failed', left_out: 'Skipped' };

/** @param {any} plan the answer of POST /datasources/plan @param {boolean} known whether the datastore already has the website */
export function planView(plan, known) {
  const takes = (plan.decisions.page ?? 0) + (plan.decisions.listed ?? 0);
  const beyond = plan.reasons['the page limit is reached'] ?? 0;
  return h('section', { class: 'card', 'aria-label': 'Crawl preview' },
    h('p', { role: 'status' }, `${counted(takes, 'page')} of ${plan.root} would be ${known ? 'refreshed' : 'added'}`,
      plan.follow ? ', found by following links.' : `, listed in ${counted(plan.sitemaps, 'sitemap file')}.`,
      plan.cut && ` This is a partial preview${beyond ? `: at least ${number(beyond)} more pages are known` : '; the crawl will find more'}.`,
      ` The crawler waits ${plan.delay} s between requests.`),
    plan.problems.map((/** @type {string} */ p) => h('p', { class: 'note' }, p)),
    h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Addresses' }, h('table', {},
      h('thead', {}, h('tr', {}, ['Address', 'Decision'].map((t) => h('th', { scope: 'col' }, t)))),
      h('tbody', {}, plan.addresses.map((/** @type {any} */ a) => h('tr', {},
        h('td', { class: 'long' }, a.url, a.title && h('small', {}, ` ${a.title}`)),
        h('td', {}, decisions[a.decision] ?? a.decision, a.reason && h('small', {}, ` ${a.reason}`))))))));
}
