# Shared by scripts that run a service in a scratch directory; they source this file with their arguments and set `-euo pipefail`.
# It sets work, the directory named by the first argument, or else a temporary one, which is removed at the end. At the end,
# the processes in `started` are stopped. If the script fails, the ends of the services' logs are shown.

work=${1:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  keep=
else
  mkdir -p "$work"
  work=$(cd "$work" && pwd)
  keep=yes
fi
started=() # process ids
finish() {
  local status=$? process
  for process in "${started[@]}"; do
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  if [ $status -ne 0 ]; then tail -n 40 "$work"/service*.log >&2 || true; fi
  if [ -z "$keep" ]; then rm -rf "$work"; fi
  exit $status
}
trap finish EXIT

# port prints a free port.
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# ready URL waits until the process started last answers.
ready() {
  for _ in $(seq 150); do
    if curl -fsS "$1" >/dev/null 2>&1; then return; fi
    if ! kill -0 "${started[-1]}" 2>/dev/null; then break; fi
    sleep 0.2
  done
  echo "$1 does not answer" >&2
  exit 1
}

# build_service builds the service as $work/api.
build_service() { CGO_ENABLED=0 go build -o "$work/api" ./cmd/api; }
