"""Fills and queries one store for benchpeers: peers.py <store> fill|ask <folder of the workload> <seconds for each figure> <seconds until it is idle> <address of the embedding server>.

The last line of the output is JSON. The store is queried with its own client in this process, by one thread and by eight.
"""

import atexit
import gc
import http.client
import json
import os
import pathlib
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import types
import urllib.parse

import numpy as np


class Workload:
    def __init__(self, folder):
        told = json.loads((folder / "workload.json").read_text())
        self.best, self.dimensions = told["best"], told["dimensions"]
        self.filtered_part = told["filtered_part"]
        self.questions = told["questions"]
        self.fresh, self.fresh_ones = told["fresh"], told["fresh_ones"]
        self.texts = (folder / "texts.txt").read_text().splitlines()
        self.rows = len(self.texts)
        self.parts = [row // told["rows_per_document"] % told["parts"] for row in range(self.rows)]
        self.vectors = np.fromfile(folder / "vectors.f32", np.float32).reshape(self.rows, self.dimensions)

    def batches(self, size):
        for start in range(0, self.rows, size):
            yield range(start, min(start + size, self.rows))


class Chroma:
    ways = ("dense", "filtered")

    def __init__(self, folder):
        import chromadb

        self.client = chromadb.PersistentClient(str(folder / "chroma"))

    def fill(self, w):
        made = self.client.create_collection("chunks", configuration={"hnsw": {"space": "cosine"}})
        for b in w.batches(5000):
            made.add(ids=[str(i) for i in b], embeddings=w.vectors[b.start:b.stop],
                     documents=w.texts[b.start:b.stop], metadatas=[{"part": w.parts[i]} for i in b])

    def open(self, w):
        self.collection, self.w = self.client.get_collection("chunks"), w

    def dense(self, q, where=None):
        found = self.collection.query(query_embeddings=[q["vector"]], n_results=self.w.best, where=where, include=["documents", "distances"])
        return [int(i) for i in found["ids"][0]]

    def filtered(self, q):
        return self.dense(q, {"part": self.w.filtered_part})


class ChromaServer(Chroma):
    """Chroma as a server. It is queried with its HTTP client, as Sluice is."""

    def __init__(self, folder):
        import chromadb

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        program = pathlib.Path(sys.executable).with_name("chroma")
        self.server = subprocess.Popen([program, "run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder / "chroma")],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.server.kill)
        while True:
            try:
                self.client = chromadb.HttpClient("127.0.0.1", port)
                return
            except ValueError:
                if self.server.poll() is not None:
                    raise
                time.sleep(0.05)

    def fill(self, w):
        if not self.client.list_collections():  # what Chroma in process has left is the same
            super().fill(w)


class Qdrant:
    ways = ("dense", "filtered")

    def __init__(self, folder):
        from qdrant_client import QdrantClient, models

        self.models = models
        self.client = QdrantClient(path=str(folder / "qdrant"), force_disable_check_same_thread=True)

    def fill(self, w):
        m = self.models
        self.client.create_collection("c", vectors_config=m.VectorParams(size=w.dimensions, distance=m.Distance.COSINE))
        for b in w.batches(2000):
            self.client.upsert("c", points=m.Batch(ids=list(b), vectors=w.vectors[b.start:b.stop].tolist(),
                                                   payloads=[{"part": w.parts[i], "text": w.texts[i]} for i in b]))

    def open(self, w):
        self.w = w
        m = self.models
        self.filter = m.Filter(must=[m.FieldCondition(key="part", match=m.MatchValue(value=w.filtered_part))])

    def dense(self, q, narrowed=None):
        found = self.client.query_points("c", query=q["vector"], limit=self.w.best, query_filter=narrowed, with_payload=True)
        return [p.id for p in found.points]

    def filtered(self, q):
        return self.dense(q, self.filter)


class LanceDB:
    ways = ("dense", "filtered")

    def __init__(self, folder):
        import lancedb

        self.db = lancedb.connect(str(folder / "lancedb"))

    def fill(self, w):
        import pyarrow as pa

        vectors = pa.FixedSizeListArray.from_arrays(pa.array(w.vectors.reshape(-1)), w.dimensions)
        made = self.db.create_table("c", pa.table({"id": list(range(w.rows)), "part": w.parts, "text": w.texts, "vector": vectors}))
        made.create_scalar_index("part")

    def open(self, w):
        self.table, self.w = self.db.open_table("c"), w

    def search(self, q):
        return self.table.search(np.array(q["vector"], np.float32)).distance_type("cosine").limit(self.w.best).select(["id", "text"])

    def dense(self, q):
        return [r["id"] for r in self.search(q).to_list()]

    def filtered(self, q):
        return [r["id"] for r in self.search(q).where(f"part = {self.w.filtered_part}", prefilter=True).to_list()]


class Milvus:
    ways = ("dense", "filtered")

    def __init__(self, folder):
        from pymilvus import MilvusClient

        self.client = MilvusClient(str(folder / "milvus.db"))

    def fill(self, w):
        self.client.create_collection("c", dimension=w.dimensions, metric_type="COSINE")
        for b in w.batches(2000):
            self.client.insert("c", [{"id": i, "vector": w.vectors[i].tolist(), "part": w.parts[i], "text": w.texts[i]} for i in b])

    def open(self, w):
        self.w = w
        self.client.load_collection("c")

    def dense(self, q, narrowed=""):
        found = self.client.search("c", data=[q["vector"]], limit=self.w.best, filter=narrowed, output_fields=["text"])
        return [h["id"] for h in found[0]]

    def filtered(self, q):
        return self.dense(q, f"part == {self.w.filtered_part}")


class BM25S:
    ways = ("words",)

    def __init__(self, folder):
        self.folder = str(folder / "bm25s")

    def fill(self, w):
        import bm25s

        made = bm25s.BM25(k1=1.2, b=0.75)
        made.index(bm25s.tokenize(w.texts, stopwords="en", show_progress=False), show_progress=False)
        made.save(self.folder, corpus=w.texts)

    def open(self, w):
        import bm25s

        self.bm25s, self.w = bm25s, w
        self.retriever = bm25s.BM25.load(self.folder, mmap=True, load_corpus=True)

    def words(self, q):
        tokens = self.bm25s.tokenize(q["common"], stopwords="en", show_progress=False, return_ids=False)
        found, _ = self.retriever.retrieve(tokens, k=self.w.best, show_progress=False)
        return [f["id"] for f in found[0]]


class Tantivy:
    ways = ("words",)

    def __init__(self, folder):
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("id", stored=True)
        schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
        path = folder / "tantivy"
        path.mkdir(exist_ok=True)
        self.tantivy, self.index = tantivy, tantivy.Index(schema.build(), path=str(path))

    def fill(self, w):
        writer = self.index.writer(heap_size=256 << 20)
        for i, text in enumerate(w.texts):
            writer.add_document(self.tantivy.Document(id=i, text=text))
        writer.commit()
        writer.wait_merging_threads()

    def open(self, w):
        self.w = w
        self.index.reload()
        self.searcher = self.index.searcher()

    def words(self, q):
        found = self.searcher.search(self.index.parse_query(q["common"], ["text"]), self.w.best)
        return [self.searcher.doc(at).to_dict()["id"][0] for _, at in found.hits]


class FTS5:
    ways = ("words",)

    def __init__(self, folder):
        self.path, self.local = str(folder / "fts5.db"), threading.local()

    def connection(self):
        if not hasattr(self.local, "db"):
            self.local.db = sqlite3.connect(self.path)
        return self.local.db

    def fill(self, w):
        db = self.connection()
        db.execute("CREATE VIRTUAL TABLE c USING fts5(text, tokenize='porter')")
        db.executemany("INSERT INTO c (rowid, text) VALUES (?, ?)", enumerate(w.texts))
        db.execute("INSERT INTO c (c) VALUES ('optimize')")
        db.commit()

    def open(self, w):
        self.w = w

    def words(self, q):
        asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(q["common"].split()))
        found = self.connection().execute("SELECT rowid, text FROM c WHERE c MATCH ? ORDER BY rank LIMIT ?", (asked, self.w.best))
        return [row for row, _ in found]


STORES = {"chroma": Chroma, "chroma-server": ChromaServer, "qdrant": Qdrant, "lancedb": LanceDB, "milvus": Milvus, "bm25s": BM25S, "tantivy": Tantivy, "fts5": FTS5}


class OpenAI:
    """Sends texts to the embedding server with OpenAI's client, as the embedding functions of Chroma and LanceDB do."""

    def __init__(self, address):
        import openai

        self.client = openai.OpenAI(base_url=address, api_key="none")

    def vector(self, text):
        return self.client.embeddings.create(model="workload", input=[text]).data[0].embedding


class Bare:
    """Sends texts to the embedding server over one open connection per thread, with as little overhead as possible."""

    def __init__(self, address):
        self.address, self.local = urllib.parse.urlsplit(address), threading.local()

    def vector(self, text):
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection(self.address.netloc)
        connection = self.local.connection
        connection.request("POST", self.address.path + "/embeddings", json.dumps({"model": "workload", "input": text}), {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())["data"][0]["embedding"]


def processor_time(server):
    """Returns the processor time of the server with its children, or of this process if the store runs in it."""
    if server is None:
        return time.process_time()
    ticks = 0
    for process in family(server):
        ticks += sum(map(int, fields(process)[11:13]))
    return (ticks + sum(map(int, fields(server)[13:15]))) / os.sysconf("SC_CLK_TCK")


def fields(process):
    """Returns the fields of a process's /proc/stat after its name."""
    with open(f"/proc/{process}/stat") as stat:
        return stat.read().rpartition(")")[2].split()


def family(server):
    """Returns the server and its children."""
    found = [server]
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and int(fields(entry)[1]) == server:
                found.append(int(entry))
        except OSError:  # it has ended
            pass
    return found


def measure(ask, questions, truth, clients, seconds, server, once=False):
    """Sends questions from several threads: repeatedly, or each question once. Repeated questions are sent once before the
    measurement, if there is time."""
    began = time.perf_counter()
    for q in questions[:10] if once else questions:  # the first run of a question may be slow
        if time.perf_counter() - began > seconds:
            break
        ask(q)
    if once:
        questions = questions[10:]
    waits, hits, faults, lock = [], [], [], threading.Lock()
    taken = iter(range(len(questions) if once else 1 << 60))
    began = time.perf_counter()

    def client():
        try:
            while time.perf_counter() - began < seconds:
                with lock:
                    n = next(taken, None)
                if n is None:
                    return
                q = questions[n % len(questions)]
                start = time.perf_counter()
                found = ask(q)
                took = time.perf_counter() - start
                with lock:
                    waits.append(took)
                    if truth:
                        hits.append(len(set(found) & set(q[truth])) / max(len(q[truth]), 1))
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    used = processor_time(server)
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if faults:
        raise faults[0]
    passed, used = time.perf_counter() - began, processor_time(server) - used
    waits.sort()
    return {"P50": waits[len(waits) // 2], "P99": waits[min(len(waits) - 1, len(waits) * 99 // 100)],
            "Rate": len(waits) / passed, "CPU": used / len(waits), "Recall": sum(hits) / len(hits) if hits else 0}


def anonymous(process="self"):
    """Returns the memory of a process in bytes, without pages of files."""
    with open(f"/proc/{process}/status") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    return 0


def main():
    name, step, folder, seconds = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), float(sys.argv[4])
    told = {}
    w = Workload(folder)
    if step == "fill":
        store = STORES[name](folder)
        began = time.perf_counter()
        store.fill(w)
        told["Fill"] = time.perf_counter() - began
    else:
        w.texts = w.vectors = w.parts = None  # what memory the store takes is to be told
        gc.collect()
        before = anonymous()
        began = time.perf_counter()
        store = STORES[name](folder)
        store.open(w)
        getattr(store, store.ways[0])(w.questions[0])
        told["Open"] = time.perf_counter() - began
        figures, server = {}, store.server.pid if hasattr(store, "server") else None
        for way in store.ways:
            truth = {"dense": "nearest", "filtered": "filtered"}.get(way)
            for clients in (1, 8):
                figures[f"{way}/{clients}"] = measure(getattr(store, way), w.questions, truth, clients, seconds, server)
        gc.collect()
        time.sleep(float(sys.argv[5]))
        told["Figures"] = figures
        told["Memory"] = sum(map(anonymous, family(server))) if server else anonymous() - before
        if "dense" in store.ways:
            sets = (w.fresh[at:at + w.fresh_ones] for at in range(0, len(w.fresh), w.fresh_ones))
            for name, embedder in (("fresh", OpenAI(sys.argv[6])), ("fresh bare", Bare(sys.argv[6]))):
                for clients in (1, 8):
                    figures[f"{name}/{clients}"] = measure(lambda text: store.dense({"vector": embedder.vector(text)}), next(sets), None, clients, seconds, server, once=True)
    print()
    print(json.dumps(told), flush=True)
