#!/usr/bin/env bash
# Starts services and tests the console in Chromium. axe-core must find no fault in any view, in the embedded chat and in any
# page of the documentation, in light and dark mode, in wide and narrow windows. A list of 10,000 datasources must open at
# once and scroll. None of 1,000 files dropped over a failing network may be lost. The whole console must be smaller than
# 100 KB and send no request to other hosts. The types in the scripts' comments must be right.
# Needs Go, Chromium (TEST_CHROMIUM, or in PATH), Node with npm, openssl, and the npm registry. Packages are fetched into a
# temporary directory, or into one that is kept: check-console.sh [DIRECTORY].
set -euo pipefail
cd "$(dirname "$0")/.."

work=${1:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
else
  mkdir -p "$work"
  work=$(cd "$work" && pwd)
fi

# fetch PACKAGE VERSION SHA512 downloads a package from the registry and checks its digest.
fetch() {
  local tarball=$work/$1-$2.tgz
  if [ ! -f "$tarball" ]; then (cd "$work" && npm pack --silent "$1@$2" >/dev/null); fi
  if [ "$(openssl dgst -sha512 -binary "$tarball" | openssl base64 -A)" != "$3" ]; then
    echo "$tarball is not the package that is expected" >&2
    exit 1
  fi
  mkdir -p "$work/$1"
  tar -xzf "$tarball" -C "$work/$1"
}
fetch axe-core 4.14.1 FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==
fetch typescript 5.9.3 jl1vZzPDinLr9eUt3J/t7V6FgNEw9QjvBPdysz9KfQDD41fQrC2Y4vKQdiaUpFT4bXlb1RHhLpp8wtm6M5TgSw==

echo "== the types that the scripts' comments give"
(cd pkg/console/static && node "$work/typescript/package/lib/tsc.js" --noEmit --allowJs --checkJs --strict --target es2023 --module esnext \
  --moduleResolution bundler --lib dom,dom.iterable,dom.asynciterable,es2024 main.js views/*.js)

echo "== in a browser"
CONSOLE_AXE=$work/axe-core/package/axe.min.js CONSOLE_MANY=1 TEST_REQUIRE_CHROMIUM=1 go test -count=1 -v -timeout 40m ./pkg/console
