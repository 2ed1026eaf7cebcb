#!/bin/sh
# Computes anew what the tests of this package expect of their tiny models. It needs Python with numpy and tokenizers.
set -eu
cd "$(dirname "$0")"
models=$(mktemp -d)
trap 'rm -rf "$models"' EXIT
(cd .. && go test -count=1 -run TestModelsForTheReferenceAreWritten . -write "$models")
for model in "$models"/*; do
	case $(basename "$model") in
	*-pairs) texts=pairs.jsonl ;;
	*) texts=texts.jsonl ;;
	esac
	"${PYTHON:-python3}" reference.py "$model" "$texts" >"$(basename "$model").jsonl"
done
