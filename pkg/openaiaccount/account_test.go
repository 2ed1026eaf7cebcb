package openaiaccount

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// newAccount returns a client for a test server. Instead of waiting before a retry, the client only counts how often it
// would have waited.
func newAccount(t *testing.T, serve http.HandlerFunc) (a *Account, waits *atomic.Int64) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	waits = new(atomic.Int64)
	a, err := New(Config{URL: server.URL + "/v1", Key: "sk-account", Wait: func(_ context.Context, d time.Duration) error {
		waits.Add(1)
		if d < 400*time.Millisecond || d > maxPause {
			t.Errorf("waited %v", d)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a, waits
}

func TestListsAreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	a, _ := newAccount(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-account" || r.URL.Path != "/v1/vector_stores/vs_1/files" || r.URL.Query().Get("order") != "asc" {
			t.Errorf("request %s %v", r.URL, r.Header)
		}
		from := 0
		if after := r.URL.Query().Get("after"); after != "" {
			fmt.Sscanf(after, "file-%d", &from)
		}
		fmt.Fprintf(w, `{"data":[{"id":"file-%d","status":"completed","attributes":{"n":%d}},{"id":"file-%d","status":"failed"}],"has_more":%v}`, from+1, from+1, from+2, from < 4)
	})
	var ids []string
	for f, err := range a.Files(t.Context(), "vs_1") {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, f.ID)
	}
	if got := strings.Join(ids, " "); got != "file-1 file-2 file-3 file-4 file-5 file-6" {
		t.Errorf("files %s", got)
	}
}

func TestTemporaryErrorsAreRetried(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	a, waits := newAccount(t, func(w http.ResponseWriter, _ *http.Request) {
		switch calls.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		case 3:
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"id":`) // the connection then breaks
		default:
			fmt.Fprint(w, `{"id":"vs_1","name":"Manuals","file_counts":{"total":2,"completed":1}}`)
		}
	})
	v, err := a.VectorStore(t.Context(), "vs_1")
	if err != nil || v.Name != "Manuals" || v.Counts.Total != 2 || waits.Load() != 3 {
		t.Errorf("%+v, error %v, %d waits", v, err, waits.Load())
	}
}

func TestOtherErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	a, waits := newAccount(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"Not allowed to download files of purpose: assistants"}}`)
	})
	path := filepath.Join(t.TempDir(), "f")
	err := a.Download(t.Context(), "file-1", path)
	if StatusOf(err) != 400 || !ConcernsObject(err) || !strings.Contains(err.Error(), "purpose: assistants") || waits.Load() != 0 {
		t.Errorf("error %v, %d waits", err, waits.Load())
	}
	down, waits := newAccount(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	if _, err := down.File(t.Context(), "file-1"); StatusOf(err) != 503 || ConcernsObject(err) || waits.Load() != attempts-1 {
		t.Errorf("error %v, %d waits", err, waits.Load())
	}
	broken, _ := newAccount(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	if _, err := broken.File(t.Context(), "file-1"); !ConcernsObject(err) || !strings.Contains(err.Error(), "format of OpenAI's API") {
		t.Errorf("error %v", err)
	}
}

func TestAnInterruptedDownloadStartsAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	a, _ := newAccount(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "01234")
		if calls.Add(1) > 1 {
			fmt.Fprint(w, "56789")
		}
	})
	path := filepath.Join(t.TempDir(), "f")
	if err := a.Download(t.Context(), "file-1", path); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "0123456789" {
		t.Errorf("content %q, error %v", content, err)
	}
}

// TestIDsStayInTheirPath requests files with ids that would change the request's path or query.
func TestIDsStayInTheirPath(t *testing.T) {
	t.Parallel()
	a, _ := newAccount(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.EscapedPath(); got != "/v1/files/..%2Fkeys%3Fa" {
			t.Errorf("path %s", got)
		}
		w.WriteHeader(http.StatusNotFound)
	})
	if _, err := a.File(t.Context(), "../keys?a"); StatusOf(err) != 404 {
		t.Errorf("error %v", err)
	}
	for _, id := range []string{"", ".", ".."} {
		if _, err := a.File(t.Context(), id); err == nil || StatusOf(err) != 0 {
			t.Errorf("%q: error %v", id, err)
		}
	}
}

func TestChunksAreJoined(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("The warranty of the pump lasts thirty months. It begins on delivery, and covers seals. ", 40)
	for i := range 40 { // make all parts of the text different
		text = strings.Replace(text, "pump lasts", fmt.Sprintf("pump %d lasts", i), 1)
	}
	var chunks []string
	for from := 0; from < len(text); from += 500 {
		chunks = append(chunks, text[from:min(from+900, len(text))])
	}
	if got := join(chunks); got != text {
		t.Errorf("%d bytes of %d", len(got), len(text))
	}
	for want, chunks := range map[string][]string{
		"":                    nil,
		"a":                   {"a"},
		"one.\n\ntwo.":        {"one.", "two."},
		"ends in a\n\na is b": {"ends in a", "a is b"}, // too short for an overlap
	} {
		if got := join(chunks); got != want {
			t.Errorf("%q is %q, want %q", chunks, got, want)
		}
	}
}

func TestOverlapsAreTheLongest(t *testing.T) {
	t.Parallel()
	for _, try := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 0}, {"abc", "bcd", 2}, {"aaaa", "aaab", 3}, {"abab", "abab", 4}, {"xabab", "ababc", 4}, {"abcab", "abd", 2}, {"abx", "ab", 0}} {
		if got := overlap(try.a, try.b); got != try.want {
			t.Errorf("%q and %q: %d, want %d", try.a, try.b, got, try.want)
		}
	}
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"ftp://example.com", "example.com", "http://", ":"} {
		if _, err := New(Config{URL: address}); err == nil {
			t.Errorf("%q was accepted", address)
		}
	}
	if _, err := New(Config{}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, _ := newAccount(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := a.File(ctx, "file-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
