"""Writes reference.jsonl: texts with their vectors by the published model, in 32-bit floats by onnxruntime.

    python reference.py TOKENIZER.json MODEL.onnx < texts.txt > reference.jsonl

MODEL.onnx is an export of the network of sentence-transformers/all-MiniLM-L6-v2 whose first output contains a vector
for each token. Needs onnxruntime, tokenizers and numpy.
"""

import base64
import json
import sys

import numpy
import onnxruntime
import tokenizers

tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
tokenizer.no_padding()
tokenizer.enable_truncation(256)
session = onnxruntime.InferenceSession(sys.argv[2])
for line in sys.stdin:
    text = line.rstrip("\n")
    ids = numpy.array([tokenizer.encode(text).ids], dtype=numpy.int64)
    inputs = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
    names = [i.name for i in session.get_inputs()]
    tokens = session.run(None, {k: v for k, v in inputs.items() if k in names})[0][0]
    vector = tokens.mean(axis=0)
    scaled = numpy.round(vector / abs(vector).max() * 127).astype(numpy.int8)
    print(json.dumps({"text": text, "vector": base64.b64encode(scaled.tobytes()).decode()}, ensure_ascii=False))
