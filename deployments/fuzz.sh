#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each: fuzz.sh 30s
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}
# Minimizing each input that is new takes up to a minute of the time otherwise.
grep -rlE '^func Fuzz' --include='*_test.go' pkg | xargs -n1 dirname | sort -u | while read -r dir; do
  grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //' | while read -r target; do
    echo "== $dir $target"
    go test -run '^$' -fuzz "^${target}\$" -fuzztime "$time" -fuzzminimizetime 20x "./$dir"
  done
done
