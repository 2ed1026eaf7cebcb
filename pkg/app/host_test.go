package app

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/api"
)

// statusFrom requests a path from the server at `address` with a Host header, as a browser would if that host name
// resolved to the address.
func statusFrom(t *testing.T, address, path, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestALoopbackServerRejectsForeignHosts sends requests with other host names to servers on loopback addresses.
func TestALoopbackServerRejectsForeignHosts(t *testing.T) {
	t.Parallel()
	worker, err := serveHealth(t.Context(), "127.0.0.1:0", newRegistry(), []api.Check{}, "an operator's long key", []string{"sluice.example"}, slog.New(slog.DiscardHandler), make(chan error, 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := worker.stop(); err != nil {
			t.Error(err)
		}
	})
	service := newProgram(t, "SLUICE_HOSTS=sluice.example", "SLUICE_MCP_HOSTS=mcp.example")
	service.start()
	for address, paths := range map[string][]string{
		worker.Addr(): {"/healthz", "/readyz", "/metrics", "/debug/pprof/heap", "/nowhere"},
		service.addr:  {"/", "/docs", "/docs/api", "/embed/chat.js", "/healthz", "/readyz", "/metrics", "/openapi.json", "/agents", "/v1/models", "/debug/pprof/heap", "/nowhere"},
	} {
		for _, path := range paths {
			want, _ := statusFrom(t, address, path, address)
			for _, host := range []string{"localhost", "LOCALHOST:80", "127.0.0.2", "[::1]:8080", "sluice.example", "Sluice.Example:443"} {
				if got, body := statusFrom(t, address, path, host); got != want {
					t.Errorf("%s as %s is %d, want %d: %s", path, host, got, want, body)
				}
			}
			for _, host := range []string{"rebound.example", "127.0.0.1.rebound.example", "localhost.rebound.example:8080", "sluice.example.evil", "10.0.0.1", "0.0.0.0"} {
				if got, body := statusFrom(t, address, path, host); got != http.StatusForbidden || !strings.Contains(body, "SLUICE_HOSTS") {
					t.Errorf("%s as %s is %d: %s", path, host, got, body)
				}
			}
		}
	}
	if got, body := statusFrom(t, service.addr, "/healthz", "mcp.example"); got != http.StatusOK {
		t.Errorf("a name of the former setting is refused: %d, %s", got, body)
	}
}

// TestAServerOnAllAddressesAcceptsAllHosts sends requests with unknown host names to servers reachable from other
// machines.
func TestAServerOnAllAddressesAcceptsAllHosts(t *testing.T) {
	t.Parallel()
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for address, guarded := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "0.0.0.0:1": false, "[::]:1": false, "10.1.2.3:1": false} {
		at, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		guardHost(addressed{at: at}, nil, next).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://rebound.example/", nil))
		if refused := w.Code == http.StatusForbidden; refused != guarded {
			t.Errorf("on %s, a foreign host is answered %d", address, w.Code)
		}
	}
}

type addressed struct {
	net.Listener
	at net.Addr
}

func (a addressed) Addr() net.Addr { return a.at }
