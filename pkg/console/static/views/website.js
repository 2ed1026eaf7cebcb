// The settings for embedding an agent in other websites: the HTML to insert, the allowed origins, and the look.
import { address, call, get } from '../api.js';
import { fill, h } from '../dom.js';
import { announce, button, confirm, copyButton, field, form, select } from '../ui.js';
import '../embed/chat.js';

const defaultAccent = '#0b5c7a'; // in embed/style.js, in light mode

/**
 * @param {any} agent
 * @param {() => void} again shows the view again
 */
export async function website(agent, again) {
  const { usage } = await get('usage');
  const unlimited = usage.find((/** @type {any} */ u) => u.metric === 'queries')?.limit === null && h('p', { class: 'note' }, 'The workspace has no limit on questions, so visitors can ask any number. ', h('a', { href: '#/usage' }, 'Set a limit'), ' first. The limit counts questions from all keys and visitors.');
  if (agent.visibility !== 'public') {
    return h('div', { class: 'card' },
      h('p', {}, 'Visitors of a website have no API key, so only a public agent can answer them. Anyone who knows the id of a public agent can ask it and see the passages that it cites. ',
        'In browsers, the chat works only on the websites that you list.'),
      unlimited,
      button('Make public', async () => {
        await call('PATCH', `agents/${agent.id}`, { visibility: 'public' });
        announce('The agent is public');
        again();
      }, { class: 'main' }));
  }
  const origins = h('textarea', { rows: '4', class: 'code', value: agent.allowedOrigins.join('\n'), placeholder: 'https://www.example.com' });
  const note = h('div', {});
  const shown = (/** @type {string[]} */ list) => {
    origins.value = list.join('\n');
    fill(note, list.length === 0 && h('p', { class: 'note' }, 'No website is listed yet, so the chat works only on this page.'),
      list.includes('*') && h('p', { class: 'note' }, 'Every website can show the chat.'));
  };
  shown(agent.allowedOrigins);
  return [
    h('section', { class: 'card' }, h('h2', {}, 'Allowed websites'), unlimited, note,
      form('Save', async () => {
        const list = origins.value.split('\n').map((/** @type {string} */ l) => l.trim()).filter(Boolean);
        shown((await call('PATCH', `agents/${agent.id}`, { allowedOrigins: list })).allowedOrigins);
        announce('Saved');
      }, [field('Websites', origins, 'One origin per line, such as https://www.example.com. * allows any website.')], {
        buttons: [h('button', { type: 'button', onclick: () => confirm('Make the agent private?', 'The chat stops working on all websites.', 'Make private', async () => {
          await call('PATCH', `agents/${agent.id}`, { visibility: 'private' });
          announce('The agent is private');
          again();
        }) }, 'Make private')],
      })),
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
  // The choices are kept in the tab, so that they survive a reload.
  const kept = `sluice.look.${agent.id}`;
  /** @type {Record<string, string>} */
  const last = JSON.parse(sessionStorage.getItem(kept) ?? '{}');
  const heading = h('input', { value: last.heading ?? agent.name, maxlength: '200', oninput: update });
  const greeting = h('textarea', { rows: '2', value: last.greeting ?? '', oninput: update });
  const theme = select([['', 'Same as the visitor\u2019s system'], ['light', 'Light'], ['dark', 'Dark']], { value: last.theme ?? '', onchange: update });
  const accent = h('input', { type: 'color', value: last.accent || defaultAccent, oninput: update });
  update();

  function update() {
    const look = { heading: heading.value, greeting: greeting.value, theme: theme.value, accent: accent.value === defaultAccent ? '' : accent.value };
    sessionStorage.setItem(kept, JSON.stringify(look));
    for (const [name, value] of Object.entries(look)) value ? shown.setAttribute(name, value) : shown.removeAttribute(name);
    const attributes = Object.fromEntries(Object.entries(look).map(([name, value]) => [`data-${name}`, value]));
    fill(code, element('script', { src: address('embed/chat.js'), 'data-agent': agent.id, ...attributes }, ' async'));
  }

  const preview = h('div', { class: 'preview' });
  fill(preview, shown);
  return [
    h('section', { class: 'card' }, h('h2', {}, 'Appearance'),
      h('p', {}, h('small', {}, 'These choices become part of the embed code. The service does not store them.')),
      h('div', { class: 'row' }, field('Title', heading), field('Colours', theme), field('Accent', accent)),
      field('Greeting', greeting, 'The chat\u2019s first message, in Markdown. Links need a full address.'), preview),
    h('section', { class: 'card' }, h('h2', {}, 'Embed code'),
      h('pre', { tabindex: '0', 'aria-label': 'Embed code' }, code),
      h('div', { class: 'actions' }, copyButton(() => code.textContent ?? '', 'Copy')),
      h('p', {}, h('small', {}, `If a page has a Content-Security-Policy, add ${new URL(address('')).origin} to its script-src and connect-src.`))),
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
