// Tests the service with libraries that existing programs use: fetch-event-source reads an agent's stream, and
// ChaindeskRetriever queries a datastore.
import assert from "node:assert/strict";
import { ChaindeskRetriever } from "@langchain/community/retrievers/chaindesk";
import { fetchEventSource } from "@microsoft/fetch-event-source";

const { SLUICE_URL: base, SLUICE_API_KEY: apiKey, CHECK_AGENT: agent, DATASTORE: datastoreId } = process.env;
const ask = "How long is the warranty of the Aurora pump?";

// fetch-event-source is made for browsers. It uses these two objects to find out whether the page is visible.
globalThis.window = globalThis;
globalThis.document = Object.assign(new EventTarget(), { hidden: false });

async function stream(body, key = apiKey) {
  let text = "", response = "", done = false, status;
  await fetchEventSource(`${base}/agents/${agent}/query`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ query: ask, streaming: true, ...body }),
    async onopen(r) {
      status = r.status;
      if (!r.ok || !r.headers.get("content-type")?.startsWith("text/event-stream")) throw new Error(`${r.status} ${(await r.json()).error}`);
    },
    onmessage(m) {
      if (m.data === "[DONE]") done = true;
      else if (m.data.startsWith("[ERROR]")) throw new Error(m.data);
      else if (m.event === "endpoint_response") response += m.data;
      else if (m.event === "answer") text += m.data;
    },
    onerror(e) { throw e; }, // otherwise the library repeats the request
  });
  return { text, done, status, ...JSON.parse(response) };
}

const first = await stream();
assert.ok(first.done && first.status === 200);
assert.match(first.text, /thirty months/);
assert.equal(first.text, first.answer);
assert.equal(first.sources[0].datasource_name, "Manual of the pump");
const next = await stream({ conversationId: first.conversationId, visitorId: first.visitorId });
assert.equal(next.conversationId, first.conversationId);
await assert.rejects(stream({}, "sk_wrong"), /403 UNAUTHORIZED/);
await assert.rejects(stream({ temperature: 7 }), /400 INVALID_REQUEST/);
console.log("   @microsoft/fetch-event-source");

// ChaindeskRetriever always sends its requests to app.chaindesk.ai. Redirect them to the service and name the original
// host in a header, as a proxy does.
const direct = globalThis.fetch;
globalThis.fetch = (address, options) => {
  const url = new URL(address);
  assert.equal(url.host, "app.chaindesk.ai");
  return direct(new URL(url.pathname, base), { ...options, headers: { ...options.headers, "X-Forwarded-Host": url.host } });
};
const retriever = new ChaindeskRetriever({ datastoreId, apiKey, topK: 1, filter: { custom_ids: ["logger"] } });
const found = await retriever.invoke("error code E-23");
assert.equal(found.length, 1);
assert.match(found[0].pageContent, /memory card is full/);
assert.ok(found[0].metadata.score > 0 && typeof found[0].metadata.source === "string");
assert.equal((await new ChaindeskRetriever({ datastoreId, apiKey }).invoke("warranty")).length, 2);
console.log("   ChaindeskRetriever");
