package client_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// block returns the first code block in `language` below `heading` in docs/clients.md.
func block(t *testing.T, heading, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/clients.md")
	must(t, err)
	_, section, found := strings.Cut(string(page), "\n### "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n### ")
	_, code, opened := strings.Cut(section, "\n```"+language+"\n")
	code, _, closed := strings.Cut(code, "\n```\n")
	if !found || !opened || !closed {
		t.Fatalf("docs/clients.md has no %s under %s", language, heading)
	}
	return code
}

// pythonExample is a command that runs the Python example with a file and two questions. The second question refers to
// the first. The example's output must contain the strings in pythonSays.
var (
	pythonExample = []string{
		"python3", "docs/examples/client.py", "testdata/documents/aurora-x2-manual.pdf",
		"How long is the warranty?", "And when does it end early?",
	}
	pythonSays = []string{
		"warranty of 7 years", "[1] aurora-x2-manual.pdf#page=1", "    aurora-x2-manual.pdf, page 1, bytes ", "> And when does it end early?", "run dry for more than 30 seconds",
	}
)

// TestThePythonExampleRepeatsRequests runs the Python example behind a proxy that, like a busy service, rejects the
// first attempt at each request.
func TestThePythonExampleRepeatsRequests(t *testing.T) {
	t.Parallel()
	service, err := url.Parse(os.Getenv("SLUICE_URL"))
	must(t, err)
	forward := httputil.NewSingleHostReverseProxy(service)
	var mu sync.Mutex
	keys := map[string]int{} // attempts by path and idempotency key
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		key := r.Method + " " + r.URL.Path + " " + r.Header.Get("Idempotency-Key")
		keys[key]++
		first := keys[key] == 1
		mu.Unlock()
		if first {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(busy.Close)
	cmd := exec.CommandContext(t.Context(), pythonExample[0], pythonExample[1:]...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "SLUICE_URL="+busy.URL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range pythonSays {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	changes := 0
	for key, n := range keys {
		if strings.HasPrefix(key, "GET ") {
			continue
		}
		if changes++; n != 2 || strings.HasSuffix(key, " ") {
			t.Errorf("%s was sent %d times with one key, want 2", key, n)
		}
	}
	if changes < 4 { // an upload, a search, two questions; a datastore and an agent, unless another test has created them
		t.Errorf("requests by method, path and key: %v", keys)
	}
}

func TestTheExamplesOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command []string
		says    []string
	}{
		"curl":      {[]string{"bash", "-euo", "pipefail", "-c", block(t, "curl", "sh")}, []string{`"status":"unsynched"`, "7 years", "event: answer", "data: [DONE]"}},
		"client.py": {pythonExample, pythonSays},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "curl" {
				if _, err := exec.LookPath("curl"); err != nil {
					t.Skip("this machine has no curl")
				}
			}
			cmd := exec.CommandContext(t.Context(), test.command[0], test.command[1:]...)
			cmd.Dir = "../.."
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range test.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}
