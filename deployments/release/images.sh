#!/usr/bin/env bash
# Builds the three images for amd64 and arm64 and pushes them: images.sh REGISTRY/NAME VERSION, for example
# images.sh registry.example.com/team/sluice 1.2.3. Needs Docker with buildx.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -eq 2 ] || { sed -n '2,3p' "$0" >&2; exit 2; }
for program in api ingestor crawler; do
  docker buildx build --file deployments/docker/Dockerfile --target "$program" --platform linux/amd64,linux/arm64 \
    --build-arg "VERSION=v${2#v}" --build-arg "REVISION=$(git rev-parse HEAD)" --sbom=true --provenance=mode=max \
    --tag "$1-$program:${2#v}" --push .
done
