package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
)

// Engine names in requests.
const (
	askPostgreSQL = "postgresql"
	askMilvus     = "milvus"
	askMilvusLite = "milvus-lite"
	askChromium   = "chromium"
)

// Handler serves the set to other processes. GET /postgresql, /milvus and /milvus-lite return the engine's address once
// it is ready, and GET /chromium the path to the program. If the engine or Chromium is unavailable, the status is 503,
// with the reason as text. Clients have full access to the engines.
func (s *Set) Handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(name string, address func() (string, error)) {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) {
			addr, err := address()
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			_, _ = io.WriteString(w, addr) // the client may have disconnected
		})
	}
	handle(askPostgreSQL, s.postgresqlURL)
	handle(askMilvus, s.milvusAddr)
	handle(askMilvusLite, s.milvusLiteAddr)
	handle(askChromium, s.chromiumPath)
	return mux
}

// askBroker requests an engine's address from the process that serves a Handler on the Unix socket `socket`.
func askBroker(ctx context.Context, socket, name string) (string, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engines/"+name, nil)
	if err != nil {
		return "", err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", fmt.Errorf("asking for %s at %s: %w", name, socket, err)
	}
	defer resp.Body.Close()
	body, err := bounded.ReadAll(resp.Body, 1<<16)
	if err != nil {
		return "", fmt.Errorf("asking for %s at %s: %w", name, socket, err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", errors.New(strings.TrimSpace(string(body)))
	}
	return string(body), nil
}
