// Tests /v1 with the official OpenAI client for Node.
import assert from "node:assert/strict";
import OpenAI from "openai";

const { SLUICE_URL: base, SLUICE_API_KEY: apiKey, CHECK_AGENT: model } = process.env;
const client = new OpenAI({ baseURL: base + "/v1", apiKey, maxRetries: 0 });
const messages = [{ role: "user", content: "How long is the warranty of the Aurora pump?" }];

const ids = [];
for await (const m of client.models.list()) ids.push(m.id);
assert.equal(ids[0], model); // the models of the process follow
assert.equal((await client.models.retrieve(model)).object, "model");
console.log("   models");

const whole = await client.chat.completions.create({ model, messages });
assert.match(whole.choices[0].message.content, /thirty months/);
assert.equal(whole.choices[0].finish_reason, "stop");
assert.equal(whole.sources[0].datasource_name, "Manual of the pump");
console.log("   completion");

let text = "", sources, usage;
for await (const chunk of await client.chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } })) {
  text += chunk.choices[0]?.delta.content ?? "";
  sources = chunk.sources ?? sources;
  usage = chunk.usage ?? usage;
}
assert.match(text, /thirty months/);
assert.equal(sources[0].citation, 1);
assert.equal(typeof usage.total_tokens, "number");
console.log("   stream");

const runner = client.chat.completions.stream({ model, messages });
assert.match(await runner.finalContent(), /thirty months/); // the client joins the chunks itself
console.log("   helper");

const leaving = await client.chat.completions.create({ model, messages, stream: true });
for await (const _ of leaving) break;
leaving.controller.abort();
console.log("   leaving");

const refused = (kind, code, body, options) =>
  assert.rejects(client.chat.completions.create({ model, messages, ...body }, options), (e) => e instanceof kind && e.code === code && e.message !== "");
await refused(OpenAI.AuthenticationError, "invalid_api_key", {}, { headers: { Authorization: "Bearer sk_wrong" } });
await refused(OpenAI.NotFoundError, "model_not_found", { model: "gpt-4o" });
await refused(OpenAI.BadRequestError, "invalid_request", { n: 2 });
await refused(OpenAI.BadRequestError, "invalid_request", { response_format: { type: "json_object" } });
await assert.rejects(client.embeddings.create({ model, input: "x" }), OpenAI.NotFoundError);
console.log("   errors");
