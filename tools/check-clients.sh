#!/usr/bin/env bash
# Starts a service, runs published clients of other projects against it, and fails if a client does not get what it expects:
#   openai for Python, Node, Go and Java; Vercel's AI SDK, litellm, openai-agents, LangChain's and LlamaIndex's classes for OpenAI;
#   cohere, tika, tika-client, mcp (Python), @modelcontextprotocol/sdk and the inspector's command line (Node);
#   @microsoft/fetch-event-source and ChaindeskRetriever (Node), DataberryRetriever (Python);
#   clients generated from /openapi.json by openapi-generator, openapi-python-client, openapi-typescript, ogen and oapi-codegen;
#   the examples in docs/examples for JavaScript, LangChain and LlamaIndex.
# Needs Go, Python 3 with venv, Node 20 or newer, Java 17 with Maven, and the package registries. The clients are installed in a
# temporary directory, or in one that is kept: check-clients.sh [DIRECTORY].
set -euo pipefail
cd "$(dirname "$0")/.."

source tools/scratch.sh

echo "== the clients"
if [ ! -x "$work/python/bin/python" ]; then python3 -m venv "$work/python"; fi
"$work/python/bin/pip" install --quiet --disable-pip-version-check -r tools/clients/requirements.txt
# These need other versions of the same packages.
for venv in frameworks newest; do if [ ! -x "$work/$venv/bin/python" ]; then python3 -m venv "$work/$venv"; fi; done
"$work/frameworks/bin/pip" install --quiet --disable-pip-version-check -r tools/clients/frameworks.txt
"$work/newest/bin/pip" install --quiet --disable-pip-version-check 'openai>=3,<4'
mkdir -p "$work/node"
cp tools/clients/package.json tools/clients/*.mjs "$work/node/"
(cd "$work/node" && npm install --silent --no-audit --no-fund)
mkdir -p "$work/retrievers"
cp tools/clients/retrievers/* "$work/retrievers/"
(cd "$work/retrievers" && npm install --silent --no-audit --no-fund --legacy-peer-deps)

echo "== the service"
build_service
export SLUICE_API_KEY=sk_clients_only_0123456789abcdef0123456789abcdef SLUICE_LOG_LEVEL=warn
# serve NAME SETTING… starts a service, adds content, and sets `url` and `made`, the ids of an agent and a datastore.
serve() {
  local at
  at=127.0.0.1:$(port)
  rm -rf "$work/data-$1"
  env SLUICE_DATA_DIR="$work/data-$1" SLUICE_ADDR="$at" "${@:2}" "$work/api" >"$work/service-$1.log" 2>&1 &
  started+=($!)
  url=http://$at
  ready "$url/readyz"
  made=$(SLUICE_URL=$url "$work/python/bin/python" tools/clients/content.py)
}
model=$(port)
"$work/python/bin/python" tools/clients/chat_model.py "$model" &
started+=($!)
serve model SLUICE_CHAT_MODEL=openai:small OPENAI_API_KEY=none "OPENAI_BASE_URL=http://127.0.0.1:$model/v1"
export MODEL_URL=$url MODEL_DATASTORE=${made#* }
serve quoting
export SLUICE_URL=$url CHECK_AGENT=${made% *} DATASTORE=${made#* } CHECK_BINARY=$work/api

for client in openai_client openai_files responses_client models_client neighbours_client mcp_client databerry_client; do
  echo "== Python: $client"
  "$work/python/bin/python" "tools/clients/$client.py"
done
for client in openai_files responses_client; do
  echo "== Python, newest: $client"
  "$work/newest/bin/python" "tools/clients/$client.py"
done
echo "== Python: frameworks_client"
LITELLM_LOCAL_MODEL_COST_MAP=True "$work/frameworks/bin/python" -W ignore tools/clients/frameworks_client.py
echo "== Go: openai-go"
mkdir -p "$work/go"
cp tools/clients/openai_go/go.mod.txt "$work/go/go.mod"
cp tools/clients/openai_go/main.go.txt "$work/go/main.go"
(cd "$work/go" && go mod tidy 2>"$work/tidy.log" && CGO_ENABLED=0 go run .) || { cat "$work/tidy.log" >&2; exit 1; }
echo "== Java: openai-java"
mkdir -p "$work/java"
cp tools/clients/openai_java/* "$work/java/"
(cd "$work/java" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib && javac -cp 'lib/*' -d classes Check.java && java -cp 'classes:lib/*' Check)
for client in openai_client openai_files responses_client models_client ai_sdk mcp_client; do
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
grep -q 'the API key is wrong, revoked or expired' "$work/inspected"
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
