"""Ingests files with a pipeline for benchpipelines: pipelines.py llamaindex|haystack <folder> <folder of a model, or "">.

Each pipeline is used as its documentation shows, with its own readers, splitter and in-memory store. The last line of the
output is JSON. Without a model, nothing is embedded. Tokens are counted after the measurement.
"""

import json
import math
import pathlib
import re
import sys
import tempfile
import time

# Maximum number of tokens that a model reads. Passages are split so that they fit.
MODEL_TOKENS = 256
BATCH = 32


class SentenceTransformer:
    """Embeds texts with onnxruntime: the mean of a BERT encoder's last states, scaled to unit length."""

    def __init__(self, folder):
        import onnxruntime
        from tokenizers import Tokenizer

        folder = pathlib.Path(folder)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(MODEL_TOKENS)
        self.tokenizer.enable_padding()
        with tempfile.NamedTemporaryFile(suffix=".onnx") as graph:
            export(folder, graph.name)
            self.session = onnxruntime.InferenceSession(graph.name, providers=["CPUExecutionProvider"])
        self.texts = []

    def count(self):
        """Returns how many tokens were embedded, and how many were cut off because of the model's limit."""
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        lengths = [len(self.tokenizer.encode(t).ids) for t in self.texts]
        embedded = sum(min(n, MODEL_TOKENS) for n in lengths)
        return embedded, sum(lengths) - embedded

    def embed(self, texts):
        import numpy as np

        self.texts.extend(texts)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # little padding
        out = [None] * len(texts)
        for start in range(0, len(order), BATCH):
            batch = order[start:start + BATCH]
            encoded = self.tokenizer.encode_batch([texts[i] for i in batch])
            mask = np.array([e.attention_mask for e in encoded], np.float32)
            states, = self.session.run(None, {
                "ids": np.array([e.ids for e in encoded], np.int64),
                "positions": np.arange(mask.shape[1], dtype=np.int64),
                "bias": ((1 - mask) * -1e9)[:, None, None, :],
            })
            means = (states * mask[:, :, None]).sum(1)
            for i, v in zip(batch, means / np.linalg.norm(means, axis=1, keepdims=True)):
                out[i] = v.tolist()
        return out


def export(folder, path):
    """Converts the encoder in a folder (config.json, model.safetensors) to an ONNX graph."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from safetensors.numpy import load_file

    config, weights = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
    hidden, heads, epsilon = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    nodes, constants = [], []

    def constant(value):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), f"c{len(constants)}"))
        return constants[-1].name

    def node(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, [f"n{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def linear(x, name):
        product = node("MatMul", x, constant(weights[name + ".weight"].T))
        return node("Add", product, constant(weights[name + ".bias"]))

    def norm(x, name):
        return node("LayerNormalization", x, constant(weights[name + ".weight"]), constant(weights[name + ".bias"]), axis=-1, epsilon=epsilon)

    def scalar(value):
        return constant(np.array(value, np.float32))

    words = node("Gather", constant(weights["embeddings.word_embeddings.weight"]), "ids")
    places = node("Gather", constant(weights["embeddings.position_embeddings.weight"]), "positions")
    kind = constant(weights["embeddings.token_type_embeddings.weight"][0])
    x = norm(node("Add", node("Add", words, places), kind), "embeddings.LayerNorm")
    apart = constant(np.array([0, 0, heads, hidden // heads], np.int64))
    together = constant(np.array([0, 0, hidden], np.int64))
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."

        def by_head(name, perm):
            return node("Transpose", node("Reshape", linear(x, at + "attention.self." + name), apart), perm=perm)

        scores = node("MatMul", by_head("query", [0, 2, 1, 3]), by_head("key", [0, 2, 3, 1]))
        scores = node("Add", node("Mul", scores, scalar(1 / math.sqrt(hidden // heads))), "bias")
        mixed = node("MatMul", node("Softmax", scores, axis=-1), by_head("value", [0, 2, 1, 3]))
        mixed = node("Reshape", node("Transpose", mixed, perm=[0, 2, 1, 3]), together)
        x = norm(node("Add", linear(mixed, at + "attention.output.dense"), x), at + "attention.output.LayerNorm")
        y = linear(x, at + "intermediate.dense")
        grown = node("Add", node("Erf", node("Mul", y, scalar(math.sqrt(0.5)))), scalar(1))
        y = node("Mul", node("Mul", y, grown), scalar(0.5))
        x = norm(node("Add", linear(y, at + "output.dense"), x), at + "output.LayerNorm")
    nodes.append(helper.make_node("Identity", [x], ["states"]))
    graph = helper.make_graph(
        nodes, "encoder",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"]),
         helper.make_tensor_value_info("positions", TensorProto.INT64, ["length"]),
         helper.make_tensor_value_info("bias", TensorProto.FLOAT, ["batch", 1, 1, "length"])],
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch", "length", hidden])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)


def words(documents):
    """Returns the number of different words per file, added up. documents are pairs of a file name and an extracted text."""
    found = {}
    for name, text in documents:
        found.setdefault(name, set()).update(re.findall("[a-z0-9]+", text.lower()))
    return sum(len(of) for of in found.values())


def llamaindex(folder, model):
    from llama_index.core import MockEmbedding, SimpleDirectoryReader, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import SentenceSplitter

    class Embedding(BaseEmbedding):
        def _get_text_embedding(self, text):
            return model.embed([text])[0]

        def _get_text_embeddings(self, texts):
            return model.embed(texts)

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query):
            return self._get_text_embedding(query)

    def run():
        documents = SimpleDirectoryReader(folder).load_data()
        splitter = SentenceSplitter(chunk_size=MODEL_TOKENS, chunk_overlap=0) if model else SentenceSplitter(chunk_size=512)
        embedding = Embedding(embed_batch_size=BATCH * 8) if model else MockEmbedding(embed_dim=8)
        index = VectorStoreIndex.from_documents(documents, transformations=[splitter], embed_model=embedding)
        return {
            "Files": len({d.metadata["file_path"] for d in documents}), "Chunks": len(index.index_struct.nodes_dict),
            "Texts": [(d.metadata["file_path"], d.text) for d in documents],
        }

    return run


def haystack(folder, model):
    from haystack import Pipeline, component
    from haystack.components import converters
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.preprocessors import DocumentSplitter
    from haystack.components.routers import FileTypeRouter
    from haystack.components.writers import DocumentWriter
    from haystack.dataclasses import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    @component
    class Embedder:
        @component.output_types(documents=list[Document])
        def run(self, documents: list[Document]):
            for d, v in zip(documents, model.embed([d.content for d in documents])):
                d.embedding = v
            return {"documents": documents}

    office = "application/vnd.openxmlformats-officedocument."
    readers = {
        "text/plain": converters.TextFileToDocument(), "application/json": converters.TextFileToDocument(),
        "application/pdf": converters.PyPDFToDocument(), "text/markdown": converters.MarkdownToDocument(),
        "text/html": converters.HTMLToDocument(), "text/csv": converters.CSVToDocument(),
        office + "wordprocessingml.document": converters.DOCXToDocument(),
        office + "presentationml.presentation": converters.PPTXToDocument(),
        office + "spreadsheetml.sheet": converters.XLSXToDocument(),
    }
    store, pipeline = InMemoryDocumentStore(), Pipeline()
    pipeline.add_component("router", FileTypeRouter(mime_types=list(readers)))
    pipeline.add_component("joiner", DocumentJoiner())
    for i, (kind, reader) in enumerate(readers.items()):
        pipeline.add_component(f"reader{i}", reader)
        pipeline.connect(f"router.{kind}", f"reader{i}.sources")
        pipeline.connect(f"reader{i}", "joiner")
    # An English word has about 1.3 tokens, and an invented word has 2.3.
    pipeline.add_component("splitter", DocumentSplitter(split_by="word", split_length=100 if model else 300))
    pipeline.add_component("writer", DocumentWriter(store))
    pipeline.connect("joiner", "splitter")
    if model:
        pipeline.add_component("embedder", Embedder())
        pipeline.connect("splitter", "embedder")
        pipeline.connect("embedder", "writer")
    else:
        pipeline.connect("splitter", "writer")

    def run():
        files = sorted(f for f in pathlib.Path(folder).iterdir() if f.is_file())
        pipeline.run({"router": {"sources": files}})
        return {
            "Files": len({d.meta["file_path"] for d in store.filter_documents()}), "Chunks": store.count_documents(),
            "Texts": [(d.meta["file_path"], d.content) for d in store.filter_documents()],
        }

    return run


def main():
    name, folder, model = sys.argv[1:4]
    model = SentenceTransformer(model) if model else None
    run = {"llamaindex": llamaindex, "haystack": haystack}[name](folder, model)
    began, used = time.perf_counter(), time.process_time()
    result = run()
    result.update(Took=time.perf_counter() - began, Used=time.process_time() - used)
    result["Words"] = words(result.pop("Texts"))
    result["Tokens"], result["CutTokens"] = model.count() if model else (0, 0)
    print()
    print(json.dumps(result), flush=True)


main()
