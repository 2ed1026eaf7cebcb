// Tests files, uploads, vector stores and file batches with the official OpenAI client for Node.
import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";

const { SLUICE_URL: base, SLUICE_API_KEY: apiKey } = process.env;
const client = new OpenAI({ baseURL: base + "/v1", apiKey, maxRetries: 0 });
const texts = {
  "heron.txt": "The heron bridge was opened in March. It carries trams and bicycles.",
  "otter.md": "# Otter lock\n\nThe otter lock was rebuilt after the flood. Boats of twelve metres may pass.",
  "lynx.csv": "station,height\nlynx pass,1843\n",
};
const file = (name) => toFile(Buffer.from(texts[name]), name);
const upload = async (name) => client.files.create({ file: await file(name), purpose: "assistants" });
async function all(pages) {
  const found = [];
  for await (const one of pages) found.push(one);
  return found;
}

const made = await upload("otter.md");
assert.equal(made.bytes, Buffer.byteLength(texts["otter.md"]));
assert.deepEqual(await client.files.retrieve(made.id), made);
assert.equal((await client.files.waitForProcessing(made.id)).status, "processed");
assert.equal(await (await client.files.content(made.id)).text(), texts["otter.md"]);
assert.ok((await all(client.files.list({ limit: 1, order: "asc" }))).some((f) => f.id === made.id));
assert.equal((await client.files.delete(made.id)).deleted, true);
await assert.rejects(client.files.retrieve(made.id), OpenAI.NotFoundError);
console.log("   files");

const begun = await client.uploads.create({ bytes: 11, filename: "two.txt", mime_type: "text/plain", purpose: "assistants" });
const first = await client.uploads.parts.create(begun.id, { data: await toFile(Buffer.from("hello "), "a") });
const second = await client.uploads.parts.create(begun.id, { data: await toFile(Buffer.from("world"), "b") });
const whole = await client.uploads.complete(begun.id, { part_ids: [first.id, second.id] });
assert.equal(await (await client.files.content(whole.file.id)).text(), "hello world");
const left = await client.uploads.create({ bytes: 1, filename: "a.txt", mime_type: "text/plain", purpose: "assistants" });
assert.equal((await client.uploads.cancel(left.id)).status, "cancelled");
console.log("   uploads");

const store = await client.vectorStores.create({ name: "Places", metadata: { owner: "maps" }, file_ids: [(await upload("heron.txt")).id] });
assert.equal(store.file_counts.total, 1);
assert.ok((await all(client.vectorStores.list({ limit: 1 }))).some((s) => s.id === store.id));
assert.equal((await client.vectorStores.update(store.id, { name: "Bridges" })).name, "Bridges");
assert.equal((await client.vectorStores.retrieve(store.id)).name, "Bridges");
console.log("   stores");

const files = client.vectorStores.files;
const where = { vector_store_id: store.id };
const added = await files.createAndPoll(store.id, { file_id: (await upload("otter.md")).id, attributes: { year: 2024 } });
assert.equal(added.status, "completed");
const table = await files.uploadAndPoll(store.id, await file("lynx.csv"));
assert.deepEqual((await files.update(added.id, { ...where, attributes: { year: 2026 } })).attributes, { year: 2026 });
assert.equal((await files.poll(store.id, added.id)).status, "completed");
assert.equal((await files.retrieve(added.id, where)).id, added.id);
assert.equal((await all(files.list(store.id, { limit: 1, filter: "completed" }))).length, 3);
assert.match((await all(files.content(added.id, where))).map((part) => part.text).join(""), /after the flood/);
const found = await client.vectorStores.search(store.id, { query: "Which boats may pass the lock?", max_num_results: 1, rewrite_query: true });
assert.equal(found.data[0].file_id, added.id);
const filtered = await all(client.vectorStores.search(store.id, { query: ["bridge", "lock"], filters: { type: "gte", key: "year", value: 2026 } }));
assert.deepEqual(new Set(filtered.map((r) => r.file_id)), new Set([added.id]));
assert.equal((await files.delete(table.id, where)).deleted, true);
await assert.rejects(files.retrieve(table.id, where), OpenAI.NotFoundError);
console.log("   files of a store, search");

const batches = client.vectorStores.fileBatches;
const batch = await batches.uploadAndPoll(store.id, { files: await Promise.all(Object.keys(texts).map(file)) });
assert.equal(batch.file_counts.completed, 3);
assert.equal((await all(batches.listFiles(batch.id, { ...where, limit: 2 }))).length, 3);
const again = await batches.createAndPoll(store.id, { file_ids: [made.id, whole.file.id] });
assert.deepEqual([again.file_counts.completed, again.file_counts.failed], [1, 1]); // the first was deleted
assert.deepEqual(await batches.retrieve(again.id, where), again);
const other = await batches.create(store.id, { files: [{ file_id: whole.file.id, attributes: { kind: "greeting" } }] });
assert.equal((await batches.cancel(other.id, where)).status, "cancelled");
assert.equal((await client.vectorStores.delete(store.id)).deleted, true);
console.log("   batches");
