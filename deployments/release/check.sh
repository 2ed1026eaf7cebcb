#!/usr/bin/env bash
# Checks the release configuration with goreleaser, and builds the complete archive of one system (TARGET, by default this
# machine's): the program, the licence texts, the SBOM and the checksums. Nothing is published.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0 TARGET=${TARGET:-$(go env GOOS)_$(go env GOARCH)}
export GOOS=${TARGET%_*} GOARCH=${TARGET#*_}
goreleaser() { env -u GOOS -u GOARCH go run "github.com/goreleaser/goreleaser/v2@$(cat tools/goreleaser-version)" "$@"; }
config=deployments/release/goreleaser.yaml
trap 'rm -rf dist dist-licences.txt' EXIT
goreleaser check --config "$config"

# The configuration for only one system. A snapshot needs a previous tag, which a shallow clone does not have.
one=$(mktemp)
sed -E "s/goos: \[.*/goos: [$GOOS]/; s/goarch: \[.*/goarch: [$GOARCH]/" "$config" >"$one"
trap 'rm -rf dist dist-licences.txt "$one"' EXIT
export GORELEASER_CURRENT_TAG=${GORELEASER_CURRENT_TAG:-v0.0.0}
goreleaser release --snapshot --clean --skip=publish,announce,validate --config "$one"
ls -l dist
(cd dist && sha256sum --check SHA256SUMS)
deployments/release/notes.sh | sed -n 1,3p # sed, not head: head would close the pipe early, and notes.sh would fail
echo "Made: the archive of $TARGET. Not made: those of the other systems, which are type-checked alone (TARGET=windows_arm64 makes another),"
echo "and the images, which nothing but Docker builds (deployments/release/images.sh); make check-deployments reads their Dockerfile."
