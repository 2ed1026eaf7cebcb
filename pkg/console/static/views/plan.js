// What a crawl of a site would fetch.
import { h } from '../dom.js';
import { counted, number } from '../words.js';

/** @type {Record<string, string>} */
const decisions = { page: 'Taken', listed: 'Taken', duplicate: 'The same as another', skipped: 'Left out', error: 'Failed', left_out: 'Left out' };

/** @param {any} plan as POST /datasources/plan answers */
export function planView(plan) {
  const takes = (plan.decisions.page ?? 0) + (plan.decisions.listed ?? 0);
  const beyond = plan.reasons['the limit of pages is reached'] ?? 0;
  return h('section', { class: 'card', 'aria-label': 'Plan of the crawl' },
    h('p', { role: 'status' }, `${counted(takes, 'page')} of ${plan.root} would be taken`,
      plan.follow ? ', found by their links.' : `, listed by ${counted(plan.sitemaps, 'sitemap file')}.`,
      plan.cut && ` This is the beginning${beyond ? `: at least ${number(beyond)} more are known` : '; the crawl goes on from there'}.`,
      ` The crawler waits ${plan.delay} s between two requests to the site.`),
    plan.problems.map((/** @type {string} */ p) => h('p', { class: 'note' }, p)),
    h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Addresses' }, h('table', {},
      h('thead', {}, h('tr', {}, ['Address', 'Plan'].map((t) => h('th', { scope: 'col' }, t)))),
      h('tbody', {}, plan.addresses.map((/** @type {any} */ a) => h('tr', {},
        h('td', { class: 'long' }, a.url, a.title && h('small', {}, ` ${a.title}`)),
        h('td', {}, decisions[a.decision] ?? a.decision, a.reason && h('small', {}, ` ${a.reason}`))))))));
}
