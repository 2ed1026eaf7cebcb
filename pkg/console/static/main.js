// The frame around the views: the session, the navigation and the current view.
import { get } from './api.js';
import { fill, h, visible } from './dom.js';
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

/** Cancels the unfinished work of the current view when the user leaves it. */
let leaving = new AbortController();

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  for (const open of document.querySelectorAll('dialog')) open.close(); // dialogs belong to the view that the user leaves
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
  document.title = `${visible(view.title)} · Sluice`;
  fill(main, view.body);
  main.removeAttribute('aria-busy');
  arrive();
}

/** Shows links to the views that the key may use, and marks the current one. @param {string} hash */
function navigation(hash) {
  if (offered !== key()) offer();
  for (const a of nav.querySelectorAll('a')) {
    const here = hash.startsWith(a.getAttribute('href') ?? '') || (a.hash === '#/datastores' && (hash === '#/' || hash.startsWith('#/datasources/')));
    here ? a.setAttribute('aria-current', 'page') : a.removeAttribute('aria-current');
  }
}

/** The key for which the navigation was built. */
let offered = '';

function offer() {
  offered = key();
  fill(nav, h('ul', {}, places.filter(([, , leads]) => leads()).map(([href, text]) => h('li', {}, h('a', { href }, text))), h('li', {}, h('a', { href: 'docs' }, 'Docs')),
    h('li', {}, h('button', { type: 'button', class: 'quiet', onclick: leave }, 'Sign out'))));
}

/** Moves the focus to the element that the view marks with data-first, or else to the heading, as after loading a page. */
function arrive() {
  if (main.contains(document.activeElement)) return; // the view has moved the focus itself
  const begin = main.querySelector('[data-first]') ?? main.querySelector('h1') ?? main;
  /** @type {HTMLElement} */ (begin).focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

/** @param {() => Promise<{show: View}>} target */
async function load(target) {
  try {
    return await target();
  } catch {
    // The service was updated, and the files of the new release have other addresses.
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
  announce('Signed out', { unseen: true });
  location.hash === '#/' || location.hash === '' ? show() : (location.hash = '#/');
}

/**
 * Removes the key from a link such as the one that the demo prints (#/agents/…?key=…), and signs in with it if the
 * service runs on this machine. With other services, a link could sign the user in to a workspace of the link's sender.
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
  event.preventDefault(); // the hash must stay the address of a view
  main.focus();
});
show();
