// The view of an agent: chat, conversations and settings.
import { all, call, get, withQuery } from '../api.js';
import { h } from '../dom.js';
import { go } from '../router.js';
import { may } from '../session.js';
import { announce, check, confirm, field, form, head, select, tabs } from '../ui.js';
import { storeChoice } from './agents.js';
import { chat, isOwn, transcript } from './chat.js';
import { conversationList } from './conversations.js';
import { visibilitySelect } from './datastores.js';

/** @type {import('../router.js').View} */
export async function show(page) {
  const { params, signal } = page;
  const agent = await get(`agents/${encodeURIComponent(params.id)}`, signal);
  const root = `#/agents/${agent.id}`;
  const tab = params.tab ?? '';
  // Several visitors may have chosen the same conversation id.
  const kept = params.conversation ? await get(withQuery(`conversations/${encodeURIComponent(params.conversation)}`, { limit: 200, agentId: agent.id, visitorId: page.query.get('visitorId') }), signal) : null;
  const foreign = kept && !isOwn(kept);
  const body = [
    head(agent.name, [], h('a', { href: '#/agents' }, 'Agents')),
    tabs('Agent sections', [[root, 'Chat'], [`${root}/conversations`, 'Conversations'], ...(may.write() ? /** @type {[string, string][]} */ ([[`${root}/settings`, 'Settings'], [`${root}/website`, 'Website']]) : [])], foreign ? `${root}/conversations` : tab ? `${root}/${tab}` : root),
  ];
  if (tab === 'conversations') body.push(await conversationList({ agentId: agent.id }, signal));
  else if (tab === 'settings' && may.write()) body.push(settings(agent, await all('datastores', signal)));
  else if (tab === 'website' && may.write()) body.push(await (await import('./website.js')).website(agent, again));
  else if (foreign) body.push(transcript(agent, kept));
  else if (tab === '') body.push(await chat(agent, kept, signal));
  else throw new Error('Page not found.');
  return { title: agent.name, body };
}

/** Shows the view again. */
const again = () => window.dispatchEvent(new HashChangeEvent('hashchange'));

/** @param {any} agent @param {any[]} stores */
function settings(agent, stores) {
  const name = h('input', { value: agent.name, maxlength: '200' });
  const description = h('textarea', { value: agent.description, maxlength: '2000' });
  const chosen = storeChoice(stores, agent.datastoreIds);
  const model = select(['llm_3_5_turbo', 'llm_3_5_turbo_16k', 'llm_4', 'llm_4_32k'].map((m) => [m, m]), { value: agent.modelName });
  const temperature = h('input', { type: 'number', min: '0', max: '1', step: '0.1', value: agent.temperature });
  const visibility = visibilitySelect(agent.visibility);
  const system = h('textarea', { rows: '8', value: agent.systemPrompt, maxlength: '32000' });
  const planning = select([['true', 'On'], ['false', 'Off']], { value: String(agent.queryPlanning) });
  const user = h('textarea', { rows: '4', value: agent.userPrompt, maxlength: '32000' });
  const restrict = h('input', { type: 'checkbox', checked: agent.restrictKnowledge });
  const unsupported = select([['mark', 'Mark them'], ['drop', 'Remove them'], ['keep', 'Keep them']], { value: agent.unsupportedSentences });
  return h('div', { class: 'card' },
    form('Save', async () => {
      await call('PATCH', `agents/${agent.id}`, {
        name: name.value, description: description.value, datastoreIds: chosen.read(), modelName: model.value,
        temperature: Number(temperature.value), visibility: visibility.value, systemPrompt: system.value, userPrompt: user.value,
        queryPlanning: planning.value === 'true',
        restrictKnowledge: restrict.checked, unsupportedSentences: unsupported.value,
      });
      announce('Saved');
      again();
    }, [
      field('Name', name), field('Description', description), chosen.body,
      h('div', { class: 'row' }, field('Model', model, 'Each name stands for a model that the service\u2019s settings assign: SLUICE_MODEL_LLM_4 for llm_4, otherwise SLUICE_CHAT_MODEL. If the service has no model, answers quote the documents.'), field('Temperature', temperature, 'At 0, a question always gets the same answer; at 1, answers vary.'), field('Access', visibility)),
      field('System prompt', system, 'The agent\u2019s role and tone, used only with a model. The placeholders {query}, {context} and {history} stand for the question, the passages found and the conversation so far.'),
      field('Query planning', planning, 'When this is on, the model splits questions that need more than one search into sub-questions before it answers.'),
      check('Answer only from the documents', restrict, 'If the documents say nothing about a message, even a greeting, the agent declines to answer without asking a model.'),
      field('Unsupported sentences', unsupported, 'What to do with sentences whose words, figures or names the sources do not contain. If they are removed, answers appear one sentence at a time, because each is checked first.'),
      field('User prompt', user, 'A template for the question, with the same placeholders. Leave empty to send only the question.'),
    ]),
    h('h2', {}, 'Delete'),
    h('button', { type: 'button', onclick: () => confirm(`Delete ${agent.name}?`, 'The agent will be permanently deleted. Its datastores stay.', 'Delete', async () => {
      await call('DELETE', `agents/${agent.id}`, {});
      announce('Deleted');
      go('#/agents');
    }) }, 'Delete agent'));
}
