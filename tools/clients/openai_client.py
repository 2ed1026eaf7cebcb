"""Tests /v1 with the official OpenAI client for Python, and with LangChain on top of it."""

import asyncio
import os

import openai
from langchain_openai import ChatOpenAI

BASE, KEY, AGENT = os.environ["SLUICE_URL"] + "/v1", os.environ["SLUICE_API_KEY"], os.environ["CHECK_AGENT"]
QUESTION = [{"role": "user", "content": "How long is the warranty of the Aurora pump?"}]
client = openai.OpenAI(base_url=BASE, api_key=KEY, max_retries=0)


def models():
    assert [m.id for m in client.models.list()][0] == AGENT
    assert client.models.retrieve(AGENT).owned_by == "sluice"


def completion():
    got = client.chat.completions.create(model=AGENT, messages=QUESTION)
    assert "thirty months" in got.choices[0].message.content, got
    assert got.choices[0].finish_reason == "stop"
    assert got.model_extra["sources"][0]["datasource_name"] == "Manual of the pump", got
    assert got.usage.total_tokens == got.usage.prompt_tokens + got.usage.completion_tokens


def parts_and_history():
    messages = QUESTION + [
        {"role": "assistant", "content": "Thirty months [1]."},
        {"role": "user", "content": [{"type": "text", "text": "And when does its warranty begin?"}]},
    ]
    got = client.chat.completions.create(model=AGENT, messages=messages)
    assert "delivered" in got.choices[0].message.content, got


def conversation():
    first = client.chat.completions.create(model=AGENT, messages=QUESTION, store=True)
    conversation = first.model_extra["conversationId"]
    again = client.chat.completions.create(
        model=AGENT,
        messages=[{"role": "user", "content": "And when does its warranty begin?"}],
        extra_body={"conversationId": conversation},
    )
    assert again.model_extra["conversationId"] == conversation
    assert "delivered" in again.choices[0].message.content, again


def stream():
    text, sources, usage = "", None, None
    chunks = client.chat.completions.create(
        model=AGENT, messages=QUESTION, stream=True, stream_options={"include_usage": True}
    )
    for i, chunk in enumerate(chunks):
        if i == 0:
            assert chunk.choices[0].delta.role == "assistant"
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
            sources = chunk.model_extra.get("sources", sources)
        usage = chunk.usage or usage
    assert "thirty months" in text, text
    assert sources[0]["citation"] == 1 and usage.total_tokens >= 0


def helper():
    """Reads a stream with the client's own accumulator, which is stricter about the format of chunks."""
    with client.chat.completions.stream(model=AGENT, messages=QUESTION) as events:
        pieces = [e.delta for e in events if e.type == "content.delta"]
        whole = events.get_final_completion().choices[0]
    assert "".join(pieces) == whole.message.content and whole.finish_reason == "stop"


async def asynchronously():
    async with openai.AsyncOpenAI(base_url=BASE, api_key=KEY) as other:
        chunks = await other.chat.completions.create(model=AGENT, messages=QUESTION, stream=True)
        text = "".join([c.choices[0].delta.content or "" async for c in chunks])
    assert "thirty months" in text, text


def refused(kind, code, **changed):
    asked = {"model": AGENT, "messages": QUESTION} | changed
    try:
        client.with_options(api_key=asked.pop("key", KEY)).chat.completions.create(**asked)
    except kind as e:
        assert e.code == code and e.message, e
        return
    raise AssertionError(f"{changed} was not refused with {kind}")


def errors():
    refused(openai.AuthenticationError, "invalid_api_key", key="sk_wrong")
    refused(openai.NotFoundError, "model_not_found", model="gpt-4o")
    refused(openai.BadRequestError, "invalid_request", n=2)
    refused(openai.BadRequestError, "invalid_request", tools=[{"type": "function", "function": {"name": "f"}}])
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}]}]
    refused(openai.BadRequestError, "invalid_request", messages=image)


def langchain():
    model = ChatOpenAI(base_url=BASE, api_key=KEY, model=AGENT)
    assert "thirty months" in model.invoke(QUESTION[0]["content"]).content
    assert "thirty months" in "".join(c.content for c in model.stream(QUESTION[0]["content"]))


for check in (models, completion, parts_and_history, conversation, stream, helper, errors, langchain):
    check()
    print("  ", check.__name__)
asyncio.run(asynchronously())
print("  ", asynchronously.__name__, "· openai", openai.__version__)
