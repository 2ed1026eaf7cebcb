package console_test

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/console"
)

func get(t *testing.T, at string, headers ...string) (*httptest.ResponseRecorder, bool) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w, console.Serve(w, r)
}

// sources returns the console's source files, keyed by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := os.DirFS("static")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		out[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var versioned = regexp.MustCompile(`console/([0-9a-f]{12})/main\.js`)

func TestThePageAndItsFilesAreServed(t *testing.T) {
	t.Parallel()
	page, found := get(t, "/")
	version := versioned.FindStringSubmatch(page.Body.String())
	if !found || version == nil {
		t.Fatalf("the page is %s", page.Body)
	}
	if page.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("the page may be kept: %q", page.Header().Get("Cache-Control"))
	}
	if again, _ := get(t, "/", "If-None-Match", page.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("the same page is sent again: %d", again.Code)
	}
	kinds := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	for name, want := range sources(t) {
		if name == "index.html" {
			continue
		}
		plain, found := get(t, console.Prefix+version[1]+"/"+name)
		if !found || plain.Body.String() != want || plain.Header().Get("Content-Type") != kinds[path.Ext(name)] {
			t.Errorf("%s is not served as it lies in the repository: %v, %s", name, found, plain.Header().Get("Content-Type"))
		}
		if plain.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" || plain.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has the header %v", name, plain.Header())
		}
		packed, _ := get(t, console.Prefix+version[1]+"/"+name, "Accept-Encoding", "br, gzip")
		unpacked, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(unpacked); err != nil || string(got) != want {
			t.Errorf("%s is packed wrongly: %v", name, err)
		}
	}
	for _, nowhere := range []string{"/console/", "/console/main.js", "/console/000000000000/main.js", "/console/" + version[1] + "/../console.go", "/static/main.js"} {
		if _, found := get(t, nowhere); found {
			t.Errorf("there is something at %s", nowhere)
		}
	}
}

// TestTheConsoleLoadsNothingFromOtherHosts checks that no file loads anything from another host, contains inline
// scripts or styles, or turns text into markup.
func TestTheConsoleLoadsNothingFromOtherHosts(t *testing.T) {
	t.Parallel()
	foreign := regexp.MustCompile(`(?i)(?:src|href|import|from|url|fetch)\s*[=(:]?\s*["'(]?(?:https?:)?//[a-z0-9]`)
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=["']|<script(?:\s+type="module")?>|javascript:`)
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\('style`)
	for name, text := range sources(t) {
		if m := foreign.FindString(text); m != "" {
			t.Errorf("%s fetches from elsewhere: %s", name, m)
		}
		if m := inline.FindString(text); m != "" && strings.HasSuffix(name, ".html") {
			t.Errorf("%s has scripts or styles inline: %s", name, m)
		}
		if m := markup.FindString(text); m != "" {
			t.Errorf("%s makes markup of text: %s", name, m)
		}
		if n := strings.Count(text, "\n"); n > 400 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
	for _, refused := range []string{"unsafe-inline", "unsafe-eval", "http:", "https:", "*"} {
		if strings.Contains(console.Policy, refused) {
			t.Errorf("the policy allows %s", refused)
		}
	}
	for _, needed := range []string{"default-src 'none'", "script-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(console.Policy, needed) {
			t.Errorf("the policy lacks %s", needed)
		}
	}
}

// Maximum total size of the console's files as sent. A first load transfers only some of them.
const maxConsoleBytes = 100_000

func TestTheConsoleIsSmall(t *testing.T) {
	t.Parallel()
	page, _ := get(t, "/")
	version := versioned.FindStringSubmatch(page.Body.String())[1]
	total := 0
	for name := range sources(t) {
		at := console.Prefix + version + "/" + name
		if name == "index.html" {
			at = "/"
		}
		w, _ := get(t, at, "Accept-Encoding", "gzip")
		total += w.Body.Len()
	}
	t.Logf("all files: %d bytes as they are sent", total)
	if total > maxConsoleBytes {
		t.Errorf("the console has %d bytes; %d are its limit", total, maxConsoleBytes)
	}
}
