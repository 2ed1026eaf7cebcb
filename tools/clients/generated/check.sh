#!/usr/bin/env bash
# Generates clients from the served OpenAPI document with five generators and builds them. Each client creates a datastore,
# uploads a file and queries it. Usage: check.sh DIRECTORY, with SLUICE_URL and SLUICE_API_KEY of a running service.
# check-clients.sh calls this script.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(cd "$1" && pwd)
ogen=github.com/ogen-go/ogen/cmd/ogen@v1.24.0
oapi=github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2

if [ ! -x "$work/python/bin/python" ]; then python3 -m venv "$work/python"; fi
bin=$work/python/bin
"$bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
curl -fsS "$SLUICE_URL/openapi.json" >"$work/openapi.json"
cd "$work"
rm -rf made node/schema.d.ts go
mkdir -p made go/ogen/sluice go/oapi/sluice node
# quietly FILE COMMAND… writes the command's output to FILE, and prints it only if the command fails.
quietly() { "${@:2}" >"$1" 2>&1 || { cat "$1" >&2; return 1; }; }

quietly openapi-generator.log "$bin/openapi-generator-cli" generate -i openapi.json -g python -o made/openapi-generator
"$bin/python" "$here/openapi_generator.py" made/openapi-generator

# It reads pictures only as other binary content.
echo 'content_type_overrides: {image/png: application/octet-stream}' >openapi-python-client.yaml
quietly openapi-python-client.log "$bin/openapi-python-client" generate --config openapi-python-client.yaml --path openapi.json --output-path made/sluice_client --meta none --overwrite
# The generator omits what it cannot read, and only prints a warning.
if grep -qE '^WARNING|Unable to' openapi-python-client.log; then cat openapi-python-client.log >&2; exit 1; fi
"$bin/python" "$here/openapi_python_client.py" made

cp "$here/package.json" "$here/openapi_typescript.ts" node/
cd node
npm install --silent --no-audit --no-fund
quietly ../openapi-typescript.log npx --no-install openapi-typescript ../openapi.json -o schema.d.ts
npx --no-install tsc --strict --noUncheckedIndexedAccess --target es2022 --module nodenext --types node openapi_typescript.ts
node openapi_typescript.js

cd ../go
cp "$here/go.mod.txt" go.mod
cp "$here/ogen.go.txt" ogen/main.go
cp "$here/oapi_codegen.go.txt" oapi/main.go
export CGO_ENABLED=0
# Ogen writes Go that does not compile for a type with an optional field of the same type.
"$bin/python" - ../openapi.json >../ogen.json <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
document["components"]["schemas"]["FilterCondition"]["properties"]["filter"] = {"type": "object", "additionalProperties": True}
json.dump(document, sys.stdout)
PYTHON
quietly ../ogen.log go run "$ogen" --target ogen/sluice --clean --package sluice ../ogen.json
quietly ../oapi-codegen.log go run "$oapi" -generate types,client -package sluice -o oapi/sluice/client.go ../openapi.json
quietly ../tidy.log go mod tidy
go run ./ogen
go run ./oapi
