// The frame around the views: who is signed in, where one can go, and what is shown.
import { get } from './api.js';
import { fill, h } from './dom.js';
import { match } from './router.js';
import { key, may, setRights, signIn, signOut } from './session.js';
import { announce, head, isAbort, problem } from './ui.js';
import { watchUploads } from './uploads.js';

/** @typedef {import('./router.js').View} View */

/** @type {[string, () => Promise<{show: View}>][]} */
const routes = [
  ['', () => import('./views/datastores.js')],
  ['datastores', () => import('./views/datastores.js')],
  ['datastores/:id', () => import('./views/datastore.js')],
  ['datastores/:id/:tab', () => import('./views/datastore.js')],
  ['datasources/:id', () => import('./views/datasource.js')],
  ['agents', () => import('./views/agents.js')],
  ['agents/:id', () => import('./views/agent.js')],
  ['agents/:id/:tab', () => import('./views/agent.js')],
  ['agents/:id/conversations/:conversation', () => import('./views/agent.js')],
  ['conversations', () => import('./views/conversations.js')],
  ['keys', () => import('./views/keys.js')],
  ['usage', () => import('./views/usage.js')],
];

/** @type {[string, string, () => boolean][]} */
const places = [
  ['#/datastores', 'Datastores', may.read], ['#/agents', 'Agents', may.read], ['#/conversations', 'Conversations', may.read], ['#/keys', 'Keys', may.write], ['#/usage', 'Usage', may.read],
  ['#/', 'Ask', () => may.onlyAsk() !== ''],
];

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const nav = /** @type {HTMLElement} */ (document.getElementById('nav'));

/** Ends what the view that is left still does. */
let leaving = new AbortController();

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  for (const open of document.querySelectorAll('dialog')) open.close(); // it was part of the view that is left
  takeKey();
  const hash = location.hash || '#/';
  const signedIn = key() !== '';
  nav.hidden = !signedIn;
  main.setAttribute('aria-busy', 'true');
  if (signedIn && !may.known()) {
    try {
      const me = await get('keys/current', signal);
      setRights(me.scopes, me.agentId);
    } catch (e) {
      if (signal.aborted || isAbort(e)) return;
      fill(main, trouble(e));
      main.removeAttribute('aria-busy');
      return;
    }
    if (signal.aborted) return;
  }
  navigation(hash);
  const asks = signedIn && may.onlyAsk() !== '';
  const found = asks ? { target: () => import('./views/ask.js'), params: {}, query: new URLSearchParams() }
    : signedIn ? match(routes, hash) : { target: () => import('./views/signin.js'), params: {}, query: match([['', null]], '#/')?.query };
  let view;
  try {
    if (!found) throw new Error('Page not found.');
    const { show: open } = await load(/** @type {any} */ (found.target));
    if (signal.aborted) return;
    view = await open({ params: found.params, query: found.query ?? new URLSearchParams(), signal, here: hash });
  } catch (e) {
    if (signal.aborted || isAbort(e)) return;
    view = { title: 'Error', body: trouble(e) };
  }
  if (signal.aborted) return;
  document.title = `${view.title} · Sluice`;
  fill(main, view.body);
  main.removeAttribute('aria-busy');
  arrive();
}

/** Shows where the key leads to, and where one is. @param {string} hash */
function navigation(hash) {
  if (offered !== key()) offer();
  for (const a of nav.querySelectorAll('a')) {
    const here = hash.startsWith(a.getAttribute('href') ?? '') || (a.hash === '#/datastores' && (hash === '#/' || hash.startsWith('#/datasources/')));
    here ? a.setAttribute('aria-current', 'page') : a.removeAttribute('aria-current');
  }
}

/** The key that the places are offered for. */
let offered = '';

function offer() {
  offered = key();
  fill(nav, h('ul', {}, places.filter(([, , leads]) => leads()).map(([href, text]) => h('li', {}, h('a', { href }, text))), h('li', {}, h('a', { href: 'docs' }, 'Docs')),
    h('li', {}, h('button', { type: 'button', class: 'quiet', onclick: leave }, 'Sign out'))));
}

/** Puts the focus where a view says that one begins; else where reading begins, as it is after a link to another page. */
function arrive() {
  if (main.contains(document.activeElement)) return; // a view has put it somewhere itself
  const begin = main.querySelector('[autofocus]') ?? main.querySelector('h1') ?? main;
  /** @type {HTMLElement} */ (begin).focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

/** @param {() => Promise<{show: View}>} target */
async function load(target) {
  try {
    return await target();
  } catch {
    // The program was replaced by another release, whose files have other addresses.
    throw new Error('This part of the console could not be loaded. Reload the page: the service may have been updated.');
  }
}

/** @param {any} e */
function trouble(e) {
  const refused = e?.status === 403;
  return [head('Something went wrong'), problem(e), h('p', {}, refused
    ? h('button', { type: 'button', class: 'main', onclick: leave }, 'Sign in with another key')
    : h('a', { href: '#/datastores' }, 'Go to datastores'))];
}

function leave() {
  signOut();
  announce('Signed out');
  location.hash === '#/' || location.hash === '' ? show() : (location.hash = '#/');
}

/**
 * Takes the key out of a link such as the demo prints (#/agents/…?key=…), and out of the address at once. Only a service on
 * this very machine takes it without asking: on others, a link could sign somebody in to a workspace of its sender.
 */
function takeKey() {
  const [path, search = ''] = location.hash.split('?', 2);
  const query = new URLSearchParams(search);
  const secret = query.get('key');
  if (!secret) return;
  query.delete('key');
  history.replaceState(null, '', path + (query.size ? `?${query}` : ''));
  if (key() === '' && ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname)) signIn(secret, false);
}

nav.after(watchUploads());
window.addEventListener('hashchange', show);
document.addEventListener('signedin', show);
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault(); // the hash is an address of a view
  main.focus();
});
show();
