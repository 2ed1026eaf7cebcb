// The settings for embedding an agent in other web sites: the HTML to insert, the allowed origins, and the look.
import { address, call } from '../api.js';
import { fill, h } from '../dom.js';
import { announce, button, copyButton, field, form, select } from '../ui.js';
import '../embed/chat.js';

/**
 * @param {any} agent
 * @param {() => void} again shows the view again
 */
export function website(agent, again) {
  if (agent.visibility !== 'public') {
    return h('div', { class: 'card' },
      h('p', {}, 'Visitors of a website have no API key, so only a public agent can answer them. Anyone who knows the id of a public agent can ask it and see the passages that it cites. ',
        'In browsers, the chat works only on the websites that you list.'),
      button('Make public', async () => {
        await call('PATCH', `agents/${agent.id}`, { visibility: 'public' });
        announce('The agent is public');
        again();
      }, { class: 'main' }));
  }
  const tag = `<script src="${address('embed/chat.js')}" data-agent="${agent.id}" async></script>`;
  const origins = h('textarea', { rows: '4', class: 'code', value: agent.allowedOrigins.join('\n'), placeholder: 'https://www.example.com' });
  return [
    h('section', { class: 'card' }, h('h2', {}, 'Allowed websites'),
      agent.allowedOrigins.length === 0 && h('p', { class: 'note' }, 'No website is listed yet, so the chat works only on this page.'),
      form('Save', async () => {
        const list = origins.value.split('\n').map((/** @type {string} */ l) => l.trim()).filter(Boolean);
        await call('PATCH', `agents/${agent.id}`, { allowedOrigins: list });
        announce('Saved');
        again();
      }, [field('Websites', origins, 'One origin per line, such as https://www.example.com. * allows any website.')])),
    h('section', { class: 'card' }, h('h2', {}, 'Embed code'),
      h('pre', { tabindex: '0', 'aria-label': 'Embed code' }, h('code', {}, tag)),
      h('div', { class: 'actions' }, copyButton(tag, 'Copy')),
      h('p', {}, h('small', {}, `If a page has a Content-Security-Policy, add ${new URL(address('')).origin} to its script-src and connect-src.`))),
    preview(agent),
  ];
}

/** @param {any} agent */
function preview(agent) {
  const chat = h('sluice-chat', { agent: agent.id, host: address(''), heading: agent.name });
  const theme = select([['', 'Same as the visitor\u2019s system'], ['light', 'Light'], ['dark', 'Dark']], { value: '', onchange: () => {
    theme.value ? chat.setAttribute('theme', theme.value) : chat.removeAttribute('theme');
  } });
  const color = h('input', { type: 'color', value: '#0b5c7a', oninput: () => chat.style.setProperty('--sluice-accent', color.value) });
  const place = h('div', { class: 'preview' }, chat);
  const body = h('section', { class: 'card' }, h('h2', {}, 'Appearance'), h('div', { class: 'row' }, field('Colours', theme), field('Accent', color, 'Pages set it with the CSS property --sluice-accent.')));
  fill(place, chat);
  body.append(place);
  return body;
}
