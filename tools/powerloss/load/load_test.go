package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/client"
)

func TestTheContentOfAVersionIsItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, n := range []Name{{CustomID: "text-0-1"}, {CustomID: "text-0-2"}, {CustomID: "file-0-1", IsFile: true}} {
		for version := 1; version <= 3; version++ {
			content := n.Content(version)
			if seen[content] || seen[n.Word(version)] {
				t.Errorf("version %d of %s is like another", version, n.CustomID)
			}
			seen[content], seen[n.Word(version)] = true, true
			if content != n.Content(version) {
				t.Errorf("version %d of %s differs each time", version, n.CustomID)
			}
			if strings.Count(content, n.Word(version)) != 1 || n.IsFile != (len(content) > 10_000) {
				t.Errorf("version %d of %s has %d bytes and %d times its word", version, n.CustomID, len(content), strings.Count(content, n.Word(version)))
			}
		}
	}
}

func TestAnExpectationAllowsAcknowledgedAndSentStates(t *testing.T) {
	t.Parallel()
	l := NewLedger()
	l.created("store")
	name := Name{CustomID: "text-0-1"}
	for _, step := range []struct {
		to          State
		acknowledge bool
		absent      bool // the document may be absent afterwards
		want        string
	}{
		{State{Version: 1}, false, true, "not yet written or version 1"},
		{State{Version: 1}, true, false, "version 1"},
		{State{Version: 2}, false, false, "version 1 or version 2"},
		{State{Version: 2}, true, false, "version 2"},
		{State{Version: 2, Gone: true}, false, true, "version 2 or deleted after version 2"},
		{State{Version: 2, Gone: true}, true, true, "deleted after version 2"},
		{State{Version: 3}, false, true, "deleted after version 2 or version 3"},
		{State{Version: 3}, true, false, "version 3"},
	} {
		c := change{name, step.to}
		if step.acknowledge {
			l.acknowledge([]string{"id"}, c)
		} else {
			l.send(c)
		}
		e := l.Expected()
		if len(e.Documents) != 1 || e.Datastore != "store" {
			t.Fatalf("expected %+v", e)
		}
		d := e.Documents[0]
		got := d.Acknowledged.String()
		if d.Sent != nil {
			got += " or " + d.Sent.String()
		}
		if got != step.want || d.MayBeAbsent() != step.absent {
			t.Errorf("expected %s, may be absent: %t; want %s, %t", got, d.MayBeAbsent(), step.want, step.absent)
		}
		if e.Sent() != len(e.Documents)-boolToInt(step.acknowledge) || (e.Acknowledged() == 1) != (d.Acknowledged.Version > 0) {
			t.Errorf("%s: %d acknowledged, %d sent", got, e.Acknowledged(), e.Sent())
		}
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// service is an in-memory store of documents by custom id.
type service struct {
	mu        sync.Mutex
	ids       map[string]string // custom ids by id
	documents map[string]string // texts by custom id
	requests  int
	limit     int // requests until it fails
	full      chan struct{}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests++; s.requests == s.limit {
		close(s.full)
	}
	if s.requests >= s.limit {
		http.Error(w, `{"error": "INTERNAL"}`, http.StatusInternalServerError)
		return
	}
	put := func(customID, text string) string {
		if _, ok := s.documents[customID]; !ok {
			s.ids[fmt.Sprintf("id-%d", s.requests)+customID] = customID
		}
		s.documents[customID] = text
		for id, c := range s.ids {
			if c == customID {
				return id
			}
		}
		return ""
	}
	var answer any
	switch path := r.URL.Path; {
	case path == "/datastores":
		answer = map[string]string{"id": "store"}
	case path == "/datastores/upsert/store":
		var body struct {
			Documents []struct {
				CustomID string `json:"custom_id"`
				Text     string
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var ids []string
		for _, d := range body.Documents {
			ids = append(ids, put(d.CustomID, d.Text))
		}
		answer = map[string][]string{"ids": ids}
	case path == "/datastores/update/store":
		var body struct{ ID, Text string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || s.ids[body.ID] == "" {
			http.Error(w, "no such document", http.StatusNotFound)
			return
		}
		put(s.ids[body.ID], body.Text)
		answer = map[string]string{"id": body.ID}
	case r.Method == http.MethodDelete:
		id := strings.TrimPrefix(path, "/datasources/")
		if s.ids[id] == "" {
			http.Error(w, "no such document", http.StatusNotFound)
			return
		}
		delete(s.documents, s.ids[id])
		delete(s.ids, id)
		w.WriteHeader(http.StatusNoContent)
		return
	default: // an upload
		file, _, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer file.Close()
		text, err := io.ReadAll(file)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer = map[string]string{"id": put(r.FormValue("custom_id"), string(text))}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// TestTheLedgerAgreesWithTheService loads a service until it fails. Every document must then be in a state that the
// ledger allows, and documents must have been written, updated and deleted.
func TestTheLedgerAgreesWithTheService(t *testing.T) {
	t.Parallel()
	s := &service{ids: map[string]string{}, documents: map[string]string{}, limit: 400, full: make(chan struct{})}
	server := httptest.NewServer(s)
	defer server.Close()
	c, err := client.New(server.URL, "key", client.WithAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l := NewLedger()
	if err := Run(t.Context(), c, l, 1); err == nil || !strings.Contains(err.Error(), "changing ") {
		t.Errorf("the error of a failed request is %v", err)
	}
	<-s.full
	s.mu.Lock()
	defer s.mu.Unlock()
	var exist, updated, deleted, files int
	for _, d := range l.Expected().Documents {
		text, ok := s.documents[d.CustomID]
		delete(s.documents, d.CustomID)
		allowed := !ok && d.MayBeAbsent()
		for _, state := range []*State{&d.Acknowledged, d.Sent} {
			if state != nil && state.Exists() && ok && text == d.Content(state.Version) {
				allowed = true
			}
		}
		if !allowed {
			t.Errorf("%s exists: %t, with %.60q; acknowledged is %s", d.CustomID, ok, text, d.Acknowledged)
		}
		exist += boolToInt(ok)
		updated += boolToInt(d.Acknowledged.Version > 1)
		deleted += boolToInt(d.Acknowledged.Gone)
		files += boolToInt(d.IsFile)
	}
	if len(s.documents) > 0 {
		t.Errorf("%d documents exist that the ledger does not know", len(s.documents))
	}
	if slices.Min([]int{exist, updated, deleted, files}) == 0 {
		t.Errorf("%d documents exist, %d were updated, %d deleted, %d are files: the load is not mixed", exist, updated, deleted, files)
	}
}

func TestALoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := &service{ids: map[string]string{}, documents: map[string]string{}, limit: 1 << 30}
	ctx, cancel := context.WithCancel(t.Context())
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		if requests++; requests == 20 {
			cancel()
		}
	}))
	defer server.Close()
	c, err := client.New(server.URL, "key", client.WithAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := Run(ctx, c, NewLedger(), 2); err != nil {
		t.Errorf("the load ended with %v", err)
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Error("the load ended before its context")
	}
}
