"""Measures a server that speaks OpenAI's files and vector stores: compare.py NAME URL KEY PROCESS DOCUMENTS [MODEL].

Uploads documents, which are drawn from the texts in docs and are the same in every run, adds them to a vector store as one batch, and
searches for sentences of them, one after another. Prints a row of a Markdown table: documents per second from the first upload until the
batch is completed, milliseconds per search, searches that found the sentence, and anonymous and highest resident memory of the process and its children.
"""

import json
import pathlib
import random
import re
import statistics
import sys
import time
import urllib.error
import urllib.request

NAME, URL, KEY, PROCESS = sys.argv[1:5]
DOCUMENTS = int(sys.argv[5])
MODEL = {"embedding_model": name for name in sys.argv[6:]}  # Llama Stack wants a model for each store
SEARCHES = 200
BATCH_TIMEOUT = 1800  # seconds


def call(path, body=None, content_type="application/json", method=None):
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(URL + path, data, {"Authorization": "Bearer " + KEY, "Content-Type": content_type}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        sys.exit(f"{NAME}: {path}: {e.code}: {e.read().decode(errors='replace')[:500]}")


def upload(name, text):
    mark = "compare-8a1f4c"
    body = (
        f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n'
        f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: text/plain\r\n\r\n{text}\r\n--{mark}--\r\n'
    )
    return call("/v1/files", body.encode(), "multipart/form-data; boundary=" + mark)["id"]


def plain(text):
    return " ".join(text.split())


def corpus():
    """Returns documents of 20 paragraphs each, and a sentence of each of the first ones."""
    paragraphs = []
    for path in sorted(pathlib.Path("docs").rglob("*.md")):
        for paragraph in path.read_text().split("\n\n"):
            if len(paragraph) > 150 and not paragraph.lstrip().startswith(("|", "```", "#")):
                paragraphs.append(plain(paragraph))
    draw = random.Random(34)
    documents = [draw.sample(paragraphs, 20) for _ in range(DOCUMENTS)]
    sentences = []
    for document in documents[:SEARCHES]:
        long = [s for p in document for s in re.split(r"(?<=[.:;]) ", p) if 60 < len(s) < 300]
        sentences.append(draw.choice(long))
    return ["\n\n".join(d) for d in documents], sentences


def children(process):
    yield process
    for path in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        for child in path.read_text().split():
            yield from children(child)


def status(field):
    """Returns the sum of a field of /proc/PID/status over the process and its children, in MB."""
    total = 0
    for process in children(PROCESS):
        found = re.search(rf"^{field}:\s+(\d+) kB", pathlib.Path(f"/proc/{process}/status").read_text(), re.M)
        total += int(found[1]) if found else 0
    return total * 1024 / 1e6


documents, sentences = corpus()
empty = status("RssAnon")
store = call("/v1/vector_stores", {"name": "compare", **MODEL})["id"]
began = time.monotonic()
ids = [upload(f"document-{n:04}.txt", text) for n, text in enumerate(documents)]
batch = call(f"/v1/vector_stores/{store}/file_batches", {"file_ids": ids})
while batch["status"] == "in_progress":
    if time.monotonic() - began > BATCH_TIMEOUT:
        sys.exit(f"{NAME}: after {BATCH_TIMEOUT} s: {batch}")
    time.sleep(0.05)
    batch = call(f"/v1/vector_stores/{store}/file_batches/{batch['id']}")
filled = time.monotonic() - began
if batch["status"] != "completed" or batch["file_counts"]["completed"] != len(ids):
    sys.exit(f"{NAME}: the batch ended as {batch}")
took, found = [], 0
for sentence in sentences:
    asked = time.monotonic()
    results = call(f"/v1/vector_stores/{store}/search", {"query": sentence, "max_num_results": 10})["data"]
    took.append((time.monotonic() - asked) * 1000)
    found += any(plain(sentence) in plain(part["text"]) for r in results for part in r["content"])
print(
    f"| {NAME} | {len(ids) / filled:.1f} | {statistics.median(took):.1f} | {statistics.quantiles(took, n=20)[-1]:.1f} | {found} of {len(sentences)} "
    f"| {empty:.0f} MB | {status('RssAnon'):.0f} MB | {status('VmHWM'):.0f} MB |"
)
