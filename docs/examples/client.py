"""Stores a text, searches it, and prints an agent's answer as it is streamed. Needs only the standard library of Python 3.9.

Set SLUICE_URL and SLUICE_API_KEY.
"""

import json, os, time, urllib.request, uuid

BASE, KEY = os.environ["SLUICE_URL"], os.environ["SLUICE_API_KEY"]


def call(method, path, body=None):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(BASE + path, data, headers, method=method), timeout=60)


store = json.load(call("POST", "/datastores", {"name": "Handbook"}))["id"]
text = "The warranty of the Aurora pump lasts thirty months. It begins on the day on which the pump is delivered."
call("POST", f"/datastores/upsert/{store}", {"documents": [{"name": "Warranty", "text": text, "metadata": {"custom_id": "warranty"}}]})
while any(json.load(call("GET", f"/datastores/{store}/counts"))[status] for status in ("unsynched", "pending", "running")):
    time.sleep(0.2)
for fragment in json.load(call("POST", f"/datastores/{store}/query", {"query": "How long is the warranty?", "topK": 3})):
    print(f"{fragment['score']:.2f} {fragment['datasource_name']}: {fragment['text']}")


def ask(agent, question):
    """Yields (event, data) until the answer is complete."""
    event, data = "", []
    for line in call("POST", f"/agents/{agent}/query", {"query": question, "streaming": True}):
        field, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            event = value
        elif field == "data":
            data.append(value)
        elif not field and data:  # an empty line ends an event
            text = "\n".join(data)
            if text == "[DONE]":
                return
            if text.startswith("[ERROR]"):
                raise RuntimeError(text)
            yield event, text
            event, data = "", []
    raise RuntimeError("the answer ended early")


agent = json.load(call("POST", "/agents", {"name": "Support", "datastoreIds": [store]}))["id"]
response = ""
for event, text in ask(agent, "How long is the warranty?"):
    if event == "answer":
        print(text, end="", flush=True)
    if event == "endpoint_response":
        response += text
for source in json.loads(response)["sources"]:
    print(f"\n[{source['citation']}] {source['source'] or source['datasource_name']}")
