// Signing in: the key is tried, and kept when the service takes it.
import { get } from '../api.js';
import { h } from '../dom.js';
import { setRights, signIn, signOut } from '../session.js';
import { announce, check, field, form } from '../ui.js';

/** @type {import('../router.js').View} */
export async function show() {
  const secret = h('input', { type: 'password', name: 'key', autocomplete: 'current-password', required: true, spellcheck: 'false' });
  const stay = h('input', { name: 'stay' });
  const body = h('div', { class: 'card narrow' },
    h('h1', { tabindex: '-1' }, 'Sign in'),
    h('p', {}, 'Files, web pages and texts go in; cited answers come out.'),
    form('Sign in', async () => {
      const key = secret.value.trim();
      if (!key) {
        secret.focus();
        throw new Error('Put in an API key.');
      }
      signIn(key, stay.checked);
      try {
        const me = await get('keys/current');
        setRights(me.scopes, me.agentId);
      } catch (e) {
        signOut();
        secret.select();
        throw e;
      }
      announce('Signed in');
      document.dispatchEvent(new Event('signedin')); // the address may name a view already
    }, [
      field('API key', secret, 'The first start of the service has printed one, and keeps it in the file api-key of its data directory.'),
      check('Stay signed in on this computer', stay, 'Otherwise the key is forgotten with this tab.'),
    ]),
    h('p', {}, h('small', {}, 'To read: ', h('a', { href: 'docs' }, 'the documentation'), ' and, for programs, ', h('a', { href: 'docs/api' }, 'the API, endpoint by endpoint'), '.')));
  return { title: 'Sign in', body };
}
