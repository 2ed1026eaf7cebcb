// Tests embeddings and completions with the official OpenAI client for Node.
import assert from "node:assert/strict";
import OpenAI from "openai";

const { SLUICE_URL: base, SLUICE_API_KEY: apiKey, CHECK_AGENT: agent } = process.env;
const client = new OpenAI({ baseURL: base + "/v1", apiKey, maxRetries: 0 });
const model = "builtin-en-256-v1";

const got = await client.embeddings.create({ model, input: ["The warranty lasts thirty months.", "Bananas are yellow."] }); // in base64
const numbers = await client.embeddings.create({ model, input: "The warranty lasts thirty months.", encoding_format: "float" });
assert.equal(got.data.length, 2);
assert.equal(got.data[0].embedding.length, 256);
got.data[0].embedding.forEach((x, i) => assert.ok(Math.abs(x - numbers.data[0].embedding[i]) < 1e-6));
assert.equal(got.usage.prompt_tokens, got.usage.total_tokens);
await assert.rejects(client.embeddings.create({ model: "text-embedding-ada-002", input: "a" }), { status: 404, code: "model_not_found" });
console.log("   embeddings");

const prompt = "How long is the warranty of the Aurora pump?";
const whole = await client.completions.create({ model: agent, prompt });
assert.match(whole.choices[0].text, /thirty months/);
let text = "";
for await (const piece of await client.completions.create({ model: agent, prompt, stream: true })) text += piece.choices[0]?.text ?? "";
assert.equal(text, whole.choices[0].text);
console.log("   completions");
