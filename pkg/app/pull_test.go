package app

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/embed/transformer/tinymodel"
)

// models runs sluice models and returns its output.
func models(t *testing.T, environ []string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), API, append([]string{"models"}, args...), environ, &out, &out)
	return out.String(), err
}

func TestModelsAreListedTheDefaultFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := models(t, []string{"SLUICE_DATA_DIR=" + dir}, "list")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	begins := func(line int, want string) bool {
		return len(lines) > line && strings.HasPrefix(strings.Join(strings.Fields(lines[line]), " "), want)
	}
	if len(lines) < 5 || !begins(1, builtinModel+" 256 default of new datastores") || !begins(2, builtinMiniLM+" 384") ||
		!begins(4, "multilingual-e5-small not installed") || !strings.Contains(lines[3], "sluice models pull all-MiniLM-L6-v2 (English, 384 dimensions; Apache-2.0; 91 MB)") {
		t.Errorf("printed\n%s", out)
	}
	if !strings.Contains(out, "sluice models pull ms-marco-MiniLM-L6-v2 (reranker, English; Apache-2.0; 91 MB)") {
		t.Errorf("the list lacks the reranker:\n%s", out)
	}
	modelAt(t, 1, dir, "models", "tiny")
	tinymodel.Model{Kind: "bert", Pairs: true}.Write(t, filepath.Join(dir, "models", "tiny-pairs"))
	out, err = models(t, nil, "list", "--data-dir", dir)
	if lines = strings.Split(out, "\n"); err != nil || len(lines) < 4 || !strings.HasPrefix(lines[1], "local:tiny-bert@") || !strings.HasPrefix(lines[2], builtinModel) ||
		!strings.Contains(strings.Join(strings.Fields(out), " "), "tiny-pairs reranker: set RERANK_MODEL=tiny-pairs") {
		t.Errorf("printed\n%s, error %v", out, err)
	}
}

func TestAFailedPullNamesTheRemedy(t *testing.T) {
	t.Parallel()
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sentence-transformers/all-MiniLM-L6-v2/resolve/c9745ed1d9f207416be6d2e6f8de32d1f16199bf/config.json" {
			_, _ = w.Write([]byte(strings.Repeat("x", 612))) // correct size, wrong content
			return
		}
		http.NotFound(w, r)
	}))
	defer hub.Close()
	dir := t.TempDir()
	for name, test := range map[string]struct {
		environ, args []string
		words         []string
	}{
		"no verb":              {nil, nil, []string{"missing command: list or pull", "usage:"}},
		"an unknown verb":      {nil, []string{"push"}, []string{`unknown command "models push"`}},
		"no name":              {nil, []string{"pull"}, []string{"specify a model", "models list", "usage:"}},
		"an unknown model":     {nil, []string{"pull", "gpt", "--data-dir", dir}, []string{`"gpt" cannot be downloaded`, filepath.Join(dir, "models")}},
		"a stray argument":     {nil, []string{"list", "all"}, []string{`unexpected argument "all"`}},
		"another file":         {nil, []string{"pull", "all-MiniLM-L6-v2", "--data-dir", dir, "--from", hub.URL}, []string{hub.URL, "config.json differs from the published file", "without network access", dir}},
		"an address that lies": {[]string{"HF_ENDPOINT=ftp://x"}, []string{"pull", "all-MiniLM-L6-v2", "--data-dir", t.TempDir()}, []string{`"ftp://x"`}},
	} {
		_, err := models(t, test.environ, test.args...)
		for _, words := range test.words {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: error %v lacks %q", name, err, words)
			}
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "models")); err != nil || len(entries) == 0 {
		t.Errorf("%v, %v", entries, err)
	} else if _, err := models(t, nil, "list", "--data-dir", dir); err != nil {
		t.Errorf("half a download breaks the list: %v", err)
	}
}
