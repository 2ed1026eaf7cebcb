package manual

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/docs"
)

func get(t *testing.T, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	if found, err := Serve(w, r); err != nil || !found {
		t.Fatalf("GET %s: found %t, %v", path, found, err)
	}
	return w
}

func TestEveryMarkdownFileIsAPage(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(docs.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".md") {
			return err
		}
		w := get(t, address(name))
		if w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("Content-Security-Policy") != Policy {
			t.Errorf("%s: %v", name, w.Header())
		}
		source, err := fs.ReadFile(docs.Files, name)
		if got := get(t, Root+"/"+name).Body.Bytes(); !bytes.Equal(got, source) {
			t.Errorf("%s is not served as it is written", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPagesNeedNothingFromElsewhere reads every page as a browser would. Pages must load only the service's own files,
// and their links within the service must work. They must not contain duplicate ids, or styles or scripts that the
// policy blocks.
func TestPagesNeedNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	site, err := load()
	if err != nil {
		t.Fatal(err)
	}
	files := site.files
	ids := map[string]map[string]bool{}
	for at, f := range files {
		if f.kind == types[""] {
			ids[at] = idsOf(t, at, f.plain)
		}
	}
	for at := range ids {
		for n := range parse(t, files[at].plain).Descendants() {
			for _, a := range n.Attr {
				switch {
				case a.Key == "style", strings.HasPrefix(a.Key, "on"), n.Data == "script" && n.FirstChild != nil, n.Data == "style":
					t.Errorf("%s: <%s %s=%q> is refused by the policy", at, n.Data, a.Key, a.Val)
				case a.Key != "href" && a.Key != "src":
				case strings.HasPrefix(a.Val, "#"):
					if !ids[at][a.Val[1:]] {
						t.Errorf("%s: there is no %s on the page", at, a.Val)
					}
				case strings.HasPrefix(a.Val, Root):
					page, fragment, _ := strings.Cut(a.Val, "#")
					if _, found := files[page]; !found && page != Reference || fragment != "" && !ids[page][fragment] {
						t.Errorf("%s: %s leads nowhere", at, a.Val)
					}
				case n.Data != "a" && a.Key == "href", a.Key == "src":
					t.Errorf("%s: <%s> loads %s", at, n.Data, a.Val)
				case !strings.HasPrefix(a.Val, "https://") && !strings.HasPrefix(a.Val, "http://") && a.Val != "/" && a.Val != "/openapi.json":
					t.Errorf("%s: %s leads nowhere", at, a.Val)
				}
			}
		}
	}
}

func parse(t *testing.T, page []byte) *html.Node {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func idsOf(t *testing.T, at string, page []byte) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for n := range parse(t, page).Descendants() {
		for _, a := range n.Attr {
			if a.Key == "id" {
				if ids[a.Val] {
					t.Errorf("%s has the id %q twice; call a heading otherwise", at, a.Val)
				}
				ids[a.Val] = true
			}
		}
	}
	return ids
}

func TestServe(t *testing.T) {
	t.Parallel()
	t.Run("a page that has not changed is not sent again", func(t *testing.T) {
		t.Parallel()
		first := get(t, Root)
		again := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, Root, nil)
		r.Header.Set("If-None-Match", first.Header().Get("ETag"))
		if _, err := Serve(again, r); err != nil || again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%d, %d bytes, %v", again.Code, again.Body.Len(), err)
		}
	})
	t.Run("pages are packed for those who take it", func(t *testing.T) {
		t.Parallel()
		plain, packed := get(t, Root+"/configuration"), get(t, Root+"/configuration", "Accept-Encoding", "gzip, br")
		if packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len()*2 > plain.Body.Len() {
			t.Errorf("%v, %d bytes of %d", packed.Header(), packed.Body.Len(), plain.Body.Len())
		}
	})
	t.Run("the front page is at both bases", func(t *testing.T) {
		t.Parallel()
		if a, b := get(t, Root), get(t, "/api"+Root); !bytes.Equal(a.Body.Bytes(), b.Body.Bytes()) {
			t.Error("they differ")
		}
	})
	t.Run("what is not there is not found", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{Root + "/nobody", Root + "/embed.go", Root + "/../go.mod", Root + "//configuration"} {
			w := httptest.NewRecorder()
			r := &http.Request{Method: http.MethodGet, URL: httptest.NewRequest(http.MethodGet, "/", nil).URL}
			r.URL.Path = path
			if found, err := Serve(w, r); found || err != nil || w.Body.Len() > 0 {
				t.Errorf("%s: found %t, %v", path, found, err)
			}
		}
	})
}

func TestRender(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"a.md": {}, "adr/b.md": {}, "adr/README.md": {}, "images/x.svg": {}}
	for name, tt := range map[string]struct{ source, text, want string }{
		"a link to a page":               {"c.md", "[x](a.md#part)", `<a href="/docs/a#part">x</a>`},
		"a link to the parent directory": {"adr/b.md", "[x](../a.md)", `<a href="/docs/a">x</a>`},
		"a link to a directory's README": {"c.md", "[x](adr/README.md)", `<a href="/docs/adr">x</a>`},
		"a link to a file of the code":   {"c.md", "[x](../SECURITY.md)", `<a href="https://github.com/sluice/sluice/blob/main/SECURITY.md">x</a>`},
		"a link to the API":              {"c.md", "[x](../pkg/api/openapi.yaml)", `<a href="/docs/api">x</a>`},
		"a link on the page":             {"c.md", "[x](#y)", `<a href="#y">x</a>`},
		"a picture":                      {"c.md", "![x](images/x.svg)", `<img src="/docs/images/x.svg" alt="x">`},
		"HTML is left out":               {"c.md", "<script>alert(1)</script>", "<!-- raw HTML omitted -->"},
		"a link that is a script is not": {"c.md", "[x](javascript:alert(1))", `<a href="">x</a>`},
		"a heading as GitHub names it":   {"c.md", "## `A b`: Ümläut, c/d 1.0", `<h2 id="a-b-ümläut-cd-10">`},
		"a repeated heading":             {"c.md", "## A\n\n## A", `<h2 id="a-1">A</h2>`},
		"a table without headings":       {"c.md", "| | |\n|---|---|\n| a | b |", "<td></td>"},
		"a table scrolls by itself":      {"c.md", "| a |\n|---|\n| b |", `tabindex="0"><table>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := render(files, tt.source, []byte("# Title\n\n"+tt.text+"\n"))
			if err != nil || !strings.Contains(string(p.text), tt.want) || p.title != "Title" {
				t.Errorf("%q, %v, want %q in\n%s", p.title, err, tt.want, p.text)
			}
		})
	}
	t.Run("a page without a title is refused", func(t *testing.T) {
		t.Parallel()
		if _, err := render(files, "c.md", []byte("text")); err == nil {
			t.Error("it was taken")
		}
	})
}

func TestNavigation(t *testing.T) {
	t.Parallel()
	all, err := readPages(fstest.MapFS{
		"README.md":     {Data: []byte("# Front\n\n## One\n\n- [A](a.md): why\n- [D](adr/README.md)\n\n## Two\n\nNo [list](b.md).\n")},
		"a.md":          {Data: []byte("# A\n\n## Part\n")},
		"b.md":          {Data: []byte("# B\n")},
		"adr/README.md": {Data: []byte("# D\n")},
		"adr/1.md":      {Data: []byte("# First\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(all.view(all.list[len(all.list)-3]).Navigation)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"Title":"One","Links":[{"Title":"A","At":"/docs/a","Here":false},{"Title":"D","At":"/docs/adr","Here":true}]},` +
		`{"Title":"More","Links":[{"Title":"B","At":"/docs/b","Here":false}]}]`
	if all.list[len(all.list)-3].source != "adr/1.md" || string(got) != want {
		t.Errorf("of %s:\n%s\nwant\n%s", all.list[len(all.list)-3].source, got, want)
	}
}
