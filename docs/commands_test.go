package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/testdata/site"
)

// If this environment variable is set, the test binary runs the program it names. This is how commands in the docs
// start Sluice.
const programVariable = "DOCS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	extract.RunChildIfAsked()
	if name := os.Getenv(programVariable); name != "" {
		_ = os.Unsetenv(programVariable)
		os.Exit(app.Main(app.ShapeOf(name), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// Time limit per page. A working page takes far less.
const hangs = 5 * time.Minute

// preamble makes the shell stop at the first failing command, including when the service rejects a request. On a busy
// machine the service may answer 503, so curl retries, as clients should.
const preamble = `set -euo pipefail
curl() { command curl --fail-with-body --retry 5 --max-time 120 "$@"; }
auth="Authorization: Bearer $SLUICE_API_KEY"
API=$SLUICE_URL
`

// TestCommandsOfThePagesWork runs each page's commands in its own shell and directory, against one shared service. The
// shell has the variables SLUICE_URL, SLUICE_API_KEY, $auth, $STORE (a datastore with a document) and $AGENT.
func TestCommandsOfThePagesWork(t *testing.T) {
	for _, program := range []string{"bash", "curl", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the pages need %s, which is not here", program)
		}
	}
	s := startService(t)
	for _, p := range pages(t) {
		script := scriptOf(p)
		if script == "" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if err := s.run(t, script); err != nil {
				t.Errorf("%v\nWhat cannot be run here has `<!-- not run: why -->` before it.", err)
			}
		})
	}
	for name, script := range map[string]string{
		"a rejected request fails the page":                                     "curl -sS -H \"$auth\" $SLUICE_URL/datastores/nobody",
		"a rejected request in a pipe fails it":                                 "x=$(curl -sS $SLUICE_URL/datastores | cat)",
		"an unknown command fails it":                                           "sluice nonsense",
		"an unknown setting fails it":                                           "sluice ingestor extract --nonsense 1 testdata/documents/installation.md",
		"an unknown command of a program under its earlier name fails it":       "api nonsense",
		"a failing Python script fails it, even before a command that succeeds": "python3 -c 'raise SystemExit(1)'\necho fine",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := s.run(t, script); err == nil {
				t.Error("it passed")
			}
		})
	}
}

// scriptOf joins a page's code blocks into one script that prints each block's position before running it. It returns
// "" if the page has no commands.
func scriptOf(p page) string {
	var b strings.Builder
	for _, block := range p.blocks {
		switch {
		case block.notRun != "":
		case block.language == "sh":
			fmt.Fprintf(&b, "echo '== %s, line %d' >&2\n%s\n%s\n", p.name, block.line, block.first, block.text)
		case block.language == "python":
			fmt.Fprintf(&b, "echo '== %s, line %d' >&2\npython3 - <<'END OF BLOCK'\n%s\nEND OF BLOCK\n", p.name, block.line, block.text)
		}
	}
	return b.String()
}

// service is an api process running inside the test, with a datastore, an agent and a web site for the pages to use.
type service struct {
	base, site, key, data string
	store, agent          string
}

func startService(t *testing.T) *service {
	t.Helper()
	pages := site.Handler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch { // stands in for the example addresses on the pages
		case strings.HasPrefix(r.URL.Path, "/docs/"), r.URL.Path == "/pricing", r.URL.Path == "/blog/":
			r.URL.Path = "/"
		}
		pages.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	data := filepath.Join(t.TempDir(), "data")
	environ := []string{"SLUICE_ADDR=127.0.0.1:0", "SLUICE_DATA_DIR=" + data, "SLUICE_ALLOW_PRIVATE_ADDRESSES=true", "SLUICE_CRAWL_DELAY=0s", "SLUICE_CRAWL_PER_HOST=0"}
	c, err := config.Parse(nil, environ)
	if err != nil {
		t.Fatal(err)
	}
	running := app.NewService(c, app.Options{Log: slog.New(slog.DiscardHandler), Out: io.Discard})
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := running.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(data, "api-key"))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{base: "http://" + running.Addr(), site: web.URL, key: strings.TrimSpace(string(key)), data: data}
	s.store = s.post(t, "/datastores", "application/json", []byte(`{"name":"Handbook"}`))
	s.agent = s.post(t, "/agents", "application/json", []byte(`{"name":"Support","datastoreIds":["`+s.store+`"]}`))
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	manual, err := os.ReadFile("../testdata/documents/aurora-x2-manual.pdf")
	if err != nil {
		t.Fatal(err)
	}
	file, err := w.CreateFormFile("file", "aurora-x2-manual.pdf")
	if err == nil {
		_, err = file.Write(manual)
	}
	err = errors.Join(err, w.WriteField("type", "file"), w.WriteField("datastoreId", s.store), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	s.post(t, "/datasources", w.FormDataContentType(), form.Bytes())
	return s
}

// post creates a resource and returns its id.
func (s *service) post(t *testing.T, path, kind string, body []byte) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.ID == "" {
		t.Fatalf("POST %s: %s, %v", path, resp.Status, err)
	}
	return made.ID
}

// run runs a page's script. The error includes the end of the output.
func (s *service) run(t *testing.T, script string) error {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "testdata", "documents"), os.DirFS("../testdata/documents")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "docs", "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o755), os.Symlink(s.data, filepath.Join(dir, "data"))); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/sh\n%s=\"$0\" exec '%s' \"$@\"\n", programVariable, self)
	for _, name := range []string{"sluice", "api", "ingestor", "crawler"} {
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script = strings.NewReplacer("http://127.0.0.1:8080", s.base, "http://localhost:8080", s.base, "https://example.com", s.site).Replace(script)
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", preamble+script)
	cmd.Dir = dir
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = []string{
		"PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C.UTF-8",
		"SLUICE_URL=" + s.base, "SLUICE_API_KEY=" + s.key, "SLUICE_ALLOW_PRIVATE_ADDRESSES=true", "SLUICE_CRAWL_DELAY=0s",
		"STORE=" + s.store, "AGENT=" + s.agent,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w, after:\n%s", err, out[max(0, len(out)-4000):])
	}
	return nil
}
