package pull_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/embed/pull"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// contents maps the test model's file names to contents.
var contents = map[string][]byte{
	"config.json":           []byte(`{"model_type": "bert"}`),
	"1_Pooling/config.json": []byte(`{}`),
	"model.safetensors":     bytes.Repeat([]byte("0123456789abcdef"), 50_000),
}

func model() pull.Model {
	m := pull.Model{Name: "tiny", Origin: "somebody/tiny", Revision: "abc"}
	for _, name := range []string{"config.json", "1_Pooling/config.json", "model.safetensors"} {
		sum := sha256.Sum256(contents[name])
		m.Files = append(m.Files, pull.File{Name: name, Size: int64(len(contents[name])), SHA256: hex.EncodeToString(sum[:])})
	}
	return m
}

// server serves the model like Hugging Face, which redirects requests for large files to another path. `spoil`, unless
// nil, handles requests for the weights, counted from 1. If it returns false, the server responds normally.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	ranges []string // Range headers of requests for the weights
}

func newServer(t *testing.T, spoil func(w http.ResponseWriter, r *http.Request, number int) bool) *server {
	t.Helper()
	s := &server{}
	serve := func(w http.ResponseWriter, r *http.Request, name string) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(contents[name]))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /somebody/tiny/resolve/abc/{name...}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if contents[name] == nil {
			http.NotFound(w, r)
			return
		}
		if name == "model.safetensors" {
			http.Redirect(w, r, "/storage/weights?signature=1", http.StatusFound)
			return
		}
		serve(w, r, name)
	})
	mux.HandleFunc("GET /storage/weights", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		number := len(s.ranges)
		s.mu.Unlock()
		if spoil == nil || !spoil(w, r, number) {
			serve(w, r, "model.safetensors")
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *server) config(t *testing.T) pull.Config {
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	return pull.Config{
		Base: s.URL, Dir: filepath.Join(t.TempDir(), "data", "models"), Client: client,
		Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

// verify requires that the directory contains the model and no other visible files.
func verify(t *testing.T, c pull.Config) {
	t.Helper()
	for name, want := range contents {
		if got, err := os.ReadFile(filepath.Join(c.Dir, "tiny", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want %d; error %v", name, len(got), len(want), err)
		}
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "tiny" && (!strings.HasPrefix(e.Name(), ".") || e.IsDir()) {
			t.Errorf("%s is left over", e.Name())
		}
	}
}

// cut sends n bytes of the weights, from the requested position, and then breaks the connection.
func cut(w http.ResponseWriter, r *http.Request, n int) {
	all := contents["model.safetensors"]
	from := 0
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(all)-1, len(all)))
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = w.Write(all[from : from+n])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func TestAModelIsInstalledAtomically(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	c := s.config(t)
	var last atomic.Int64
	c.Progress = func(done, total int64) {
		if total != model().Size() || done < last.Load() || done > total {
			t.Errorf("%d of %d bytes after %d", done, total, last.Load())
		}
		last.Store(done)
	}
	directory, err := pull.Pull(t.Context(), c, model())
	if err != nil || directory != filepath.Join(c.Dir, "tiny") {
		t.Fatalf("%q, %v", directory, err)
	}
	if last.Load() != model().Size() {
		t.Errorf("told of %d bytes", last.Load())
	}
	verify(t, c)
	s.Close() // verifying an existing model needs no network
	if _, err := pull.Pull(t.Context(), c, model()); err != nil {
		t.Error(err)
	}
}

func TestAModifiedModelIsNotOverwritten(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	c := s.config(t)
	own := filepath.Join(c.Dir, "tiny", "config.json")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("my own"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pull.Pull(t.Context(), c, model()); err == nil || !strings.Contains(err.Error(), own) || !strings.Contains(err.Error(), "move the directory elsewhere") {
		t.Errorf("error %v", err)
	}
	if got, _ := os.ReadFile(own); string(got) != "my own" {
		t.Errorf("the content is %q", got)
	}
}

func TestABrokenDownloadResumes(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, r *http.Request, number int) bool {
		if number <= 2 {
			cut(w, r, 100_000)
		}
		return false
	})
	c := s.config(t)
	if _, err := pull.Pull(t.Context(), c, model()); err != nil {
		t.Fatal(err)
	}
	verify(t, c)
	if want := []string{"", "bytes=100000-", "bytes=200000-"}; fmt.Sprint(s.ranges) != fmt.Sprint(want) {
		t.Errorf("asked for %q, want %q", s.ranges, want)
	}
}

func TestTheNextPullResumes(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, r *http.Request, number int) bool {
		if number == 1 {
			cut(w, r, 300_000)
		}
		return false
	})
	c := s.config(t)
	c.Attempts = 1
	if _, err := pull.Pull(t.Context(), c, model()); err == nil || !strings.Contains(err.Error(), "pull again to resume") {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "tiny")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("half a model is there")
	}
	if _, err := pull.Pull(t.Context(), c, model()); err != nil {
		t.Fatal(err)
	}
	verify(t, c)
	if len(s.ranges) != 2 || s.ranges[1] != "bytes=300000-" {
		t.Errorf("asked for %q", s.ranges)
	}
}

func TestServersThatMisbehave(t *testing.T) {
	t.Parallel()
	weights := contents["model.safetensors"]
	other := bytes.Clone(weights)
	other[77]++
	for name, test := range map[string]struct {
		spoil    func(w http.ResponseWriter, r *http.Request, number int) bool
		requests int    // requests for the weights
		words    string // text in the error; empty if the download eventually succeeds
	}{
		"one that is busy is asked again": {requests: 2, spoil: func(w http.ResponseWriter, _ *http.Request, number int) bool {
			if number == 1 {
				http.Error(w, "busy", http.StatusServiceUnavailable)
			}
			return number == 1
		}},
		"one that knows no ranges begins anew": {requests: 2, spoil: func(w http.ResponseWriter, r *http.Request, number int) bool {
			if number == 1 {
				cut(w, r, 5000)
			}
			_, _ = w.Write(weights)
			return true
		}},
		"one that answers another range is asked for all": {requests: 3, spoil: func(w http.ResponseWriter, r *http.Request, number int) bool {
			switch number {
			case 1:
				cut(w, r, 5000)
			case 2:
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 10-%d/%d", len(weights)-1, len(weights)))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(weights[10:])
			}
			return number == 2
		}},
		"one that cannot go on is asked for all": {requests: 3, spoil: func(w http.ResponseWriter, r *http.Request, number int) bool {
			switch number {
			case 1:
				cut(w, r, 5000)
			case 2:
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			}
			return number == 2
		}},
		"one whose beginning was damaged is asked for all": {requests: 3, spoil: func(w http.ResponseWriter, _ *http.Request, number int) bool {
			if number == 1 {
				_, _ = w.Write(other[:5000])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			return false
		}},
		"one that has another file is not believed": {requests: 1, words: "differs from the published file", spoil: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			_, _ = w.Write(other)
			return true
		}},
		"one that sends without end is cut off": {requests: 1, words: "more than the expected 800000 bytes", spoil: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			for {
				if _, err := w.Write(weights); err != nil {
					return true
				}
			}
		}},
		"one that refuses is not asked again": {requests: 1, words: "401 Unauthorized", spoil: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			http.Error(w, "no", http.StatusUnauthorized)
			return true
		}},
		"one that is always busy is given up": {requests: 4, words: "503 Service Unavailable (after 4 attempts", spoil: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.spoil)
			c := s.config(t)
			c.Attempts = 4
			_, err := pull.Pull(t.Context(), c, model())
			if test.words == "" {
				if err != nil {
					t.Fatal(err)
				}
				verify(t, c)
			} else if err == nil || !strings.Contains(err.Error(), test.words) || !strings.Contains(err.Error(), "/somebody/tiny/resolve/abc/model.safetensors") {
				t.Errorf("error %v lacks %q", err, test.words)
			} else if _, err := os.Stat(filepath.Join(c.Dir, "tiny")); !errors.Is(err, os.ErrNotExist) {
				t.Error("a model is there")
			}
			if len(s.ranges) != test.requests {
				t.Errorf("%d requests, want %d", len(s.ranges), test.requests)
			}
		})
	}
}

func TestAStalledServerIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, r *http.Request, number int) bool {
		_, _ = io.WriteString(w, "0123")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	})
	c := s.config(t)
	c.Attempts, c.Stall = 1, 50*time.Millisecond
	if _, err := pull.Pull(t.Context(), c, model()); err == nil || !strings.Contains(err.Error(), "sent no data for 50ms") {
		t.Errorf("error %v", err)
	}
}

func TestAPullEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		cancel()
		<-r.Context().Done()
		return true
	})
	if _, err := pull.Pull(ctx, s.config(t), model()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTwoPullsDoNotWriteTheSameFiles(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	c := s.config(t)
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	other := flock.New(filepath.Join(c.Dir, ".tiny.lock"))
	if ok, err := other.TryLock(); err != nil || !ok {
		t.Fatal(err)
	}
	if _, err := pull.Pull(t.Context(), c, model()); err == nil || !strings.Contains(err.Error(), "another process is downloading tiny") {
		t.Errorf("error %v", err)
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestRedirectsFromHTTPSToHTTPAreRefused(t *testing.T) {
	t.Parallel()
	plain := newServer(t, nil)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+r.URL.Path, http.StatusFound)
	}))
	defer secure.Close()
	c := plain.config(t)
	c.Base, c.Attempts = secure.URL, 1
	client := secure.Client()
	client.CheckRedirect = pull.CheckRedirect
	c.Client = client
	if _, err := pull.Pull(t.Context(), c, model()); err == nil || !strings.Contains(err.Error(), "a redirect from https to http") {
		t.Errorf("error %v", err)
	}
	client.CloseIdleConnections()
}

func TestInvalidAddressesAreRefused(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"ftp://example.org", "huggingface.co", "https://"} {
		if _, err := pull.Pull(t.Context(), pull.Config{Base: base, Dir: t.TempDir()}, model()); err == nil || !strings.Contains(err.Error(), "is not an http or https URL") {
			t.Errorf("%q: error %v", base, err)
		}
	}
}

func TestAFileThatThePublisherLacksIsWritten(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	const content = `{"prompts": {"query": "query: "}}`
	sum := sha256.Sum256([]byte(content))
	m := model()
	m.Files = append(m.Files, pull.File{Name: "prompts.json", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Content: content})
	c := pull.Config{Base: s.URL, Dir: t.TempDir()}
	for range 2 { // the second call verifies the files
		directory, err := pull.Pull(t.Context(), c, m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(directory, "prompts.json")); err != nil || string(got) != content {
			t.Errorf("the file is %q, error %v", got, err)
		}
	}
}

func TestKnownModelsAreCompleteAndPinned(t *testing.T) {
	t.Parallel()
	for _, m := range pull.Known() {
		if found, ok := pull.Find(m.Name); !ok || found.Origin != m.Origin {
			t.Errorf("%s is not found", m.Name)
		}
		if len(m.Revision) != 40 || m.Licence == "" || m.About == "" {
			t.Errorf("%+v", m)
		}
		for _, f := range m.Files {
			if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != sha256.Size || f.Size <= 0 || !filepath.IsLocal(f.Name) {
				t.Errorf("%s: %+v", m.Name, f)
			}
			if sum := sha256.Sum256([]byte(f.Content)); f.Content != "" && (hex.EncodeToString(sum[:]) != f.SHA256 || int64(len(f.Content)) != f.Size) {
				t.Errorf("%s: the digest of %s is not that of its content", m.Name, f.Name)
			}
		}
	}
	if _, ok := pull.Find("nothing"); ok {
		t.Error("nothing is found")
	}
}
