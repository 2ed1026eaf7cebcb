#!/usr/bin/env bash
# Runs test suites of other projects against a service:
#   openresponses   the compliance tests of Open Responses (github.com/openresponses/openresponses)
#   llama-stack     Llama Stack's tests of files, vector stores, file search and conversations (github.com/llamastack/llama-stack)
# OPENRESPONSES and LLAMA_STACK name checkouts. Without them, the repositories are cloned. Nothing of them is kept, and a suite that
# cannot be had is skipped with a message. tools/suites/*.txt lists the tests that do not apply, and why.
# Needs Go, Python 3.12 or newer, Node and npm. Packages are installed in a temporary directory, or in one that is kept:
# check-suites.sh [DIRECTORY].
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD

source tools/scratch.sh

# checkout DIRECTORY REPOSITORY REVISION clones a repository, unless an earlier run has done so.
checkout() {
  if [ -d "$1" ]; then return; fi
  git clone --quiet --depth 1 ${3:+--branch "$3"} "https://github.com/$2" "$1" 2>"$work/clone.log" || { rm -rf "$1"; return 1; }
}
# excluded FILE prints the tests in a list of tests that do not apply, one a line.
excluded() { sed -e '/^#/d' -e 's/ .*//' -e '/^$/d' "$here/tools/suites/$1.txt"; }

echo "== the service"
build_service
rm -rf "$work/data"
export SLUICE_API_KEY=sk_suites_only_0123456789abcdef0123456789abcdef SLUICE_DATA_DIR=$work/data SLUICE_LOG_LEVEL=warn
export CHECK_MODEL=gpt-4o-mini # selects the chat model of the service
model=$(port)
python3 tools/clients/chat_model.py "$model" &
started+=($!)
ready "http://127.0.0.1:$model/v1/models"
address=127.0.0.1:$(port)
SLUICE_ADDR=$address SLUICE_CHAT_MODEL=openai:small OPENAI_API_KEY=none OPENAI_BASE_URL=http://127.0.0.1:$model/v1 "$work/api" >"$work/service.log" 2>&1 &
started+=($!)
export SLUICE_URL=http://$address
ready "$SLUICE_URL/readyz"
skipped=0

echo "== Open Responses"
suite=${OPENRESPONSES:-$work/openresponses}
if [ -n "${OPENRESPONSES:-}" ] || checkout "$suite" openresponses/openresponses ''; then
  mkdir -p "$work/compliance"
  cp -r "$suite/bin" "$suite/src" "$work/compliance/"
  cd "$work/compliance"
  [ -f package.json ] || npm init --yes >npm.log
  npm install --silent --no-audit --no-fund bun@1 'zod@^3.25.76'
  apply=$(grep -oE '^    id: "[a-z-]+"' src/lib/compliance-tests.ts | cut -d'"' -f2 | grep -vxF "$(excluded openresponses)" | paste -sd,)
  npx --no-install bun run bin/compliance-test.ts --base-url "$SLUICE_URL/v1" --api-key "$SLUICE_API_KEY" --model "$CHECK_MODEL" --filter "$apply" >compliance.log ||
    { cat compliance.log; exit 1; }
  grep -E '✓|Results' compliance.log
  cd "$here"
else
  echo "skipped: it cannot be cloned, and OPENRESPONSES names no checkout"
  skipped=$((skipped + 1))
fi

echo "== Llama Stack"
suite=${LLAMA_STACK:-$work/llama-stack}
python=
for candidate in python3.14 python3.13 python3.12 python3; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
  echo "skipped: it needs Python 3.12 or newer"
  skipped=$((skipped + 1))
elif [ -n "${LLAMA_STACK:-}" ] || checkout "$suite" llamastack/llama-stack v0.7.1; then
  if [ ! -x "$work/python/bin/python" ]; then "$python" -m venv "$work/python"; fi
  "$work/python/bin/pip" install --quiet --disable-pip-version-check -r tools/suites/llama_stack_requirements.txt
  bridge=$(port)
  python3 tools/suites/bridge.py "$bridge" &
  started+=($!)
  ready "http://127.0.0.1:$bridge/v1/health"
  none=()
  while read -r name; do none+=(--deselect "tests/integration/$name"); done < <(excluded llama_stack)
  cd "$suite/tests/integration" # fails here if the checkout lacks the tests
  cd "$suite"
  "$work/python/bin/python" -m pytest tests/integration/{files,conversations} tests/integration/vector_io/test_openai_vector_stores.py \
    tests/integration/responses/test_{file_search,tool_responses,conversation_responses}.py -k 'not faiss' -q -p no:cacheprovider --tb=short \
    "${none[@]}" --stack-config="http://127.0.0.1:$bridge" --text-model="$CHECK_MODEL" --embedding-model=builtin-en-256-v1 --embedding-dimension=256
  cd "$here"
else
  echo "skipped: it cannot be cloned, and LLAMA_STACK names no checkout"
  skipped=$((skipped + 1))
fi
echo "ok, $skipped skipped"
