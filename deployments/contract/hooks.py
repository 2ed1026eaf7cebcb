"""Keeps the run from taking away what it stands on: its own key, and the room for content."""

import os

import schemathesis

OWN_KEY = os.environ["CHECK_KEY_ID"]
NOBODY = "0198c0de-0000-7000-8000-0000000000ff"
ROOM = 10**12


@schemathesis.hook
def before_call(context, case, kwargs):
    path = case.operation.path
    if path.startswith("/keys/") and (case.path_parameters or {}).get("id") == OWN_KEY:
        case.path_parameters["id"] = NOBODY
    if path == "/usage/limits" and isinstance(case.body, dict):
        for metric, limit in case.body.items():
            if type(limit) is int and 0 < limit < ROOM:
                case.body[metric] = limit + ROOM
