"""Writes what a sentence-transformers model of the BERT family makes of texts, computed with nothing but numpy (and the
reference tokeniser, package tokenizers), for the tests of this package.

    python reference.py MODEL-DIRECTORY TEXTS > reference.jsonl

TEXTS has a text in JSON on each line; "reference.py MODEL-DIRECTORY TEXTS ids" writes only the tokens. If a line is a
list of a query and a passage, the model is a reranker (cross-encoder), and its logit is written instead of a vector.
"""

import json
import math
import pathlib
import struct
import sys

import numpy as np
from tokenizers import Tokenizer


def tensors(path):
    """The floating-point tensors of a safetensors file, in double precision."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__" or entry["dtype"] not in ("F32", "F16", "BF16"):
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + size + begin:8 + size + end]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
        else:
            values = np.frombuffer(raw, "<f4" if entry["dtype"] == "F32" else "<f2")
        out[name] = values.reshape(entry["shape"]).astype(np.float64)
    return out


def read(path):
    return json.loads(path.read_text()) if path.exists() else {}


class Model:
    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.config = read(directory / "config.json")
        lengths = read(directory / "sentence_bert_config.json") or {"max_seq_length": read(directory / "tokenizer_config.json").get("model_max_length")}
        self.offset = self.config["pad_token_id"] + 1 if self.config["model_type"] == "xlm-roberta" else 0
        self.cls = read(directory / "1_Pooling/config.json").get("pooling_mode_cls_token", False)
        self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(lengths.get("max_seq_length") or self.config["max_position_embeddings"] - self.offset)
        self.weights = {}
        for name, values in tensors(directory / "model.safetensors").items():
            self.weights[name.removeprefix("bert.").removeprefix("roberta.")] = values
        self.erf = np.vectorize(math.erf)

    def encode(self, text):
        """The ids and the token types of a text, or of a query and a passage. Models with one type have only type 0."""
        encoded = self.tokenizer.encode(*text) if isinstance(text, list) else self.tokenizer.encode(text)
        types = len(self.weights["embeddings.token_type_embeddings.weight"])
        return encoded.ids, [min(kind, types - 1) for kind in encoded.type_ids]

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + self.config["layer_norm_eps"]) * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def network(self, ids, types):
        w, heads = self.weights, self.config["num_attention_heads"]
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][self.offset:self.offset + len(ids)]
        x = self.norm(x + w["embeddings.token_type_embeddings.weight"][types], "embeddings.LayerNorm")
        size = x.shape[1] // heads
        for i in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{i}."
            q, k, v = (self.linear(x, name + "attention.self." + part).reshape(len(ids), heads, size).transpose(1, 0, 2)
                       for part in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(size)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ v
            mixed = mixed.transpose(1, 0, 2).reshape(len(ids), -1)
            x = self.norm(x + self.linear(mixed, name + "attention.output.dense"), name + "attention.output.LayerNorm")
            wide = self.linear(x, name + "intermediate.dense")
            wide = wide * 0.5 * (1 + self.erf(wide / math.sqrt(2)))
            x = self.norm(x + self.linear(wide, name + "output.dense"), name + "output.LayerNorm")
        return x

    def vector(self, ids, types):
        x = self.network(ids, types)
        x = x[0] if self.cls else x.mean(0)
        return x / np.linalg.norm(x)

    def logit(self, ids, types):
        dense, out = ("pooler.dense", "classifier") if "pooler.dense.weight" in self.weights else ("classifier.dense", "classifier.out_proj")
        return self.linear(np.tanh(self.linear(self.network(ids, types)[0], dense)), out)[0]


def main():
    model = Model(sys.argv[1])
    for line in open(sys.argv[2], encoding="utf-8"):
        text = json.loads(line)
        ids, types = model.encode(text)
        out = {"text": text, "ids": ids}
        if isinstance(text, list):
            out = {"pair": text, "ids": ids, "types": types, "logit": round(float(model.logit(ids, types)), 8)}
        elif len(sys.argv) < 4:
            out["vector"] = [round(float(v), 8) for v in model.vector(ids, types)]
        print(json.dumps(out, ensure_ascii=False))


main()
