"""Encodes the training text with the teacher, in shards that survive an interruption.

Usage: encode.py TEXTS.txt WORK_DIR [--threads N]

Writes WORK_DIR/shard-NNN.npz, each with the vectors (float16), the flattened token ids without [CLS] and [SEP], and
the lengths of up to SHARD texts, and WORK_DIR/words.npz with the teacher's vector of every vocabulary entry alone.
"""

import argparse
import pathlib
import time

import numpy as np

from teacher import Teacher

SHARD = 4000


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("texts", type=pathlib.Path)
    arguments.add_argument("work", type=pathlib.Path)
    arguments.add_argument("--threads", type=int, default=2)
    options = arguments.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    teacher = Teacher(options.work, options.threads)
    words = options.work / "words.npz"
    if not words.exists():
        size = teacher.tokenizer.get_vocab_size()
        first, last = (teacher.tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]"))
        np.savez(words, vectors=teacher.encode([[first, i, last] for i in range(size)]).astype(np.float16))
    texts = options.texts.read_text().splitlines()
    for start in range(0, len(texts), SHARD):
        path = options.work / f"shard-{start // SHARD:03d}.npz"
        if path.exists():
            continue
        began = time.time()
        ids = teacher.token_ids(texts[start:start + SHARD])
        vectors = teacher.encode(ids, tokens_per_batch=2048)
        body = [t[1:-1] for t in ids]
        partial = path.with_suffix(".part.npz")
        np.savez(partial, vectors=vectors.astype(np.float16), ids=np.concatenate([np.array(b, np.int32) for b in body]),
                 lengths=np.array([len(b) for b in body], np.int32))
        partial.rename(path)
        print(f"{path.name}: {len(ids)} texts, {sum(map(len, ids))} tokens, {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
