#!/usr/bin/env bash
# Runs fuzz targets of the module.
#
#   fuzz.sh each 30s     every target for 30 s, one after another, continuing from the inputs of earlier runs in Go's cache
#   fuzz.sh core 60s     the targets listed below for 60 s each, two per processor at once, each with one worker and only
#                        the corpora in testdata/fuzz
#
# FUZZ_ONLY="pkg/a pkg/b" selects only the targets of these packages. This saves time, because a target is compiled with
# everything that its package needs: minutes for a package that needs a server or a database.
#
# The script fails only if a target fails. The failing input is then in the package's testdata/fuzz. Keep it there after
# fixing the fault. Two cases are reported but are no failures: an input that passes when it is run again, because it was
# only too slow for a busy machine; and "context deadline exceeded", with which Go's fuzzing sometimes ends.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 2 ] || { sed -n '2,6p' "$0" >&2; exit 2; }
export CGO_ENABLED=0
root=$PWD time=$2 work=$(mktemp -d)
end() {
  local running
  running=$(jobs -pr)
  [ -z "$running" ] || kill $running 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap end EXIT

# The first code that reads untrusted input: readers, chunker, tokenizers, cursors, filters, requests, and the answers of
# models. None of these packages needs a server or a database.
core='
pkg/analysis               FuzzTerms
pkg/answer/planner         FuzzParse
pkg/answer/support         FuzzJudge
pkg/api/jsonbody           FuzzFilters FuzzParseJSON
pkg/api/upload             FuzzForm
pkg/catalog/cursor         FuzzCursor
pkg/chunk                  FuzzChunks
pkg/crawl/robots           FuzzRobots
pkg/crawl/sitemap          FuzzSitemap
pkg/embed/static           FuzzTokenise
pkg/embed/transformer      FuzzTokenizer
pkg/extract                FuzzZip
pkg/extract/archive        FuzzOpen
pkg/extract/csv            FuzzCSV
pkg/extract/docx           FuzzDocx
pkg/extract/epub           FuzzEPUB
pkg/extract/html           FuzzHTML
pkg/extract/json           FuzzJSON
pkg/extract/mail           FuzzMHTML FuzzMail
pkg/extract/markdown       FuzzMarkdown
pkg/extract/notebook       FuzzNotebook
pkg/extract/opendocument   FuzzFlatODT FuzzODP FuzzODS FuzzODT
pkg/extract/outlook        FuzzOutlook
pkg/extract/pdf/pdffont    FuzzCMap FuzzFontProgram
pkg/extract/pdf/pdfobject  FuzzFilters FuzzXref
pkg/extract/pdf/pdftext    FuzzContent FuzzOpen
pkg/extract/pptx           FuzzPptx
pkg/extract/rtf            FuzzRTF
pkg/extract/scan           FuzzParseHOCR
pkg/extract/subtitle       FuzzSubtitles
pkg/extract/text           FuzzText
pkg/extract/xlsx           FuzzXlsx
pkg/extract/xml            FuzzXML
pkg/extract/yaml           FuzzYAML
pkg/filter                 FuzzParse
pkg/index                  FuzzFilters
pkg/modelhttp              FuzzEvents
pkg/question               FuzzParts
'
declare -A targets
order=() n=0
take() {
  [ -z "${FUZZ_ONLY:-}" ] || [[ " $FUZZ_ONLY " == *" $1 "* ]] || return 0
  [ -n "${targets[$1]:-}" ] || order+=("$1")
  targets[$1]+=" $2"
  n=$((n + 1))
}
case $1 in
each)
  cache=$(go env GOCACHE)/fuzz at_once=1 workers=()
  while IFS=: read -r file line; do
    take "$(dirname "$file")" "$(sed -E 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/' <<<"$line")"
  done < <(grep -rE '^func Fuzz[A-Za-z0-9_]+\(' --include='*_test.go' pkg | sort)
  ;;
core)
  cache=$work/found at_once=$((2 * $(getconf _NPROCESSORS_ONLN))) workers=(-test.parallel 1)
  while read -r dir names; do
    for name in $names; do
      grep -qE "^func $name\(" "$dir"/*_test.go || { echo "fuzz.sh: $dir has no $name" >&2; exit 2; }
      take "$dir" "$name"
    done
  done <<<"$core"
  ;;
*) echo "fuzz.sh: $1 is neither each nor core" >&2; exit 2 ;;
esac

# harmless reports whether a failed run found no fault, and prints why.
harmless() {
  local log=$1 binary=$2 target=$3 input
  if grep -q '^ *context deadline exceeded$' "$log" &&
    ! grep -vE '^(fuzz: |--- FAIL: |FAIL$|exit status|warning: )|^ *context deadline exceeded$|^[[:space:]]*$' "$log" | grep -q .; then
    echo "   it was stopped in the middle of an input: nothing was found"
    return 0
  fi
  input=$(sed -nE 's|^ *Failing input written to testdata/fuzz/(.*)$|\1|p' "$log" | head -n 1)
  [ -n "$input" ] || return 1
  "$binary" -test.run "^$target\$/^${input#*/}\$" -test.count 3 -test.timeout 2m >"$log.again" 2>&1 || return 1
  rm -f "testdata/fuzz/$input"
  rmdir "testdata/fuzz/$target" 2>/dev/null || true
  echo "   the input does no harm when it is run again: the machine was too busy for it"
}

# fuzz runs one target and prints the result.
fuzz() {
  local dir=$1 target=$2 binary=$3 log=$work/$(tr / - <<<"$1-$2").log pid said
  mkdir -p "$cache/$dir"
  cd "$root/$dir"
  # By default, minimizing a new input may take up to a minute of the fuzzing time.
  "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.fuzzminimizetime 20x "${workers[@]}" \
    -test.fuzzcachedir "$cache/$dir" -test.timeout 0 >"$log" 2>&1 &
  pid=$!
  trap 'kill "$pid"' TERM
  if wait "$pid"; then
    printf '== %s %s\n%s\n' "$dir" "$target" "$(grep '^fuzz:' "$log" | tail -n 1)"
  elif said=$(harmless "$log" "$binary" "$target"); then
    printf '== %s %s\n%s\n%s\n' "$dir" "$target" "$(grep '^fuzz:' "$log" | tail -n 1)" "$said"
  else
    printf '== %s %s\n%s\n' "$dir" "$target" "$(cat "$log")"
    echo "$dir $target" >>"$work/failed"
  fi
}

# at_most waits until at most the given number of targets is running.
at_most() {
  while [ "$(jobs -pr | wc -l)" -gt "$1" ]; do
    wait -n || true # failed targets are listed in $work/failed
  done
}

echo "$n targets in ${#order[@]} packages, $time each, $at_once at once"
started=$SECONDS
declare -A binaries
for dir in "${order[@]}"; do
  binaries[$dir]=$work/$(tr / - <<<"$dir").test
  go test -c -fuzz=. -o "${binaries[$dir]}" "./$dir"
  [ "$1" = each ] || continue
  for target in ${targets[$dir]}; do
    fuzz "$dir" "$target" "${binaries[$dir]}" &
    at_most 0
  done
  rm -f "${binaries[$dir]}"
done
if [ "$1" = core ]; then
  echo "compiled in $((SECONDS - started)) s"
  for dir in "${order[@]}"; do
    for target in ${targets[$dir]}; do
      at_most $((at_once - 1))
      fuzz "$dir" "$target" "${binaries[$dir]}" &
    done
  done
  at_most 0
fi
echo "$n targets in $((SECONDS - started)) s"
if [ -s "$work/failed" ]; then
  sed 's/^/failed: /' "$work/failed" >&2
  exit 1
fi
