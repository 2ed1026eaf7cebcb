package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// server is an in-memory service with the checker's endpoints. It is consistent unless a fault is planted.
type server struct {
	mu        sync.Mutex
	fault     string
	requests  int
	stores    map[string]*store // by id
	items     map[string]*item  // by id
	responses map[string]string // by Idempotency-Key
	last      int
}

type store struct{ id, tenant string }

type item struct {
	id, store, customID, content string
	found                        string // what queries find
	metadata                     map[string]any
}

// start returns the server and two addresses for it, as if there were two api processes.
func start(t *testing.T, fault string) (*server, []string) {
	t.Helper()
	s := &server{fault: fault, stores: map[string]*store{}, items: map[string]*item{}, responses: map[string]string{}}
	var urls []string
	for range 2 {
		srv := httptest.NewServer(s)
		t.Cleanup(srv.Close)
		urls = append(urls, srv.URL)
	}
	return s, urls
}

// every reports whether the fault is planted and due: it affects every n-th request.
func (s *server) every(n int, fault string) bool { return s.fault == fault && s.requests%n == 0 }

func (s *server) newID() string {
	s.last++
	return fmt.Sprintf("id-%06d", s.last)
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.requests%17 == 0 { // lost before it is processed
		problem(w, http.StatusServiceUnavailable, "UNAVAILABLE")
		return
	}
	tenant := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	key := tenant + " " + r.Header.Get("Idempotency-Key")
	answer, known := s.responses[key]
	if r.Header.Get("Idempotency-Key") == "" || !known || s.fault == "duplicate" {
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		status, v := s.answer(tenant, r, body)
		if status != http.StatusOK {
			problem(w, status, "NOT_FOUND")
			return
		}
		if raw, ok := v.(string); ok {
			answer = raw
			w.Header().Set("Content-Type", "text/plain")
		} else {
			b, _ := json.Marshal(v) // cannot fail on maps and slices of strings and numbers
			answer = string(b)
		}
		s.responses[key] = answer
	}
	if s.requests%13 == 0 && r.Method == http.MethodPost { // processed, but the answer is lost
		problem(w, http.StatusServiceUnavailable, "UNAVAILABLE")
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	fmt.Fprint(w, answer)
}

func problem(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type": "about:blank", "title": "no", "status": %d, "detail": "no", "error": %q}`, status, code)
}

// answer processes a request and returns the status and, if that is 200, the body.
func (s *server) answer(tenant string, r *http.Request, body []byte) (int, any) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/datastores" && r.Method == http.MethodPost:
		st := &store{s.newID(), tenant}
		s.stores[st.id] = st
		return http.StatusOK, map[string]any{"id": st.id}
	case r.URL.Path == "/datastores":
		var all []map[string]any
		for _, st := range s.stores {
			if st.tenant == tenant {
				all = append(all, map[string]any{"id": st.id})
			}
		}
		return http.StatusOK, map[string]any{"data": all}
	case r.URL.Path == "/datasources" && r.Method == http.MethodPost:
		return s.upload(tenant, r)
	case r.URL.Path == "/datasources":
		var all []any
		for _, i := range s.sorted() {
			if i.store == r.URL.Query().Get("datastoreId") {
				all = append(all, s.shown(i))
			}
		}
		return http.StatusOK, map[string]any{"data": all}
	case parts[0] == "datastores" && parts[len(parts)-1] == "counts":
		return http.StatusOK, map[string]any{"total": len(s.items)}
	case parts[0] == "datastores" && r.Method == http.MethodDelete:
		if st := s.stores[parts[1]]; st == nil || st.tenant != tenant {
			return http.StatusNotFound, nil
		}
		delete(s.stores, parts[1])
		return http.StatusOK, map[string]any{}
	case parts[0] == "datastores" && len(parts) == 3:
		id := parts[1]
		if parts[1] == "upsert" || parts[1] == "update" {
			id = parts[2]
		}
		if st := s.stores[id]; st == nil || st.tenant != tenant && s.fault != "leak by id" {
			return http.StatusNotFound, nil
		}
		switch parts[1] {
		case "upsert":
			return s.upsert(id, body)
		case "update":
			return s.update(body)
		}
		return s.query(id, body)
	case parts[0] == "datasources" && len(parts) >= 2:
		i := s.items[parts[1]]
		if i == nil || s.stores[i.store].tenant != tenant && s.fault != "leak by id" {
			return http.StatusNotFound, nil
		}
		switch {
		case r.Method == http.MethodDelete:
			if !s.every(5, "resurrect") {
				delete(s.items, i.id)
			}
			return http.StatusOK, map[string]any{}
		case len(parts) == 2:
			return http.StatusOK, s.shown(i)
		case parts[2] == "chunks":
			chunks := []map[string]any{}
			if i.found != "" {
				chunks = append(chunks, map[string]any{"id": "c", "text": i.found})
			}
			return http.StatusOK, map[string]any{"data": chunks}
		default:
			return http.StatusOK, i.content
		}
	}
	return http.StatusNotFound, nil
}

func (s *server) sorted() (all []*item) {
	for _, i := range s.items {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b *item) int { return strings.Compare(a.id, b.id) })
	return all
}

func (s *server) shown(i *item) map[string]any {
	return map[string]any{"id": i.id, "datastoreId": i.store, "customId": i.customID, "status": "synched", "metadata": i.metadata, "chunks": 1, "name": i.customID}
}

func (s *server) put(store, customID, content string, metadata map[string]any, replace bool) string {
	if replace {
		for _, i := range s.sorted() {
			if i.store == store && i.customID == customID && !s.every(7, "duplicate by custom id") {
				s.set(i, content, metadata)
				return i.id
			}
		}
	}
	i := &item{id: s.newID(), store: store, customID: customID}
	if s.every(5, "lose") {
		return i.id
	}
	s.items[i.id] = i
	s.set(i, content, metadata)
	return i.id
}

func (s *server) set(i *item, content string, metadata map[string]any) {
	before := i.found
	if i.content != "" && s.every(5, "lose an update") {
		return
	}
	i.content, i.metadata, i.found = content, metadata, content
	switch {
	case s.every(5, "mix") && before != "":
		half := strings.Split(before, ".")
		i.found = half[0] + ". " + content
	case s.every(5, "cut") && strings.Count(content, ".") > 1:
		i.found, _, _ = strings.Cut(content, ".")
	case s.every(5, "keep the old index") && before != "":
		i.found = before
	case s.every(5, "lose the index"):
		i.found = ""
	}
}

func (s *server) upsert(store string, body []byte) (int, any) {
	var in struct {
		Documents []struct {
			CustomID string `json:"custom_id"`
			Text     string
			Metadata map[string]any
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return http.StatusBadRequest, nil
	}
	ids := []string{}
	for _, d := range in.Documents {
		ids = append(ids, s.put(store, d.CustomID, d.Text, d.Metadata, true))
	}
	return http.StatusOK, map[string]any{"ids": ids}
}

func (s *server) update(body []byte) (int, any) {
	var in struct {
		ID, Text string
		Metadata map[string]any
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return http.StatusBadRequest, nil
	}
	i := s.items[in.ID]
	if i == nil {
		return http.StatusNotFound, nil
	}
	s.set(i, in.Text, in.Metadata)
	return http.StatusOK, map[string]any{"id": i.id}
}

func (s *server) upload(tenant string, r *http.Request) (int, any) {
	f, _, err := r.FormFile("file")
	if err != nil {
		return http.StatusBadRequest, nil
	}
	content, err := io.ReadAll(f)
	if st := s.stores[r.FormValue("datastoreId")]; err != nil || st == nil || st.tenant != tenant {
		return http.StatusNotFound, nil
	}
	var metadata map[string]any
	if err := json.Unmarshal([]byte(r.FormValue("metadata")), &metadata); err != nil {
		return http.StatusBadRequest, nil
	}
	id := s.put(r.FormValue("datastoreId"), r.FormValue("custom_id"), string(content), metadata, false)
	return http.StatusOK, map[string]any{"id": id}
}

func (s *server) query(store string, body []byte) (int, any) {
	var in struct {
		Query   string
		Filters struct {
			CustomIDs []string `json:"custom_ids"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return http.StatusBadRequest, nil
	}
	found := []map[string]any{}
	for _, i := range s.sorted() {
		match := len(in.Filters.CustomIDs) == 0 && len(found) < maxFragments || slices.Contains(in.Filters.CustomIDs, i.customID)
		if i.found == "" || !match || i.store != store && !s.every(3, "leak by query") {
			continue
		}
		found = append(found, map[string]any{"datasource_id": i.id, "custom_id": i.customID, "text": i.found})
	}
	return http.StatusOK, found
}
