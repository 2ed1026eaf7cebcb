// The agent on other people's pages: the line that embeds its chat, where it may stand, and how it looks.
import { address, call } from '../api.js';
import { fill, h } from '../dom.js';
import { announce, button, copyButton, field, form, select } from '../ui.js';
import '../embed/chat.js';

/**
 * @param {any} agent
 * @param {() => void} again shows the view anew
 */
export function website(agent, again) {
  if (agent.visibility !== 'public') {
    return h('div', { class: 'card' },
      h('p', {}, 'Visitors of a web site have no key, so only a public agent can be asked there. Anybody who knows its id may then ask it, and sees the fragments that its answers cite; ',
        'it is kept to the web sites that you list.'),
      button('Make it public', async () => {
        await call('PATCH', `agents/${agent.id}`, { visibility: 'public' });
        announce('It is public');
        again();
      }, { class: 'main' }));
  }
  const tag = `<script src="${address('embed/chat.js')}" data-agent="${agent.id}" async></script>`;
  const origins = h('textarea', { rows: '4', class: 'code', value: agent.allowedOrigins.join('\n'), placeholder: 'https://www.example.com' });
  return [
    h('section', { class: 'card' }, h('h2', {}, 'Where it may be asked'),
      agent.allowedOrigins.length === 0 && h('p', { class: 'note' }, 'No web site is listed: browsers are refused everywhere but here.'),
      form('Save', async () => {
        const list = origins.value.split('\n').map((/** @type {string} */ l) => l.trim()).filter(Boolean);
        await call('PATCH', `agents/${agent.id}`, { allowedOrigins: list });
        announce('Saved');
        again();
      }, [field('Web sites', origins, 'One a line: scheme, host and, if there is one, port. * is any web site.')])),
    h('section', { class: 'card' }, h('h2', {}, 'What the pages have'),
      h('pre', { tabindex: '0', 'aria-label': 'The line to embed' }, h('code', {}, tag)),
      h('div', { class: 'actions' }, copyButton(tag, 'Copy it')),
      h('p', {}, h('small', {}, `A page with a Content-Security-Policy needs ${new URL(address('')).origin} in script-src and connect-src, and nothing more.`))),
    preview(agent),
  ];
}

/** @param {any} agent */
function preview(agent) {
  const chat = h('sluice-chat', { agent: agent.id, host: address(''), heading: agent.name });
  const theme = select([['', 'As the visitor has it'], ['light', 'Light'], ['dark', 'Dark']], { value: '', onchange: () => {
    theme.value ? chat.setAttribute('theme', theme.value) : chat.removeAttribute('theme');
  } });
  const color = h('input', { type: 'color', value: '#0b5c7a', oninput: () => chat.style.setProperty('--sluice-accent', color.value) });
  const place = h('div', { class: 'preview' }, chat);
  const body = h('section', { class: 'card' }, h('h2', {}, 'How it looks'), h('div', { class: 'row' }, field('Colours', theme), field('Accent', color, 'A page sets it by the property --sluice-accent.')));
  fill(place, chat);
  body.append(place);
  return body;
}
