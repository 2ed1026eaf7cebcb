// The settings for embedding an agent in other web sites: the HTML to insert, the allowed origins, and the look.
import { address, call } from '../api.js';
import { fill, h } from '../dom.js';
import { announce, button, copyButton, field, form, select } from '../ui.js';
import '../embed/chat.js';

const defaultAccent = '#0b5c7a'; // in embed/style.js, in light mode

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
    ...chat(agent),
  ];
}

/**
 * The look of the chat and the HTML that shows it.
 * @param {any} agent
 */
function chat(agent) {
  const code = h('code', {});
  const shown = h('sluice-chat', { agent: agent.id, host: address('') });
  const heading = h('input', { value: agent.name, maxlength: '200', oninput: update });
  const theme = select([['', 'Same as the visitor\u2019s system'], ['light', 'Light'], ['dark', 'Dark']], { value: '', onchange: update });
  const accent = h('input', { type: 'color', value: defaultAccent, oninput: update });
  update();

  function update() {
    for (const [name, value] of [['heading', heading.value], ['theme', theme.value]]) value ? shown.setAttribute(name, value) : shown.removeAttribute(name);
    const colored = accent.value !== defaultAccent;
    colored ? shown.style.setProperty('--sluice-accent', accent.value) : shown.style.removeProperty('--sluice-accent');
    fill(code, element('script', { src: address('embed/chat.js'), 'data-agent': agent.id, 'data-heading': heading.value, 'data-theme': theme.value }, ' async') +
      (colored ? `\n<style>sluice-chat { --sluice-accent: ${accent.value}; }</style>` : ''));
  }

  const preview = h('div', { class: 'preview' });
  fill(preview, shown);
  return [
    h('section', { class: 'card' }, h('h2', {}, 'Appearance'),
      h('div', { class: 'row' }, field('Title', heading), field('Colours', theme), field('Accent', accent)), preview),
    h('section', { class: 'card' }, h('h2', {}, 'Embed code'),
      h('pre', { tabindex: '0', 'aria-label': 'Embed code' }, code),
      h('div', { class: 'actions' }, copyButton(() => code.textContent ?? '', 'Copy')),
      h('p', {}, h('small', {}, `If a page has a Content-Security-Policy, add ${new URL(address('')).origin} to its script-src and connect-src, and set the accent in a style sheet of the site.`))),
  ];
}

/**
 * Returns an empty element as HTML, without the attributes that are empty.
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {string} flags
 */
function element(name, attributes, flags) {
  const list = Object.entries(attributes).filter(([, value]) => value).map(([key, value]) => ` ${key}="${escaped(value)}"`);
  return `<${name}${list.join('')}${flags}></${name}>`;
}

/** @param {string} value */
const escaped = (value) => value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
