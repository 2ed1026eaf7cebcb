"""Keeps a run from removing what it needs: its own key, the quota for content, and one resource of each kind."""

import json
import os
import uuid

import schemathesis
from schemathesis.generation.meta import TestPhase

HERE = json.loads(os.environ["CHECK_CONTENT"])  # the ids of what content.py created
NOBODY = "0198c0de-0000-7000-8000-0000000000ff"
ROOM = 10**12


@schemathesis.hook
def before_call(context, case, kwargs):
    path, method = case.operation.path, case.operation.method.upper()
    named = (case.path_parameters or {}).get("id")
    if path.startswith("/keys/") and named == HERE["key"] or method == "DELETE" and named in HERE.values():
        case.path_parameters["id"] = NOBODY
    if path == "/usage/limits" and isinstance(case.body, dict):
        for metric, limit in case.body.items():
            if type(limit) is int and 0 < limit < ROOM:
                case.body[metric] = limit + ROOM
    if case.meta is not None and case.meta.phase.name == TestPhase.STATEFUL and case.meta.generation.mode.is_positive:
        name_what_is_there(case)


def name_what_is_there(case):
    """Replaces ids in bodies with ids of existing resources, because links cannot set them. Otherwise, chains of requests would
    end after the first request."""
    if isinstance(case.body, dict):
        operation = case.operation.definition.raw["operationId"]
        if type(case.body.get("datastoreId")) is str:
            case.body["datastoreId"] = HERE["datastore"]
        if operation == "CreateDatasource" and isinstance(case.body.get("config"), dict):  # a schema cannot express which fields belong to which type
            case.body |= {"type": "text", "config": {"text": case.body["config"].get("text") or "The pump."}}
        if operation == "CreateKey" and type(case.body.get("agentId")) is str:
            case.body["agentId"] = HERE["agent"]
        if operation == "UpdateDocument" and type(case.body.get("id")) is str:
            case.body["id"] = HERE["datasource"]
        for streams in {"streaming", "stream"} & case.body.keys():
            case.body[streams] = False  # links are read from JSON
    # A repeated key returns the earlier response, whose object may have been deleted since.
    if "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = uuid.uuid4().hex
