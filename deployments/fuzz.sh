#!/usr/bin/env bash
# Runs every fuzz target of the module.
#
#   fuzz.sh each 30s     each for that long, going on from what earlier runs have found (in Go's cache)
#   fuzz.sh total 240    all of them together for so many seconds, from the corpora in testdata/fuzz alone
#
# FUZZ_SKIP="pkg/a pkg/b" leaves packages out: a target is compiled with everything that its package needs, which takes minutes where that
# is a server or a database.
#
# It fails when a target does, and only then: the input lies in the package's testdata/fuzz, to be kept once it is mended.
# An input that does no harm when it is run again was too slow for a busy machine, which is said and is no failure; nor is
# "context deadline exceeded" at the end of the time, with which Go's fuzzing stops now and then.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 2 ] || { sed -n '2,5p' "$0" >&2; exit 2; }
export CGO_ENABLED=0
root=$PWD work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

declare -A targets
order=() n=0
while IFS=: read -r file line; do
  dir=$(dirname "$file")
  [[ " ${FUZZ_SKIP:-} " != *" $dir "* ]] || continue
  target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/' <<<"$line")
  [ -n "${targets[$dir]:-}" ] || order+=("$dir")
  targets[$dir]+=" $target"
  n=$((n + 1))
done < <(grep -rE '^func Fuzz[A-Za-z0-9_]+\(' --include='*_test.go' pkg | sort)
case $1 in
each) time=$2 cache=$(go env GOCACHE)/fuzz ;;
total) time=$(($2 * 1000 / n))ms cache=$work/found ;;
*) echo "fuzz.sh: $1 is neither each nor total" >&2; exit 2 ;;
esac

# harmless says of a run that failed that nothing was found.
harmless() {
  local log=$1 binary=$2 target=$3 input
  if grep -q '^ *context deadline exceeded$' "$log" &&
    ! grep -vE '^(fuzz: |--- FAIL: |FAIL$|exit status|warning: )|^ *context deadline exceeded$|^[[:space:]]*$' "$log" | grep -q .; then
    echo "   it was stopped in the middle of an input: nothing was found"
    return 0
  fi
  input=$(sed -nE 's|^ *Failing input written to testdata/fuzz/(.*)$|\1|p' "$log" | head -n 1)
  [ -n "$input" ] || return 1
  "$binary" -test.run "^$target\$/^${input#*/}\$" -test.count 3 -test.timeout 2m >"$work/again" 2>&1 || return 1
  rm -f "testdata/fuzz/$input"
  rmdir "testdata/fuzz/$target" 2>/dev/null || true
  echo "   the input does no harm when it is run again: the machine was too busy for it"
}

echo "$n targets in ${#order[@]} packages, $time each"
failed=()
for dir in "${order[@]}"; do
  binary=$work/$(tr / - <<<"$dir").test
  go test -c -fuzz=. -o "$binary" "./$dir"
  for target in ${targets[$dir]}; do
    echo "== $dir $target"
    mkdir -p "$cache/$dir"
    # Minimizing each input that is new takes up to a minute of the time otherwise.
    if (cd "$dir" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.fuzzminimizetime 20x \
      -test.fuzzcachedir "$cache/$dir" -test.timeout 0) >"$work/log" 2>&1; then
      grep '^fuzz:' "$work/log" | tail -n 1
    elif ! (cd "$root/$dir" && harmless "$work/log" "$binary" "$target"); then
      cat "$work/log"
      failed+=("$dir $target")
    fi
  done
  rm -f "$binary"
done
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
