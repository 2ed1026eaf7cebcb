#!/usr/bin/env bash
# Looks for known vulnerabilities that the programs can reach, with govulncheck, and fails if there is one. GOVULNDB is the
# address of the database, by default https://vuln.go.dev. If the database cannot be reached, the script says so. It then
# fails only if VULNERABILITIES is set to "required".
set -uo pipefail
cd "$(dirname "$0")/.."
version=$(cat tools/govulncheck-version)
output=$(CGO_ENABLED=0 go run "golang.org/x/vuln/cmd/govulncheck@$version" ${GOVULNDB:+-db "$GOVULNDB"} ./cmd/... 2>&1)
status=$?
printf '%s\n' "$output"
if [ $status -ne 0 ] && grep -q 'fetching vulnerabilities' <<<"$output"; then
  echo "NOT CHECKED: the database of vulnerabilities cannot be reached; set GOVULNDB to a copy of it" >&2
  [ "${VULNERABILITIES:-}" != required ]
  exit
fi
exit $status
