package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/mcp"
	"github.com/sluice/sluice/pkg/retrieve"
)

// toolForm holds the fields of a tool result that depend on the protocol version.
type toolForm struct {
	Type string `json:"resultType"`
	Meta struct {
		Server *sdk.Implementation `json:"io.modelcontextprotocol/serverInfo"`
	} `json:"_meta"`
	IsError bool `json:"isError"`
}

func TestEveryResultOfAToolHasTheFormOfItsVersion(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.RatePerSecond, o.Version = 5, "1.2.3" })
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) { return retrieve.Result{}, nil }
	connections := map[string]func(s *service, version string) *sdk.ClientSession{
		"over HTTP": func(s *service, version string) *sdk.ClientSession {
			return s.speak(&sdk.StreamableClientTransport{
				Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(s.key)}, MaxRetries: -1,
			}, version)
		},
		"through the relay": (*service).relayed,
	}
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		for way, connect := range connections {
			t.Run(version+" "+way, func(t *testing.T) {
				s := s.in(t)
				s.clock.advance(1e12) // refills the rate limit's token buckets
				session := connect(s, version)
				if got := session.InitializeResult().ProtocolVersion; got != version {
					t.Fatalf("speaks version %s, not %s", got, version)
				}
				call := func(name string, arguments object) toolForm {
					res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
					must(t, err)
					text, err := json.Marshal(res) // as received
					must(t, err)
					var got toolForm
					must(t, json.Unmarshal(text, &got))
					return got
				}
				want := call("search", object{"query": "a"}) // a successful call; the SDK renders its result
				if marked := version == "2026-07-28"; want.IsError || (want.Type == "complete") != marked || (want.Meta.Server != nil) != marked && way == "over HTTP" {
					t.Fatalf("the result of a tool has the form %+v", want)
				}
				want.IsError = true
				if diff := cmp.Diff(want, call("search", object{"query": "a", "top_k": 3})); diff != "" {
					t.Errorf("a fault in the arguments (-a result, +this):\n%s", diff)
				}
				if diff := cmp.Diff(want, call("fetch", object{"id": "0198c0de-0000-7000-8000-00000000dead"})); diff != "" {
					t.Errorf("a tool that failed (-a result, +this):\n%s", diff)
				}
				limited := toolForm{}
				for range 20 { // the rate limit's clock does not advance
					if limited = call("search", object{"query": "a"}); limited.IsError {
						break
					}
				}
				if diff := cmp.Diff(want, limited); diff != "" {
					t.Errorf("a call beyond the rate (-a result, +this):\n%s", diff)
				}
			})
		}
	}
}

// speak connects the SDK's client to the server, using this protocol version.
func (s *service) speak(transport sdk.Transport, version string) *sdk.ClientSession {
	s.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(s.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	must(s.T, err)
	s.Cleanup(func() { _ = session.Close() })
	return session
}

// relayed connects the SDK's client to the server through a relay. The relay itself uses the newest protocol version.
func (s *service) relayed(version string) *sdk.ClientSession {
	s.Helper()
	toRelay, fromClient := io.Pipe()
	toClient, fromRelay := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- mcp.Relay{Endpoint: s.url + "/mcp", Key: s.key}.Run(s.Context(), toRelay, fromRelay) }()
	s.Cleanup(func() { must(s.T, <-done) })
	return s.speak(&sdk.IOTransport{Reader: toClient, Writer: fromClient}, version)
}

// Clients that don't use the SDK read the result's text directly.
func TestAFailedCallIsMarkedAsCompleteOnTheWire(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.RatePerSecond = 1 })
	message := func(version string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"a","top_k":3},"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
	}
	for version, want := range map[string]bool{"2026-07-28": true, "2025-11-25": false} {
		for range 6 { // the rate limit rejects every call after the second
			a := s.call("POST", "/mcp", message(version), "Accept", "application/json, text/event-stream",
				"Mcp-Protocol-Version", version, "Mcp-Method", "tools/call", "Mcp-Name", "search").want(http.StatusOK)
			if bytes.Contains(a.body, []byte(`"resultType":"complete"`)) != want || !bytes.Contains(a.body, []byte(`"isError":true`)) {
				t.Fatalf("in version %s: %s", version, a.body)
			}
		}
	}
}
