// Tests Vercel's AI SDK with its OpenAI provider, whose default is the Responses API. MODEL_URL is a service with a chat model.
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { embedMany, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const { SLUICE_URL: base, MODEL_URL: modelBase, SLUICE_API_KEY: apiKey, DATASTORE: store } = process.env;
const openai = createOpenAI({ baseURL: base + "/v1", apiKey });
const prompt = "How long is the warranty of the Aurora pump?";
const tools = { file_search: openai.tools.fileSearch({ vectorStoreIds: ["vs_" + store], maxNumResults: 5 }) };

const got = await generateText({ model: openai("gpt-4o-mini"), prompt, tools });
assert.match(got.text, /thirty months/);
assert.equal(got.sources[0].filename, "Manual of the pump");
console.log("   generateText with fileSearch");

const streamed = streamText({ model: openai("gpt-4o-mini"), prompt, tools });
let text = "";
for await (const piece of streamed.textStream) text += piece;
assert.equal(text, got.text);
console.log("   streamText");

const { embeddings } = await embedMany({ model: openai.embedding("builtin-en-256-v1"), values: ["a pump", "a boat"] });
assert.deepEqual(embeddings.map((e) => e.length), [256, 256]);
console.log("   embedMany");

const asked = [];
const weather = tool({
  description: "Returns the weather at a place.",
  inputSchema: z.object({ place: z.string() }),
  execute: async ({ place }) => (asked.push(place), "rain"),
});
const called = await generateText({
  model: createOpenAI({ baseURL: modelBase + "/v1", apiKey })("gpt-4o-mini"),
  prompt: "How is the weather in Oslo?",
  tools: { weather },
  stopWhen: stepCountIs(3),
});
assert.deepEqual(asked, ["Oslo"]);
assert.match(called.text, /rain/);
console.log("   functions");
