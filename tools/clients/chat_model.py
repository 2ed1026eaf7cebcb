"""Serves a chat model that needs no weights, with OpenAI's chat completions: chat_model.py PORT.

It calls the functions that a request offers, repeats their results, fills JSON schemas, and otherwise quotes the documents in the
prompt, or knows a few facts.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FACTS = {"capital of france": "Paris", "humans live on": "Earth", "has rings": "Saturn", "my name": "Alice"}


def text_of(message):
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def words(text):
    return set(re.findall(r"\w{3,}", text.lower()))


def fact(text):
    return next((answer for question, answer in FACTS.items() if question in text.lower()), None)


def instance(schema, text):
    """Returns a value that conforms to a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: instance(each, text) for name, each in schema.get("properties", {}).items()}
    if kind == "array":
        return [instance(schema.get("items", {}), text)]
    return {"string": fact(text) or "Oslo", "integer": 3, "number": 2.5, "boolean": True}.get(kind)


def quote(messages):
    """Returns the sentence of the documents in a prompt that has most words in common with the question, with its number."""
    question, best, cited, number = words(text_of(messages[-1])), "", 0, 0
    for line in (line for m in messages if m["role"] == "system" for line in text_of(m).splitlines()):
        if document := re.match(r"-----.* document \[(\d+)\]", line):
            number = int(document[1])
        elif line.startswith("-----"):
            number = 0
        elif number:
            for sentence in re.split(r"(?<=[.!?])\s+", line):
                if len(words(sentence) & question) > len(words(best) & question):
                    best, cited = sentence, number
    return best and f"{best} [{cited}]"


def answer(body):
    """Returns the text of an answer and the functions that it calls."""
    messages = body["messages"]
    last = messages[-1]
    prompt = text_of(last)
    if last["role"] == "tool":
        asked = next((text_of(m) for m in reversed(messages) if m["role"] == "user"), "")
        return f"The result for {asked!r} is: {prompt}", []
    if body.get("tools") and body.get("tool_choice") != "none":
        offered = [tool["function"] for tool in body["tools"]]
        return "", [(f["name"], json.dumps(instance(f.get("parameters") or {}, prompt))) for f in offered]
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return json.dumps(instance(form["json_schema"].get("schema", {}), prompt)), []
    if form.get("type") == "json_object":
        return json.dumps({"answer": quote(messages) or fact(prompt)}), []
    if "previous response" in prompt.lower():
        before = [text_of(m) for m in messages if m["role"] == "assistant"]
        return (before[-1].upper() if before else "There is none."), []
    return quote(messages) or fact(prompt) or f"You said: {prompt}", []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "small", "object": "model", "created": 1, "owned_by": "check"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text, calls = answer(body)
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or 10**6
        pieces = re.findall(r"\s*\S+", text)
        reason = "tool_calls" if calls else "length" if len(pieces) > limit else "stop"
        pieces = pieces[:limit]
        sent = sum(len(text_of(m)) for m in body["messages"]) // 4 + 1
        usage = {"prompt_tokens": sent, "completion_tokens": len(pieces) + 5 * len(calls)}
        usage["total_tokens"] = sum(usage.values())
        tools = [{"index": i, "id": f"call_{i}", "type": "function", "function": {"name": n, "arguments": a}} for i, (n, a) in enumerate(calls)]
        if not body.get("stream"):
            message = {"role": "assistant", "content": "".join(pieces) or None, **({"tool_calls": tools} if tools else {})}
            self.reply({"id": "c", "object": "chat.completion", "created": 1, "model": "small", "usage": usage,
                        "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        deltas = [{"role": "assistant", "content": ""}] + [{"content": p} for p in pieces] + [{"tool_calls": [t]} for t in tools]
        for delta in deltas:
            self.event([{"index": 0, "delta": delta, "finish_reason": None}])
        self.event([{"index": 0, "delta": {}, "finish_reason": reason}])
        self.event([], usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def event(self, choices, **more):
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "small", "choices": choices, **more}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def reply(self, value):
        encoded = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
