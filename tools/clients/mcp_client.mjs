// Tests the service with the official Model Context Protocol client for Node, over HTTP and over standard streams.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { SLUICE_URL: base, SLUICE_API_KEY: key, CHECK_AGENT: agent, CHECK_BINARY: binary } = process.env;

const transports = {
  HTTP: () => new StreamableHTTPClientTransport(new URL(base + "/mcp"), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }),
  "HTTP under /api": () => new StreamableHTTPClientTransport(new URL(base + "/api/mcp"), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }),
  "standard streams": () => new StdioClientTransport({ command: binary, args: ["mcp"], env: { SLUICE_URL: base, SLUICE_API_KEY: key } }),
};

for (const [name, open] of Object.entries(transports)) {
  const client = new Client({ name: "check", version: "1" });
  await client.connect(open());
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name).sort(), ["ask", "fetch", "search"]);

  const search = await client.callTool({ name: "search", arguments: { query: "error code E-23" } });
  const found = JSON.parse(search.content[0].text); // as ChatGPT's connectors read it
  assert.deepEqual(found, search.structuredContent);
  assert.equal(found.results[0].title, "Manual of the logger");

  const fetched = await client.callTool({ name: "fetch", arguments: { id: found.results[0].id } });
  assert.match(fetched.structuredContent.text, /memory card is full/);

  // The client drops progress messages that it reads together with the result, which can happen on a busy machine. In
  // that case, ask again.
  let pieces = "";
  for (let attempt = 0; attempt < 10 && pieces === ""; attempt++) {
    const answer = await client.callTool(
      { name: "ask", arguments: { question: "How long is the warranty of the Aurora pump?", agent } }, undefined,
      { onprogress: (p) => { pieces += p.message; } });
    assert.match(answer.structuredContent.answer, /thirty months/);
    assert.ok(answer.structuredContent.answer.includes(pieces), pieces);
  }
  assert.notEqual(pieces, "");

  const { resources } = await client.listResources();
  assert.equal(resources.length, 2);
  assert.ok((await client.readResource({ uri: resources[0].uri })).contents[0].text);
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1);

  const wrong = await client.callTool({ name: "search", arguments: { query: "x", topK: 1000 } });
  assert.ok(wrong.isError);
  await client.close();
  console.log("  ", name);
}
await assert.rejects(new Client({ name: "check", version: "1" }).connect(
  new StreamableHTTPClientTransport(new URL(base + "/mcp"), { requestInit: { headers: { Authorization: "Bearer sk_wrong" } } })), /401|Unauthorized|revoked or expired/);
console.log("   a wrong key");
