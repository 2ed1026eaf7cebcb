"""Uploads manuals to a service and creates an agent that answers from them. Prints the ids of the agent and the datastore."""

import json
import os
import time
import urllib.request

BASE, KEY = os.environ["SLUICE_URL"], os.environ["SLUICE_API_KEY"]
MANUALS = {
    "pump": "The Aurora pump carries a warranty of thirty months. It begins on the day on which the pump is delivered, "
    "and covers seals, bearings and the motor. Claims are made in writing.",
    "logger": "The Nimbus logger shows error code E-23 when its memory card is full. Replace the card while the device "
    "is switched off, and format the new one before the first recording.",
}


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
    store = call("POST", "/datastores", {"name": "Manuals"})["id"]
    documents = [{"name": f"Manual of the {k}", "text": v, "metadata": {"custom_id": k}} for k, v in MANUALS.items()]
    call("POST", f"/datastores/upsert/{store}", {"documents": documents})
    deadline = time.monotonic() + 60
    while any(d["status"] != "synched" for d in call("GET", f"/datasources?datastoreId={store}")["data"]):
        if time.monotonic() > deadline:
            raise SystemExit("the manuals were not taken in within a minute")
        time.sleep(0.2)
    print(call("POST", "/agents", {"name": "Support", "datastoreIds": [store]})["id"], store)


main()
