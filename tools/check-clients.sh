#!/usr/bin/env bash
# Starts a service, runs published clients of other projects against it, and fails if a client does not get what it expects:
#   openai, cohere, tika, tika-client, LangChain's and LlamaIndex's classes for embeddings (Python), openai (Node), mcp (Python), @modelcontextprotocol/sdk and the inspector's command line (Node);
#   @microsoft/fetch-event-source and ChaindeskRetriever (Node), DataberryRetriever (Python);
#   clients generated from /openapi.json by openapi-generator, openapi-python-client, openapi-typescript, ogen and oapi-codegen;
#   the examples in docs/examples for JavaScript, LangChain and LlamaIndex.
# Needs Go, Python 3 with venv, Node 20 or newer, and the package registries. The clients are installed in a temporary
# directory, or in one that is kept: check-clients.sh [DIRECTORY].
set -euo pipefail
cd "$(dirname "$0")/.."

work=${1:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  keep=
else
  mkdir -p "$work"
  work=$(cd "$work" && pwd)
  keep=yes
fi
service=
finish() {
  status=$?
  if [ -n "$service" ]; then
    kill "$service" 2>/dev/null || true
    wait "$service" 2>/dev/null || true
  fi
  if [ $status -ne 0 ] && [ -f "$work/service.log" ]; then tail -n 40 "$work/service.log" >&2; fi
  if [ -z "$keep" ]; then rm -rf "$work"; fi
  exit $status
}
trap finish EXIT

echo "== the clients"
if [ ! -x "$work/python/bin/python" ]; then python3 -m venv "$work/python"; fi
"$work/python/bin/pip" install --quiet --disable-pip-version-check -r tools/clients/requirements.txt
mkdir -p "$work/node"
cp tools/clients/package.json tools/clients/*.mjs "$work/node/"
(cd "$work/node" && npm install --silent --no-audit --no-fund)
mkdir -p "$work/retrievers"
cp tools/clients/retrievers/* "$work/retrievers/"
(cd "$work/retrievers" && npm install --silent --no-audit --no-fund --legacy-peer-deps)

echo "== the service"
CGO_ENABLED=0 go build -o "$work/api" ./cmd/api
rm -rf "$work/data"
export SLUICE_API_KEY=sk_clients_only_0123456789abcdef0123456789abcdef SLUICE_DATA_DIR=$work/data SLUICE_LOG_LEVEL=warn
port=$("$work/python/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
SLUICE_ADDR=127.0.0.1:$port "$work/api" >"$work/service.log" 2>&1 &
service=$!
export SLUICE_URL=http://127.0.0.1:$port
for _ in $(seq 150); do
  if curl -fsS "$SLUICE_URL/readyz" >/dev/null 2>&1; then break; fi
  if ! kill -0 "$service" 2>/dev/null; then echo "the service ended" >&2; exit 1; fi
  sleep 0.2
done
made=$("$work/python/bin/python" tools/clients/content.py)
export CHECK_AGENT=${made% *} DATASTORE=${made#* } CHECK_BINARY=$work/api

for client in openai_client openai_files responses_client models_client neighbours_client mcp_client databerry_client; do
  echo "== Python: $client"
  "$work/python/bin/python" "tools/clients/$client.py"
done
for client in openai_client models_client mcp_client; do
  echo "== Node: $client"
  (cd "$work/node" && node "$client.mjs")
done
echo "== Node: retrievers"
(cd "$work/retrievers" && node retrievers.mjs)
echo "== Node: the inspector"
inspect() {
  (cd "$work/node" && timeout 60 npx --no-install mcp-inspector --cli -e "SLUICE_URL=$SLUICE_URL" -e "SLUICE_API_KEY=$SLUICE_API_KEY" \
    "$CHECK_BINARY" mcp "$@" </dev/null)
}
inspect_http() {
  (cd "$work/node" && timeout 60 npx --no-install mcp-inspector --cli "$SLUICE_URL/mcp" --transport http \
    --header "Authorization: Bearer ${KEY:-$SLUICE_API_KEY}" "$@" </dev/null)
}
# The output goes to a file first, because grep -q would close the pipe while the inspector is still writing.
expect() { "${how:?}" "${@:2}" >"$work/inspected" && grep -q "$1" "$work/inspected"; }
for how in inspect inspect_http; do
  expect '"name": "fetch"' --method tools/list
  expect 'thirty months' --method tools/call --tool-name ask --tool-arg 'question=How long is the warranty of the Aurora pump?'
  expect '"topK: 500 is above the maximum of 100"' --method tools/call --tool-name search --tool-arg query=pump topK=500
  expect 'sluice://datasources/' --method resources/list
done
if KEY=sk_wrong inspect_http --method tools/list >"$work/inspected" 2>&1; then echo "a wrong key was taken" >&2; exit 1; fi
grep -q 'the API key is not valid' "$work/inspected"
echo "== generated clients"
mkdir -p "$work/generated"
tools/clients/generated/check.sh "$work/generated"
# Each example must print the expected text. They create agents of their own, so they come last.
example() { # TEXT PROGRAM FILE
  echo "== $3"
  "$2" "$3" >"$work/printed" </dev/null
  grep -q "$1" "$work/printed" || { cat "$work/printed" >&2; exit 1; }
}
example 'thirty months' "$work/python/bin/python" docs/examples/langchain_retriever.py
example 'thirty months' "$work/python/bin/python" docs/examples/llamaindex_retriever.py
example 'thirty months' node docs/examples/client.mjs
echo "ok"
