// Creates a datastore, uploads a file, searches, and streams an answer with its sources.
// Needs SLUICE_URL and SLUICE_API_KEY, and Node 20 or later, Deno or Bun.
const { SLUICE_URL: base, SLUICE_API_KEY: key } = process.env;

async function call(method, path, body) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() };
  const response = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error((await response.json()).detail);
  return response;
}
const json = async (...request) => (await call(...request)).json();

const store = await json("POST", "/datastores", { name: "Handbook" });
const form = new FormData(); // fetch sets the Content-Type of a form
form.set("datastoreId", store.id);
form.set("file", new Blob(["The warranty of the Aurora pump lasts thirty months."]), "warranty.txt");
await fetch(base + "/datasources", { method: "POST", headers: { Authorization: `Bearer ${key}` }, body: form });
for (let n = 1; n > 0; ) {
  const counts = await json("GET", `/datastores/${store.id}/counts`);
  n = counts.unsynched + counts.pending + counts.running;
  await new Promise((done) => setTimeout(done, 200));
}
console.log(await json("POST", `/datastores/${store.id}/query`, { query: "How long is the warranty?", topK: 3 }));

async function* ask(agent, query) {
  const response = await call("POST", `/agents/${agent}/query`, { query, streaming: true });
  let rest = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + piece).split("\n\n");
    rest = events.pop();
    for (const text of events) {
      const of = (name) => text.split("\n").filter((l) => l.startsWith(name)).map((l) => l.slice(name.length)).join("\n");
      const data = of("data: ");
      if (data === "[DONE]") return;
      if (data.startsWith("[ERROR]")) throw new Error(data);
      if (data) yield { event: of("event: "), data };
    }
  }
  throw new Error("the answer ended early");
}

const agent = await json("POST", "/agents", { name: "Support", datastoreIds: [store.id] });
let response = "";
for await (const { event, data } of ask(agent.id, "How long is the warranty?")) {
  if (event === "answer") process.stdout.write(data);
  if (event === "endpoint_response") response += data;
}
console.log("\n", JSON.parse(response).sources.map((s) => `[${s.citation}] ${s.source}`));
