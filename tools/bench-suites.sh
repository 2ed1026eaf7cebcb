#!/usr/bin/env bash
# Compares a service with Llama Stack's server, which speaks the same interface, on the same files and searches, in one run; the table
# goes to standard output. Both use the same embedding model. Llama Stack asks a second service for its vectors, whose memory does not
# count. Needs Go and Python 3.12 or newer. Packages are installed in a temporary directory, or in one that is kept:
# bench-suites.sh [DIRECTORY]. DOCUMENTS: how many, 300 by default.
set -euo pipefail
cd "$(dirname "$0")/.."

source tools/scratch.sh

for candidate in python3.14 python3.13 python3.12 python3; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then python=$candidate; break; fi
done
if [ ! -x "$work/python/bin/python" ]; then "${python:?Llama Stack needs Python 3.12 or newer}" -m venv "$work/python"; fi
"$work/python/bin/pip" install --quiet --disable-pip-version-check -r tools/suites/llama_stack_server.txt
TIKTOKEN_CACHE_DIR=$("$work/python/bin/python" -c 'import importlib.util as u; print(u.find_spec("litellm").submodule_search_locations[0])')/litellm_core_utils/tokenizers
export TIKTOKEN_CACHE_DIR
build_service
export SLUICE_API_KEY=sk_suites_only_0123456789abcdef0123456789abcdef SLUICE_LOG_LEVEL=warn EMBEDDING_MODEL=builtin-en-256-v1

# start NAME COMMAND… starts a server with an empty directory, STORE_DIR, and sets `process`. `url` is its address.
start() {
  export STORE_DIR=$work/data-$1
  rm -rf "$STORE_DIR" && mkdir -p "$STORE_DIR"
  "${@:2}" >"$work/service-$1.log" 2>&1 &
  process=$!
  started+=("$process")
}
service() {
  url=http://127.0.0.1:$(port)
  start "$1" env SLUICE_DATA_DIR="$work/data-$1" SLUICE_ADDR="${url#http://}" "$work/api"
  ready "$url/readyz"
}
# measure NAME [MODEL] prints a server's row and stops it.
measure() {
  "$work/python/bin/python" tools/suites/compare.py "$1" "$url" "$SLUICE_API_KEY" "$process" "${DOCUMENTS:-300}" "${@:2}"
  kill "$process"
  wait "$process" 2>/dev/null || true
}

service embeddings
export EMBEDDINGS_URL=$url/v1 EMBEDDINGS_KEY=$SLUICE_API_KEY
echo '| | files/s | search, median ms | 95 % | sentence found | memory, empty | with the files | highest |'
echo '|---|--:|--:|--:|--:|--:|--:|--:|'
service sluice
measure Sluice
url=http://127.0.0.1:$(port)
start llama-stack "$work/python/bin/llama" stack run "$PWD/tools/suites/llama_stack.yaml" --port "${url##*:}"
ready "$url/v1/health"
measure 'Llama Stack' "embeddings/$EMBEDDING_MODEL"
