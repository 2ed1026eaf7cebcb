// Tests the types that openapi-typescript generates, with openapi-fetch: creates a datastore, uploads a file and queries it.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const { SLUICE_URL: baseUrl, SLUICE_API_KEY: key } = process.env;
const client = createClient<paths, "application/json">({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

async function got<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await answer;
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const store = await got(client.POST("/datastores", { body: { name: "openapi-typescript" } }));
const text = "The warranty of the Aurora pump lasts thirty months.";
let source: components["schemas"]["Datasource"] = await got(
  client.POST("/datasources/upload", {
    body: { datastoreId: store.id, custom_id: "warranty", file: text },
    bodySerializer: (fields) => {
      const form = new FormData();
      form.set("datastoreId", fields.datastoreId);
      form.set("custom_id", fields.custom_id ?? "");
      form.set("file", new Blob([fields.file]), "warranty.txt");
      return form;
    },
  }),
);
assert.deepEqual([source.type, source.name, source.groupId, source.lastSynch], ["file", "warranty.txt", "", undefined]);
const deadline = Date.now() + 60_000;
while (source.status !== "synched") {
  assert.ok(Date.now() < deadline, source.status);
  await new Promise((done) => setTimeout(done, 200));
  source = await got(client.GET("/datasources/{id}", { params: { path: { id: source.id } } }));
}
assert.match(source.lastSynch ?? "", /^\d{4}-\d\d-\d\d$/);
const list = await got(client.GET("/datasources", { params: { query: { datastoreId: store.id } } }));
assert.deepEqual(list.data.map((d) => d.id), [source.id]);
// topK, mode and (below) streaming are optional. Otherwise this file would not compile.
const query: components["schemas"]["DatastoreQuery"] = { query: "How long is the warranty?", filters: { custom_ids: ["warranty"] } };
const fragments: components["schemas"]["Fragment"][] = await got(
  client.POST("/datastores/{id}/query", { params: { path: { id: store.id } }, body: query }),
);
assert.equal(fragments.length, 1);
assert.match(fragments[0]!.text, /thirty months/);
const agent = await got(client.POST("/agents", { body: { name: "Support", datastoreIds: [store.id] } }));
assert.equal(agent.promptType, "raw");
const answer: components["schemas"]["AgentAnswer"] = await got(
  client.POST("/agents/{id}/query", { params: { path: { id: agent.id } }, body: { query: "How long is the warranty?" } }),
);
assert.match(answer.answer, /thirty months/);
assert.equal(answer.sources[0]!.datasource_id, source.id);
await got(client.DELETE("/agents/{id}", { params: { path: { id: agent.id } } }));
await got(client.DELETE("/datastores/{id}", { params: { path: { id: store.id } } }));
const { error, response } = await client.GET("/datastores/{id}", { params: { path: { id: store.id } } });
assert.equal(response.status, 404);
assert.match(JSON.stringify(error), /NOT_FOUND/);
console.log("   openapi-typescript");
