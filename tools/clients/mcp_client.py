"""Tests the service with the official Model Context Protocol client for Python, over HTTP and over standard streams."""

import asyncio
import json
import os
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

BASE, KEY, AGENT = os.environ["SLUICE_URL"], os.environ["SLUICE_API_KEY"], os.environ["CHECK_AGENT"]


async def check(session, name):
    await session.initialize()
    tools = {t.name for t in (await session.list_tools()).tools}
    assert tools == {"search", "fetch", "ask"}, tools

    got = await session.call_tool("search", {"query": "error code E-23"})
    found = json.loads(got.content[0].text)  # as ChatGPT's connectors read it
    assert found == got.structuredContent
    first = found["results"][0]
    assert first["title"] == "Manual of the logger" and {"id", "title", "url"} <= first.keys(), first

    document = json.loads((await session.call_tool("fetch", {"id": first["id"]})).content[0].text)
    assert "memory card is full" in document["text"] and {"id", "title", "text", "url", "metadata"} <= document.keys()

    pieces = []

    async def progress(done, total, message):
        pieces.append(message)

    question = {"question": "How long is the warranty of the Aurora pump?", "agent": AGENT}
    answer = await session.call_tool("ask", question, progress_callback=progress)
    assert "thirty months" in answer.structuredContent["answer"], answer
    assert answer.structuredContent["sources"][0]["title"] == "Manual of the pump", answer
    assert pieces and "".join(pieces) in answer.structuredContent["answer"], pieces

    resources = (await session.list_resources()).resources
    text = (await session.read_resource(resources[0].uri)).contents[0].text
    assert len(resources) == 2 and text, resources
    templates = (await session.list_resource_templates()).resourceTemplates
    assert templates[0].uriTemplate.startswith("sluice://datasources/"), templates

    wrong = await session.call_tool("fetch", {"id": "nonsense"})
    assert wrong.isError and "not the id of a document" in wrong.content[0].text, wrong
    print("  ", name)


async def main():
    async with streamablehttp_client(BASE + "/mcp", headers={"Authorization": f"Bearer {KEY}"}) as (read, write, _):
        async with ClientSession(read, write) as session:
            await check(session, "HTTP")
    server = StdioServerParameters(
        command=os.environ["CHECK_BINARY"], args=["mcp"], env={"SLUICE_URL": BASE, "SLUICE_API_KEY": KEY}
    )
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            await check(session, "standard streams · mcp " + version("mcp"))


asyncio.run(main())
