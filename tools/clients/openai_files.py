"""The official OpenAI client for Python against /v1: files, uploads in parts, vector stores and file batches."""

import io
import os
import time

import openai

client = openai.OpenAI(base_url=os.environ["SLUICE_URL"] + "/v1", api_key=os.environ["SLUICE_API_KEY"], max_retries=0)
TEXTS = {
    "heron.txt": b"The heron bridge was opened in March. It carries trams and bicycles.",
    "otter.md": b"# Otter lock\n\nThe otter lock was rebuilt after the flood. Boats of twelve metres may pass.",
    "lynx.csv": b"station,height\nlynx pass,1843\n",
}


def upload(name):
    return client.files.create(file=(name, TEXTS[name]), purpose="assistants")


def refused(kind, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as e:
        assert e.message, e
        return e
    raise AssertionError(f"{call} was not refused with {kind}")


def files():
    made = [upload(name) for name in TEXTS]
    assert all(f.object == "file" and f.status == "processed" and f.id.startswith("file-") for f in made), made
    assert made[0].bytes == len(TEXTS["heron.txt"]) and made[0].filename == "heron.txt"
    pages = client.files.list(limit=2, order="asc")
    assert [f.id for f in pages][-3:] == [f.id for f in made]  # the iterator asks for the other pages
    assert [f.id for f in client.files.list(purpose="vision")] == []
    assert client.files.retrieve(made[1].id) == made[1]
    assert client.files.wait_for_processing(made[1].id).id == made[1].id
    assert client.files.content(made[1].id).read() == TEXTS["otter.md"]
    brief = client.files.create(
        file=io.BytesIO(b"brief"), purpose="user_data", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert brief.expires_at == brief.created_at + 3600
    for f in [*made, brief]:
        assert client.files.delete(f.id).deleted
    refused(openai.NotFoundError, client.files.retrieve, made[0].id)
    assert refused(openai.BadRequestError, client.files.create, file=b"x", purpose="nothing").param == "purpose"


def uploads():
    text = b"".join(b"Line %d of the long report.\n" % n for n in range(40_000))
    made = client.uploads.upload_file_chunked(
        file=text, filename="report.txt", bytes=len(text), mime_type="text/plain", purpose="assistants", part_size=400_000
    )
    assert made.status == "completed" and made.file.bytes == len(text), made
    assert client.files.content(made.file.id).read() == text
    client.files.delete(made.file.id)
    other = client.uploads.create(bytes=3, filename="a.txt", mime_type="text/plain", purpose="assistants")
    client.uploads.parts.create(other.id, data=b"abc")
    assert client.uploads.cancel(other.id).status == "cancelled"
    refused(openai.ConflictError, client.uploads.complete, other.id, part_ids=["part_x"])


def stores():
    store = client.vector_stores.create(
        name="Places",
        metadata={"owner": "maps"},
        expires_after={"anchor": "last_active_at", "days": 7},
        file_ids=[upload("heron.txt").id],
        chunking_strategy={"type": "static", "static": {"max_chunk_size_tokens": 200, "chunk_overlap_tokens": 50}},
    )
    assert store.id.startswith("vs_") and store.file_counts.total == 1, store
    assert store.expires_at == store.last_active_at + 7 * 86400 and store.metadata == {"owner": "maps"}
    assert store.id in [s.id for s in client.vector_stores.list(limit=1)]
    changed = client.vector_stores.update(store.id, name="Bridges", expires_after=None, metadata={"owner": "x"})
    assert (changed.name, changed.expires_after, changed.metadata) == ("Bridges", None, {"owner": "x"})
    listed = client.vector_stores.files.list(store.id).data
    assert listed[0].chunking_strategy.static.max_chunk_size_tokens == 200, listed
    assert client.vector_stores.retrieve(store.id).name == "Bridges"
    assert client.vector_stores.delete(store.id).deleted
    refused(openai.NotFoundError, client.vector_stores.retrieve, store.id)
    refused(openai.BadRequestError, client.vector_stores.retrieve, "nonsense")


def store_files():
    store = client.vector_stores.create()
    first = client.vector_stores.files.create_and_poll(upload("heron.txt").id, vector_store_id=store.id, attributes={"year": 2024, "open": True})
    second = client.vector_stores.files.upload_and_poll(vector_store_id=store.id, file=("otter.md", TEXTS["otter.md"]))
    assert first.status == second.status == "completed" and first.usage_bytes > 0, (first, second)
    assert [f.id for f in client.vector_stores.files.list(store.id, limit=1, order="asc")] == [first.id, second.id]
    assert client.vector_stores.files.list(store.id, filter="failed").data == []
    text = "".join(part.text for part in client.vector_stores.files.content(first.id, vector_store_id=store.id))
    assert "trams and bicycles" in text, text
    changed = client.vector_stores.files.update(second.id, vector_store_id=store.id, attributes={"year": 2026})
    assert changed.attributes == {"year": 2026}, changed
    client.vector_stores.files.poll(second.id, vector_store_id=store.id)

    found = client.vector_stores.search(store.id, query="Which bridge carries trams?", max_num_results=1)
    assert found.data[0].file_id == first.id and "trams" in found.data[0].content[0].text, found
    assert found.data[0].attributes == {"year": 2024, "open": True} and found.data[0].filename == "heron.txt"
    both = client.vector_stores.search(store.id, query=["bridge", "lock"], rewrite_query=True)
    assert {r.file_id for r in both} == {first.id, second.id}
    one = client.vector_stores.search(store.id, query="bridge or lock", filters={"type": "eq", "key": "year", "value": 2026})
    assert {r.file_id for r in one} == {second.id}, one
    older = {"type": "and", "filters": [{"type": "lt", "key": "year", "value": 2026}, {"type": "ne", "key": "open", "value": False}]}
    old = client.vector_stores.search(store.id, query="bridge or lock", filters=older)
    assert {r.file_id for r in old} == {first.id}, old
    none = client.vector_stores.search(store.id, query="bridge", ranking_options={"score_threshold": 1.0})
    assert none.data == []

    assert client.vector_stores.files.delete(second.id, vector_store_id=store.id).deleted
    refused(openai.NotFoundError, client.vector_stores.files.retrieve, second.id, vector_store_id=store.id)
    assert client.files.retrieve(second.id).filename == "otter.md"
    client.files.delete(first.id)
    assert client.vector_stores.retrieve(store.id).file_counts.total == 0


def batches():
    store = client.vector_stores.create(name="Batch")
    batch = client.vector_stores.file_batches.upload_and_poll(store.id, files=[(name, text) for name, text in TEXTS.items()])
    assert batch.status == "completed" and batch.file_counts.completed == 3, batch
    assert client.vector_stores.file_batches.retrieve(batch.id, vector_store_id=store.id) == batch
    assert len(list(client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store.id, limit=2))) == 3
    mixed = client.vector_stores.file_batches.create(
        store.id, files=[{"file_id": upload("lynx.csv").id, "attributes": {"kind": "table"}}, {"file_id": "file-missing"}]
    )
    deadline = time.monotonic() + 60
    while (mixed := client.vector_stores.file_batches.retrieve(mixed.id, vector_store_id=store.id)).status == "in_progress":
        assert time.monotonic() < deadline, mixed
        time.sleep(0.2)
    assert (mixed.file_counts.completed, mixed.file_counts.failed) == (1, 1), mixed
    cancelled = client.vector_stores.file_batches.cancel(mixed.id, vector_store_id=store.id)
    assert cancelled.status == "cancelled", cancelled
    client.vector_stores.delete(store.id)


for check in (files, uploads, stores, store_files, batches):
    check()
    print("  ", check.__name__)
print("   openai", openai.__version__)
