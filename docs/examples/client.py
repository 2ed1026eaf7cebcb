"""Uploads a file, waits until it is searchable, and asks questions about it. Later questions may refer to earlier ones.
If the file was uploaded before, the new version replaces it.

    SLUICE_URL=http://127.0.0.1:8080 SLUICE_API_KEY=sk_… python3 client.py FILE QUESTION…
    … python3 client.py --delete FILE

Needs only the standard library of Python 3.9.
"""

import json, os, sys, time, urllib.error, urllib.parse, urllib.request, uuid

NAME = "Example of client.py"  # of the datastore and of the agent
if len(sys.argv) < 3 or "SLUICE_URL" not in os.environ or "SLUICE_API_KEY" not in os.environ:
    sys.exit(__doc__)
BASE, KEY = os.environ["SLUICE_URL"], os.environ["SLUICE_API_KEY"]


def call(method, path, body=None, content_type="application/json"):
    """Sends a request and returns the response. Repeats the request if the service is busy or the connection breaks."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": content_type}
    if method in ("POST", "PUT"):
        headers["Idempotency-Key"] = str(uuid.uuid4())  # the same for all attempts, so that nothing is done twice
    broken = 0
    for attempt in range(10):
        try:
            return urllib.request.urlopen(urllib.request.Request(BASE + path, data, headers, method=method), timeout=60)
        except urllib.error.HTTPError as error:
            seconds = error.headers.get("Retry-After") or ("5" if error.code >= 500 else None)
            if error.code == 404 and method == "DELETE" and attempt:
                return None  # an earlier attempt deleted it
            if error.code != 429 and error.code != 409 and error.code < 500 or seconds is None or attempt == 9:
                sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")
        except OSError as error:  # no connection, or no response
            broken, seconds = broken + 1, 2
            if broken == 3 or attempt == 9:
                sys.exit(f"{method} {path}: {error}")
        time.sleep(int(seconds))


def find(path, **fields):
    """Returns the id of the first resource in a list that has these fields, or None."""
    parameters, cursor = ({} if path != "/datasources" else fields), ""
    while cursor is not None:
        page = json.load(call("GET", f"{path}?{urllib.parse.urlencode({**parameters, 'cursor': cursor})}"))
        for resource in page["data"]:
            if all(resource[name] == value for name, value in fields.items()):
                return resource["id"]
        cursor = page["nextCursor"]


def upload(store, path):
    """Uploads a file and returns the id of its datasource. The file is safe, but not searchable yet."""
    fields = {"fileName": os.path.basename(path)}
    known = find("/datasources", datastoreId=store, customId=path)
    if known is None:
        fields |= {"datastoreId": store, "custom_id": path}
    boundary = uuid.uuid4().hex
    part = f"--{boundary}\r\nContent-Disposition: form-data; name="
    with open(path, "rb") as file:
        body = b"".join(
            [f'{part}"{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields.items()]
            + [f'{part}"file"; filename="file"\r\n\r\n'.encode(), file.read(), f"\r\n--{boundary}--\r\n".encode()]
        )
    method, to = ("POST", "/datasources") if known is None else ("PUT", f"/datasources/{known}/original")
    return json.load(call(method, to, body, f"multipart/form-data; boundary={boundary}"))["id"]


def wait_until_searchable(datasource):
    while True:
        state = json.load(call("GET", f"/datasources/{datasource}"))
        if state["status"] == "synched":
            return
        if state["status"] in ("error", "skipped"):
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
    """Prints an answer while it arrives, then its sources and what they say. Returns the ids that continue the conversation."""
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
    for sentence in answer["sentences"]:
        for span in sentence["spans"][:1]:  # the part of a source that supports the sentence best
            source = answer["sources"][span["source_index"]]
            print(f"    {source['datasource_name']}, page {source['page']}, bytes {span['start']} to {span['end']}: {span['text']!r}")
    return {name: answer[name] for name in ("conversationId", "visitorId")}


store = find("/datastores", name=NAME) or json.load(call("POST", "/datastores", {"name": NAME}))["id"]
if sys.argv[1] == "--delete":
    known = find("/datasources", datastoreId=store, customId=sys.argv[2])
    if known:
        call("DELETE", f"/datasources/{known}")
    sys.exit()
file, *questions = sys.argv[1:]
wait_until_searchable(upload(store, file))
for fragment in json.load(call("POST", f"/datastores/{store}/query", {"query": questions[0], "topK": 3})):
    print(f"{fragment['score']:.2f} {fragment['source']}: {fragment['text'][:80]!r}")
agent = find("/agents", name=NAME, datastoreIds=[store]) or json.load(call("POST", "/agents", {"name": NAME, "datastoreIds": [store]}))["id"]
conversation = {}
for question in questions:
    conversation = ask(agent, question, conversation)
