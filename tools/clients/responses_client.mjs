// Tests Responses and Conversations with the official OpenAI client for Node.
import assert from "node:assert/strict";
import OpenAI from "openai";

const { SLUICE_URL: base, SLUICE_API_KEY: apiKey, CHECK_AGENT: agent, DATASTORE: store } = process.env;
const client = new OpenAI({ baseURL: base + "/v1", apiKey, maxRetries: 0 });
const input = "How long is the warranty of the Aurora pump?";
const tools = [{ type: "file_search", vector_store_ids: ["vs_" + store], max_num_results: 5 }];
async function all(pages) {
  const found = [];
  for await (const one of pages) found.push(one);
  return found;
}

const got = await client.responses.create({ model: "gpt-4o-mini", input, tools, include: ["file_search_call.results"] });
assert.match(got.output_text, /thirty months/);
const [call, message] = got.output;
assert.equal(call.results[0].filename, "Manual of the pump");
const [citation] = message.content[0].annotations;
assert.equal(citation.file_id, call.results[0].file_id);
assert.ok([...got.output_text].slice(citation.index).join("").startsWith("[1]"));
assert.deepEqual((await client.responses.retrieve(got.id, { include: ["file_search_call.results"] })).output, got.output);
assert.equal((await all(client.responses.inputItems.list(got.id)))[0].content[0].text, input);
console.log("   search");

const stream = client.responses.stream({ model: "gpt-4o-mini", input, tools });
const numbers = [];
let text = "";
for await (const event of stream) {
  numbers.push(event.sequence_number);
  if (event.type === "response.output_text.delta") text += event.delta;
}
const final = await stream.finalResponse();
assert.deepEqual(numbers, numbers.map((_, i) => i));
assert.equal(final.output_text, text);
const rest = await all(await client.responses.retrieve(final.id, { stream: true, starting_after: 3 }));
assert.deepEqual(rest.map((e) => e.sequence_number), numbers.slice(4));
console.log("   stream");

const next = await client.responses.create({ model: agent, input: "And when does its warranty begin?", previous_response_id: got.id });
assert.match(next.output_text, /delivered/);
await client.responses.delete(got.id);
await assert.rejects(client.responses.retrieve(got.id), OpenAI.NotFoundError);
console.log("   previous response, delete");

let queued = await client.responses.create({ model: agent, input, background: true });
while (["queued", "in_progress"].includes(queued.status)) {
  await new Promise((done) => setTimeout(done, 50));
  queued = await client.responses.retrieve(queued.id);
}
assert.match(queued.output_text, /thirty months/);
assert.equal((await client.responses.cancel(queued.id)).status, "completed");
console.log("   background, cancel");

const conversation = await client.conversations.create({ metadata: { topic: "pumps" }, items: [{ type: "message", role: "developer", content: "Be brief." }] });
await client.responses.create({ model: agent, input, conversation: conversation.id });
const items = await all(client.conversations.items.list(conversation.id, { order: "asc", limit: 2 }));
assert.deepEqual(items.map((i) => i.role), ["developer", "user", "assistant"]);
const one = { conversation_id: conversation.id };
assert.equal((await client.conversations.items.retrieve(items[1].id, one)).content[0].text, input);
const thanks = await client.conversations.items.create(conversation.id, { items: [{ type: "message", role: "user", content: "Thanks." }] });
await client.conversations.items.delete(thanks.data[0].id, one);
assert.deepEqual((await client.conversations.update(conversation.id, { metadata: { topic: "weights" } })).metadata, { topic: "weights" });
assert.deepEqual((await client.conversations.retrieve(conversation.id)).metadata, { topic: "weights" });
assert.equal((await client.conversations.delete(conversation.id)).deleted, true);
console.log("   conversations");

await assert.rejects(client.responses.create({ model: agent, input, temperature: 3 }), (e) => e instanceof OpenAI.BadRequestError && e.param === "temperature");
await assert.rejects(client.responses.create({ model: "no-such-model", input }), (e) => e instanceof OpenAI.NotFoundError && e.param === "model");
console.log("   errors");
