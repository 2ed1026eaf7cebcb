"""Uploads a file, waits until it is searchable, and asks questions about it. Later questions may refer to earlier ones.

    SLUICE_URL=http://127.0.0.1:8080 SLUICE_API_KEY=sk_… python3 client.py FILE QUESTION…

Needs only the standard library of Python 3.9.
"""

import json, os, sys, time, urllib.error, urllib.request, uuid

BASE, KEY = os.environ["SLUICE_URL"], os.environ["SLUICE_API_KEY"]


def call(method, path, body=None, content_type="application/json"):
    """Sends a request and returns the response. Repeats the request if the service is busy or cannot be reached."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": content_type}
    if method == "POST":
        headers["Idempotency-Key"] = str(uuid.uuid4())  # the same for all attempts, so that nothing is done twice
    for attempt in range(10):
        try:
            return urllib.request.urlopen(urllib.request.Request(BASE + path, data, headers, method=method), timeout=60)
        except urllib.error.HTTPError as error:
            seconds = error.headers.get("Retry-After")  # always present with 429 and 503
            if error.code not in (409, 429, 503) or seconds is None or attempt == 9:
                sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")
        except OSError as error:  # no connection, or no answer
            seconds = 2
            if attempt == 9:
                sys.exit(f"{method} {path}: {error}")
        time.sleep(int(seconds))


def upload(store, path):
    """Uploads a file and returns the id of its datasource. The file is safe, but not searchable yet."""
    boundary = uuid.uuid4().hex
    part = f'--{boundary}\r\nContent-Disposition: form-data; name='
    with open(path, "rb") as file:
        body = b"".join([
            f'{part}"datastoreId"\r\n\r\n{store}\r\n'.encode(),
            f'{part}"file"; filename="{os.path.basename(path)}"\r\n\r\n'.encode(), file.read(),
            f"\r\n--{boundary}--\r\n".encode(),
        ])
    return json.load(call("POST", "/datasources", body, f"multipart/form-data; boundary={boundary}"))["id"]


def wait_until_searchable(datasource):
    while True:
        state = json.load(call("GET", f"/datasources/{datasource}"))
        if state["status"] == "synched":
            return
        if state["status"] == "error":
            sys.exit(f"{state['name']}: {state['error']}")
        time.sleep(0.2)


def events(stream):
    """Yields the event and the data of server-sent events until the answer is complete."""
    event, data = "", []
    for line in stream:
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
                sys.exit(text)
            yield event, text
            event, data = "", []
    sys.exit("the answer ended early")


def ask(agent, question, conversation):
    """Prints an answer while it arrives, then its sources. Returns the ids with which the next question continues."""
    print(f"\n> {question}")
    response = ""
    for event, text in events(call("POST", f"/agents/{agent}/query", {"query": question, "streaming": True, **conversation})):
        if event == "answer":
            print(text, end="", flush=True)
        elif event == "endpoint_response":
            response += text
    answer = json.loads(response)
    print()
    for source in answer["sources"]:
        print(f"[{source['citation']}] {source['source'] or source['datasource_name']}")
    return {name: answer[name] for name in ("conversationId", "visitorId")}


file, *questions = sys.argv[1:]
store = json.load(call("POST", "/datastores", {"name": "Handbook"}))["id"]
wait_until_searchable(upload(store, file))
for fragment in json.load(call("POST", f"/datastores/{store}/query", {"query": questions[0], "topK": 3})):
    print(f"{fragment['score']:.2f} {fragment['source']}: {fragment['text'][:80]!r}")
agent = json.load(call("POST", "/agents", {"name": "Support", "datastoreIds": [store]}))["id"]
conversation = {}
for question in questions:
    conversation = ask(agent, question, conversation)
