#!/usr/bin/env bash
# Runs a short benchmark of each stage and compares the figures with those stored for the last release. It only reports:
# slower code does not fail a build. `benchreport.sh write` stores the figures for the next release. If the stored figures
# are from another machine, absolute differences mean little. Look for stages that changed more than the others.
set -euo pipefail
cd "$(dirname "$0")/.."
kept=tools/benchmarks.txt
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
# Packages and their benchmarks, in the order in which a document passes through them.
stages='
./pkg/originals           Put|Get
./pkg/jobs                Publish$
./pkg/extract/pdf         PDFPages
./pkg/analysis            Terms
./pkg/chunk               Cut
./pkg/embed/static        EmbedPassage|EmbedQuery
./pkg/embed/transformer   Multiply
./pkg/index/embedded      Hybrid200|Lexical|Dense
./pkg/retrieve            WeighDocuments|Choose
./pkg/answer/extractive   Extractive
'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
now=$work/now
# Build everything before the first benchmark, so that building does not disturb a measurement.
mapfile -t packages < <(awk 'NF { print $1 }' <<<"$stages")
go test -c -ldflags=-w -o "$work/" "${packages[@]}"
GOBIN=$work go install "$benchstat"
while read -r package benchmarks; do
  [ -n "$package" ] || continue
  (cd "$package" && "$work/$(basename "$package").test" -test.run '^$' -test.bench "^Benchmark($benchmarks)" -test.benchtime "${BENCHTIME:-50ms}" -test.count "${COUNT:-6}") |
    tee -a "$now" | grep -vE '^(goos|goarch|pkg|cpu|PASS|ok)' | cut -c1-100 >&2
done <<<"$stages"
if [ "${1:-}" = write ]; then
  grep -E '^(goos|goarch|pkg|cpu|Benchmark)' "$now" >"$kept"
  exit
fi
"$work/benchstat" "last=$kept" "now=$now"
