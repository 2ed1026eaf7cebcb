#!/usr/bin/env bash
# Starts a service and tests it against the OpenAPI document that it serves. schemathesis generates valid and invalid
# requests, both single requests and chains that use the ids of earlier responses. It fails if a response does not conform to
# the document or has a 5xx status. Needs Go, Python 3.10 or newer with venv, and the Python package index.
#   CONTRACT_EXAMPLES: number of requests for each operation (default 50), and a third of the number of chains
#   CONTRACT_SEED:     random seed of the requests (default: a new one each time; a failure prints it)
# Packages are installed in a temporary directory, or in one that is kept: check-contract.sh [DIRECTORY].
set -euo pipefail
cd "$(dirname "$0")/.."

source tools/scratch.sh

echo "== schemathesis"
if [ ! -x "$work/python/bin/python" ]; then python3 -m venv "$work/python"; fi
"$work/python/bin/pip" install --quiet --disable-pip-version-check -r tools/contract/requirements.txt

echo "== the service"
build_service
rm -rf "$work/data"
export SLUICE_API_KEY=sk_contract_only_0123456789abcdef0123456789abcdef SLUICE_DATA_DIR=$work/data SLUICE_LOG_LEVEL=warn
address=127.0.0.1:$(port)
SLUICE_ADDR=$address "$work/api" >"$work/service.log" 2>&1 &
started+=($!)
export SLUICE_URL=http://$address
ready "$SLUICE_URL/readyz"
CHECK_CONTENT=$("$work/python/bin/python" tools/contract/content.py)
export CHECK_CONTENT

echo "== its contract"
# missing_required_header is excluded: it expects 401 for a request without a key, but the API returns 403. Another check
# verifies that keys are not ignored.
rm -rf "$work/contract"
mkdir -p "$work/contract" # schemathesis stores its state here
cp tools/contract/* "$work/contract/"
cd "$work/contract"
examples=${CONTRACT_EXAMPLES:-50}
contract() {
  "$work/python/bin/schemathesis" --config-file schemathesis.toml run "$SLUICE_URL/openapi.json" \
    --header "Authorization: Bearer $SLUICE_API_KEY" --checks all ${CONTRACT_SEED:+--seed "$CONTRACT_SEED"} --no-color "$@"
}
contract --phases examples,coverage,fuzzing --max-examples "$examples" --exclude-checks missing_required_header
# Requests that follow a link are all valid. negative_data_rejection is excluded, because it takes a form with an id from a
# link for an invalid request.
contract --phases stateful --max-examples "$((3 * examples))" --exclude-checks missing_required_header,negative_data_rejection \
  --report ndjson --report-ndjson-path followed.ndjson
curl -fsS "$SLUICE_URL/openapi.json" >openapi.json
"$work/python/bin/python" links.py followed.ndjson openapi.json
# No request may have caused an error in the service's log.
if grep -E 'level=ERROR' "$work/service.log"; then echo "the service has logged errors" >&2; exit 1; fi
echo "ok"
