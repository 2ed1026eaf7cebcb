// The sign-in view. The key is stored if the service accepts it.
import { get } from '../api.js';
import { h } from '../dom.js';
import { setRights, signIn, signOut } from '../session.js';
import { announce, check, field, form } from '../ui.js';

/** @type {import('../router.js').View} */
export async function show() {
  const secret = h('input', { type: 'password', name: 'key', autocomplete: 'current-password', required: true, 'data-first': true, spellcheck: 'false' });
  const stay = h('input', { name: 'stay' });
  const body = h('div', { class: 'card narrow' },
    h('h1', { tabindex: '-1' }, 'Sign in'),
    h('p', {}, 'Add files, web pages and text, ask questions, and get answers with citations.'),
    form('Sign in', async () => {
      signIn(secret.value.trim(), stay.checked);
      try {
        const me = await get('keys/current');
        setRights(me.scopes, me.agentId);
      } catch (e) {
        signOut();
        secret.select();
        throw e;
      }
      announce('Signed in', { unseen: true });
      document.dispatchEvent(new Event('signedin')); // the address may already name a view, so show it
    }, [
      field('API key', secret, 'The service printed a key when it first started. It is also in the file “api\u2011key” in its data directory.'),
      check('Stay signed in on this computer', stay, 'Otherwise you are signed out when this tab closes.'),
    ]),
    h('p', {}, h('small', {}, 'New here? Read the ', h('a', { href: 'docs' }, 'documentation'), ' or, for programs, the ', h('a', { href: 'docs/api' }, 'API reference'), '.')));
  return { title: 'Sign in', body };
}
