"""Creates a resource of each kind, and prints their ids as JSON, including the id of the key that the script uses."""

import json
import os
import time
import urllib.request

BASE, KEY = os.environ["SLUICE_URL"], os.environ["SLUICE_API_KEY"]


def call(method, path, body=None):
    request = urllib.request.Request(
        BASE + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def main():
    own = call("GET", "/keys")["data"][0]["id"]
    store = call("POST", "/datastores", {"name": "Manuals"})["id"]
    texts = ["The pump carries a warranty of thirty months.", "The logger shows E-23 when its card is full."]
    call("POST", f"/datastores/upsert/{store}", {"documents": [{"text": t} for t in texts]})
    agent = call("POST", "/agents", {"name": "Support", "datastoreIds": [store]})["id"]
    deadline = time.monotonic() + 60
    while True:
        documents = call("GET", f"/datasources?datastoreId={store}")["data"]
        if all(d["status"] == "synched" for d in documents):
            break
        if time.monotonic() > deadline:
            raise SystemExit("the texts were not taken in within a minute")
        time.sleep(0.2)
    call("POST", f"/agents/{agent}/query", {"query": "How long is the warranty of the pump?"})
    call("POST", "/keys", {"name": "website", "scopes": ["query"], "agentId": agent})
    print(json.dumps({"key": own, "datastore": store, "agent": agent, "datasource": documents[0]["id"]}))


main()
