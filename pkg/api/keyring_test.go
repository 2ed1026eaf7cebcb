package api_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// another starts a second process with the same catalog.
func (s *service) another() *service {
	s.Helper()
	other := *s
	other.openCatalog()
	other.serve(other.parts())
	return &other
}

// endings returns named ways to invalidate a key.
func endings(s *service) map[string]func(id string) {
	return map[string]func(id string){
		"revoked": func(id string) { s.another().call("DELETE", "/keys/"+id, nil).want(200) },
		"expired": func(string) { s.clock.advance(time.Hour) },
	}
}

// newEnding creates a key that expires within an hour.
func (s *service) newEnding(scope domain.Scope) object {
	s.Helper()
	return s.call("POST", "/keys", object{"name": "short", "scopes": []string{string(scope)}, "expiresAt": s.clock.Now().Add(30 * time.Minute)}).want(201).object()
}

// TestAnExpiredKeyIsRefusedAtOnce checks that all processes reject an expired or revoked key at once, even in existing
// MCP sessions.
func TestAnExpiredKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name := range endings(nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			made := s.newEnding(domain.ScopeWrite)
			here, there := s.as(made.text("key")), s.another().as(made.text("key"))
			for _, process := range []*service{here, there, here, there} {
				process.call("GET", "/agents", nil).want(200)
			}
			session := there.mcp("/mcp", nil)
			_, err := session.ListTools(t.Context(), nil)
			must(t, err)
			endings(s)[name](made.id())
			there.call("GET", "/agents", nil).problem(403)
			here.call("GET", "/agents", nil).problem(403)
			if _, err := session.ListTools(t.Context(), nil); err == nil {
				t.Error("a session that was begun with it goes on")
			}
		})
	}
}

func TestALimitSetByAnotherProcessAppliesAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.call("POST", "/keys", object{"name": "website"}).want(201).object()
	there := s.another().as(made.text("key"))
	there.call("POST", "/keys", object{"name": "a key's key"}).want(201)
	s.call("PUT", "/keys/"+made.id()+"/limits", object{"queries": 5}).want(200)
	there.call("POST", "/keys", object{"name": "a key's key"}).problem(403)
}

func TestAWatchEndsWithItsKey(t *testing.T) {
	t.Parallel()
	for name := range endings(nil) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			made := s.newEnding(domain.ScopeRead)
			changes := make(chan string)
			s.watcher.watch = func(context.Context, string) (<-chan string, error) { return changes, nil }
			res := s.as(made.text("key")).open("GET", "/datastores/"+s.datastore+"/events", "")
			body := bufio.NewReader(res.Body)
			if line, err := body.ReadString('\n'); err != nil || line != ": watching\n" {
				t.Fatalf("%q, %v", line, err)
			}
			endings(s.service)[name](made.id())
			changes <- s.datasource
			rest, err := io.ReadAll(body)
			must(t, err)
			if want := "data: [ERROR] the API key is wrong, revoked or expired"; !strings.Contains(string(rest), want) || strings.Contains(string(rest), s.datasource) {
				t.Errorf("the stream goes on with %q, want %q", rest, want)
			}
		})
	}
}

// revokingCatalog revokes the key once the first page of conversations has been read.
type revokingCatalog struct {
	api.ConversationStore
	revoke func()
}

func (r revokingCatalog) Conversations(ctx context.Context, ws string, f catalog.ConversationFilter, p catalog.Page) ([]domain.Conversation, string, error) {
	defer r.revoke()
	return r.ConversationStore.Conversations(ctx, ws, f, p)
}

func TestAnExportStopsOnceItsKeyIsRevoked(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for range catalog.DefaultPageSize {
		_, err := s.catalog.EnsureConversation(t.Context(), domain.Conversation{ID: domain.NewID(), WorkspaceID: s.ws, AgentID: s.agent, VisitorID: "v"})
		must(t, err)
	}
	made := s.call("POST", "/keys", object{"name": "archive", "scopes": []string{"read"}}).want(201).object()
	process := s.another()
	o, d := process.parts()
	d.Conversations = revokingCatalog{d.Conversations, sync.OnceFunc(func() { s.call("DELETE", "/keys/"+made.id(), nil).want(200) })}
	process.serve(o, d)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, process.url+"/conversations/export", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+made.text("key"))
	var all []byte
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		all, err = io.ReadAll(res.Body)
		must(t, res.Body.Close())
	}
	if err == nil {
		t.Errorf("the export is whole, with %d bytes", len(all))
	}
}
