// Package manual serves the documentation at /docs. It renders the Markdown files from the docs directory, which are
// embedded in the program. The pages load nothing from other hosts, and only the search needs a script.
package manual

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // for the embedded style and script
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/sluice/sluice/docs"
	"github.com/sluice/sluice/pkg/console"
)

// Root is the path of the documentation's front page. The paths of all other pages and files start with it.
const Root = "/docs"

// Reference is the path of the API reference, which is not one of this package's pages.
const Reference = Root + "/api"

// Icon is the path of the service's icon, which the API reference uses too.
const Icon = Root + "/icon.svg"

// Policy is the pages' Content-Security-Policy. It allows only styles, scripts and images from the service itself.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// picturePolicy is the Content-Security-Policy for SVG images opened directly. It allows an image's own styles but no
// scripts.
const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

//go:embed static/manual.css
var style []byte

//go:embed static/manual.js
var script []byte

var types = map[string]string{
	"":      "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".md":   "text/markdown; charset=utf-8",
	".mjs":  "text/plain; charset=utf-8", // examples, shown as text
	".py":   "text/plain; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",
}

// file is a page or another file that the documentation serves, with the values of its response headers.
type file struct {
	kind   string
	policy string
	tag    string // ETag, a hash of the content
	plain  []byte
	packed []byte // gzipped; nil if that is not smaller
}

func newFile(name string, content []byte) file {
	f := file{kind: types[path.Ext(name)], policy: Policy, plain: content}
	sum := sha256.Sum256(content)
	f.tag = `"` + hex.EncodeToString(sum[:8]) + `"`
	if path.Ext(name) == ".svg" {
		f.policy = picturePolicy
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(content)                               // writing to a buffer cannot fail
	_ = z.Close()
	if b.Len() < len(content) {
		f.packed = b.Bytes()
	}
	return f
}

type site struct {
	files  map[string]file // by request path
	search func() *searcher
}

// load builds the pages on the first request.
var load = sync.OnceValues(func() (*site, error) { return build(docs.Files) })

// build builds the site from a directory of Markdown files.
func build(source fs.FS) (*site, error) {
	pages, err := readPages(source)
	if err != nil {
		return nil, err
	}
	files := map[string]file{
		Root + "/manual.css": newFile("manual.css", style),
		Root + "/manual.js":  newFile("manual.js", script),
		Icon:                 newFile("icon.svg", console.Icon),
	}
	for _, p := range pages.list {
		var b bytes.Buffer
		if err := layout.Execute(&b, pages.view(p)); err != nil {
			return nil, fmt.Errorf("rendering %s: %w", p.source, err)
		}
		files[p.at] = newFile("", b.Bytes())
		files[Root+"/"+p.source] = newFile(p.source, p.markdown)
	}
	err = fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) == ".md" || types[path.Ext(name)] == "" {
			return err
		}
		content, err := fs.ReadFile(source, name)
		files[Root+"/"+name] = newFile(name, content)
		return err
	})
	return &site{files, sync.OnceValue(pages.searcher)}, err
}

// Serve writes the page, file or search results for the request's path (Root or below). `found` is false if there is
// nothing at that path.
func Serve(w http.ResponseWriter, r *http.Request) (found bool, err error) {
	s, err := load()
	if err != nil {
		return false, err
	}
	at := strings.TrimPrefix(r.URL.Path, "/api")
	f, found := s.files[at]
	if at == Search {
		content, err := json.Marshal(s.search().find(r.URL.Query().Get("q")))
		if err != nil {
			return false, fmt.Errorf("encoding the hits of a search: %w", err)
		}
		f, found = newFile("search.json", content), true
	}
	if !found {
		return false, nil
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	console.SetHeaders(h, f.policy)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache") // browsers revalidate and get 304 if the file is unchanged
	h.Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return true, nil
	}
	console.WriteFile(w, r, f.plain, f.packed)
	return true, nil
}
