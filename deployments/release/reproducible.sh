#!/usr/bin/env bash
# Builds the program twice, from copies of the tree in two directories, the second time with an empty build cache, and
# compares both programs byte by byte. SOURCE_DATE_EPOCH must not matter, because the program contains no time.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
version=${VERSION:-v0.0.0}
build() {
  mkdir -p "$work/$1/deep/tree"
  git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from - --ignore-failed-read | tar --extract --directory "$work/$1/deep/tree"
  make --no-print-directory -C "$work/$1/deep/tree" build BUILD_FLAGS="-trimpath -buildvcs=false" VERSION="$version" BIN="$work/$1/bin"
}
build one
GOCACHE=$work/cache SOURCE_DATE_EPOCH=86400 build another
cmp "$work/one/bin/sluice" "$work/another/bin/sluice"
echo "$(sha256sum <"$work/one/bin/sluice" | cut -d ' ' -f 1)  sluice: twice the same"
