package loadtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/eval/service"
)

// store simulates a service that accepts documents and sends their events to one watcher.
type store struct {
	status func(name string) string // a document's final status; "": send no events
	early  bool                     // whether to send the events before the upload's response

	mu    sync.Mutex
	files []string
	told  chan string // events
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/events"):
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case event, open := <-s.told:
				if !open {
					return
				}
				fmt.Fprintf(w, "event: datasource\ndata: %s\n\n", event)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case r.URL.Path == "/datasources":
		_, file, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.answer(w, file.Filename, map[string]string{"id": "of " + file.Filename})
	default:
		var body struct{ Documents []struct{ Name string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Documents) != 1 {
			http.Error(w, "not one document", http.StatusBadRequest)
			return
		}
		s.answer(w, body.Documents[0].Name, map[string][]string{"ids": {"of " + body.Documents[0].Name}})
	}
}

func (s *store) answer(w http.ResponseWriter, name string, body any) {
	s.mu.Lock()
	s.files = append(s.files, name)
	s.mu.Unlock()
	tell := func() {
		if status := s.status(name); status != "" {
			s.told <- fmt.Sprintf(`{"id":"of %s","status":"running"}`, name)
			s.told <- fmt.Sprintf(`{"id":"of %s","status":%q,"error":"it is no text"}`, name, status)
		}
	}
	if s.early {
		tell()
	}
	answer, _ := json.Marshal(body) // ids encode
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer))) // the client gets the whole response before any events
	_, _ = w.Write(answer)
	if !s.early {
		_ = http.NewResponseController(w).Flush()
		tell()
	}
}

func TestUploadsEndWhenTheyAreSearchable(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"told after the answer": false, "told before the answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &store{early: early, told: make(chan string, 100), status: func(name string) string {
				if name == "load-3" {
					return "error"
				}
				return "synched"
			}}
			r := loadStore(t, s, 10, func(int) Item { return Item{Content: []byte("a text")} })
			want := []Failure{{"a document could not be processed: it is no text", 1}}
			if diff := cmp.Diff(want, r.Failures); diff != "" || r.Succeeded != 9 || measure(t, r, "searchable").Count != 9 || measure(t, r, "accepted").Count != 10 {
				t.Errorf("%+v %s", r, diff)
			}
		})
	}
}

func TestFilesAreUploadedUnderTheirNames(t *testing.T) {
	t.Parallel()
	s := &store{told: make(chan string, 100), status: func(string) string { return "synched" }}
	r := loadStore(t, s, 2, func(n int) Item {
		return Item{FileName: fmt.Sprintf("%d.txt", n), Content: []byte("a text")}
	})
	if diff := cmp.Diff([]string{"0.txt", "1.txt"}, s.files); diff != "" || r.Succeeded != 2 {
		t.Errorf("%+v %s", r, diff)
	}
}

func TestUploadsFailWithoutEvents(t *testing.T) {
	t.Parallel()
	s := &store{told: make(chan string), status: func(string) string { return "" }}
	close(s.told)
	r := loadStore(t, s, 3, func(int) Item { return Item{Content: []byte("a text")} })
	want := []Failure{{"watching the datastore: the stream ended without its end marker", 3}}
	if diff := cmp.Diff(want, r.Failures); diff != "" {
		t.Error(diff)
	}
}

func loadStore(t *testing.T, s *store, n int, item func(int) Item) Report {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	at, err := service.New(server.URL, "sk_test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(at.Close)
	uploads, err := NewUploads(t.Context(), at, "d", item)
	if err != nil {
		t.Fatal(err)
	}
	defer uploads.Close()
	r, err := Run(t.Context(), Load{Clients: 1, For: time.Minute, Requests: n, Grace: time.Minute}, uploads.Request)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
