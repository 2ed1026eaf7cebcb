#!/usr/bin/env bash
# Prints the section of a version in CHANGELOG.md: notes.sh 1.2.3. Without a version, prints the unreleased changes.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:-Unreleased}
notes=$(awk -v want="${version#v}" '
  /^## / { name = $2; gsub(/[][]/, "", name); on = (name == want); next }
  on { print }
' CHANGELOG.md)
if [ -z "${notes//[[:space:]]/}" ]; then
  echo "notes.sh: CHANGELOG.md says nothing of $version" >&2
  exit 1
fi
printf '%s\n' "$notes"
