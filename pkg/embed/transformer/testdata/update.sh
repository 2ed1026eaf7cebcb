#!/bin/sh
# Computes anew what the tests of this package expect of their tiny models. It needs Python with numpy and tokenizers.
set -eu
cd "$(dirname "$0")"
models=$(mktemp -d)
trap 'rm -rf "$models"' EXIT
(cd .. && go test -count=1 -run TestModelsForTheReferenceAreWritten . -write "$models")
for model in "$models"/*; do
	"${PYTHON:-python3}" reference.py "$model" texts.jsonl >"$(basename "$model").jsonl"
done
