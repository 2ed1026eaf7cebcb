#!/usr/bin/env bash
# Looks for known vulnerabilities that the programs can reach, by govulncheck, and fails when there is one. Its database is
# that of GOVULNDB, else https://vuln.go.dev. Where it cannot be reached nothing is known, which is said, and fails too when
# VULNERABILITIES is set to "required".
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
