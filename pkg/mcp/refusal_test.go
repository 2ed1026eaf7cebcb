package mcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTheRelayPassesOnTheReasonOfARefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		after  string
		body   string
		want   string
	}{
		"a key that is not valid": {401, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"the API key is not valid"}}`, ": the API key is not valid (401)"},
		"a limit":                 {429, "3", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"too many requests"}}`, ": too many requests; try again in 3 s (429)"},
		"something before it":     {502, "", `<html>Bad Gateway`, ": Bad Gateway (502)"},
		"nothing":                 {503, "", ``, ": Service Unavailable (503)"},
		"without end":             {403, "", strings.Repeat("x", 1<<20), ": Forbidden (403)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer service.Close()
			session := relayed(t, Relay{Endpoint: service.URL, Key: "k", Client: service.Client()})
			_, err := session.ListTools(t.Context(), nil)
			if err == nil || !strings.HasSuffix(err.Error(), "the service at "+service.URL+c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// relayed connects a client to a relay.
func relayed(t *testing.T, r Relay) *sdk.ClientSession {
	t.Helper()
	toRelay, fromClient := io.Pipe()
	toClient, fromRelay := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context(), toRelay, fromRelay) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).
		Connect(t.Context(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return session
}
