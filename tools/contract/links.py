"""Prints how often each link in the OpenAPI document was followed: links.py REPORT.ndjson OPENAPI.json.

Fails if fewer than half of the links were followed.
"""

import json
import sys
from collections import Counter


def links(document):
    """Yields the names of a document's links as they appear in the report."""
    operations = {
        operation["operationId"]: f"{method.upper()} {path}"
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict) and "operationId" in operation
    }
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if not isinstance(operation, dict):
                continue
            for status, answer in operation.get("responses", {}).items():
                if "$ref" in answer:
                    answer = document["components"]["responses"][answer["$ref"].rpartition("/")[2]]
                for name, link in answer.get("links", {}).items():
                    yield f"{method.upper()} {path} -> [{status}] {name} -> {operations[link['operationId']]}"


def followed(value):
    """Yields the ids of the transitions in an event."""
    if isinstance(value, dict):
        if isinstance(value.get("transition"), dict):
            yield value["transition"]["id"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from followed(item)


def main(report, openapi):
    with open(openapi) as file:
        every = sorted(links(json.load(file)))
    with open(report) as file:
        times = Counter(name for line in file for name in followed(json.loads(line)))
    used = [name for name in every if times[name]]
    for name in every:
        print(f"{times[name]:6d}  {name}")
    print(f"{len(used)} of {len(every)} links followed, {sum(times[name] for name in used)} times")
    if 2 * len(used) < len(every):
        raise SystemExit("fewer than half of the links were followed")


main(*sys.argv[1:])
