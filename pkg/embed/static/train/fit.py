"""Fits the token vectors to the teacher's sentence vectors and writes the artefact.

Usage: fit.py WORK_DIR OUT.bin [--epochs N] [--rate R] [--seed S]

The loss of a batch is 1 - cos(weighted mean of a text's token vectors, teacher's vector reduced to 256 dimensions)
plus 20 times the mean squared error of the batch's similarities. Tokens that occur in no text keep the teacher's
vector of the token alone. Prints the held-out cosine after each epoch.
"""

import argparse
import hashlib
import pathlib
import struct

import numpy as np
from scipy import sparse

DIMENSIONS = 256
BATCH = 512
SIMILARITY = 20.0
HELD_OUT = 2000
SMOOTHING = 0.06  # the share of texts at which a token has half its weight; as in weights.go


def load(work):
    vectors, ids, lengths = [], [], []
    for path in sorted(work.glob("shard-[0-9][0-9][0-9].npz")):
        shard = np.load(path)
        vectors.append(shard["vectors"].astype(np.float32))
        ids.append(shard["ids"])
        lengths.append(shard["lengths"])
    return np.concatenate(vectors), np.concatenate(ids), np.concatenate(lengths)


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


def weights_of(frequencies, texts):
    """Returns the weight of each token. The formula is that of weightOf in Go."""
    return np.maximum(1, np.rint(255 * SMOOTHING / (SMOOTHING + frequencies / texts))).astype(np.float32)


class Adam:
    """The Adam optimizer, applied only to the rows that occur in a batch."""

    def __init__(self, table):
        self.table, self.m, self.v, self.step = table, np.zeros_like(table), np.zeros_like(table), 0

    def update(self, rows, gradient, rate):
        self.step += 1
        m = self.m[rows] = 0.9 * self.m[rows] + 0.1 * gradient
        v = self.v[rows] = 0.999 * self.v[rows] + 0.001 * gradient * gradient
        m, v = m / (1 - 0.9 ** self.step), v / (1 - 0.999 ** self.step)
        self.table[rows] -= rate * m / (np.sqrt(v) + 1e-8)


def gradient(sums, target):
    """Returns the gradient of a batch's loss with respect to the unnormalised sums of token vectors."""
    norms = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    u = sums / norms
    wrong = u @ u.T - target @ target.T
    g = -target / len(u) + SIMILARITY * 4 / len(u) ** 2 * (wrong @ u)
    return (g - u * (g * u).sum(1, keepdims=True)) / norms


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("work", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--epochs", type=int, default=6)
    arguments.add_argument("--rate", type=float, default=0.01)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()

    vectors, ids, lengths = load(options.work)
    words = np.load(options.work / "words.npz")["vectors"].astype(np.float32)
    keep = lengths > 0
    vectors, lengths = vectors[keep], lengths[keep]
    texts, entries = len(lengths), len(words)
    rows = np.repeat(np.arange(texts), lengths)
    counts = sparse.csr_matrix((np.ones(len(ids), np.float32), (rows, ids)), (texts, entries))
    frequencies = np.asarray((counts > 0).sum(0)).ravel()

    centre = vectors.mean(0)
    _, basis = np.linalg.eigh(np.cov(vectors.T))
    reduce = basis[:, ::-1][:, :DIMENSIONS].astype(np.float32)
    target = unit((vectors - centre) @ reduce)
    table = unit((words - centre) @ reduce)

    weighted = counts @ sparse.diags(weights_of(frequencies, texts))
    weighted = (sparse.diags(1 / np.maximum(np.asarray(weighted.sum(1)).ravel(), 1e-6)) @ weighted).tocsr()
    weighted = weighted.astype(np.float32)
    random = np.random.default_rng(options.seed)
    order = random.permutation(texts)
    held, train = order[:HELD_OUT], order[HELD_OUT:]

    adam = Adam(table)
    steps = options.epochs * (len(train) // BATCH)
    for epoch in range(options.epochs):
        random.shuffle(train)
        for start in range(0, len(train) - BATCH + 1, BATCH):
            batch = train[start:start + BATCH]
            x = weighted[batch]
            used = np.unique(x.indices)
            x = x[:, used]
            rate = options.rate * (1 - 0.95 * adam.step / steps)
            adam.update(used, x.T @ gradient(x @ table[used], target[batch]), rate)
        predicted = unit(weighted[held] @ table)
        wrong = predicted @ predicted.T - target[held] @ target[held].T
        print(f"epoch {epoch + 1}: held-out cosine {(predicted * target[held]).sum(1).mean():.4f}, "
              f"similarity error {np.sqrt((wrong ** 2).mean()):.4f}", flush=True)

    scale = np.quantile(np.abs(table), 0.99999) / 127
    small = np.rint(table / scale).clip(-127, 127).astype(np.int8)
    predicted = unit(weighted[held] @ small.astype(np.float32))
    print(f"as int8: held-out cosine {(predicted * target[held]).sum(1).mean():.4f}")
    write(options.out, small, scale, frequencies, texts)


def write(out, table, scale, frequencies, texts):
    from teacher import model_dir
    vocabulary = (model_dir() / "vocab.txt").read_bytes()
    data = b"SLUICE\x00\x01" + struct.pack("<IIIf", *table.shape, texts, scale)
    data += frequencies.astype("<u4").tobytes() + table.tobytes() + vocabulary
    out.write_bytes(data)
    print(f"{out}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
