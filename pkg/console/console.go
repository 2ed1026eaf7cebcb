// Package console is the web interface at /. Its HTML, CSS and JavaScript modules are embedded in the program; there is
// no build step, and nothing is loaded from other hosts. The console is an ordinary API client with only the
// permissions of the key the user enters.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed static
var static embed.FS

// Icon is the service's icon, as SVG.
//
//go:embed static/icon.svg
var Icon []byte

// Prefix is the path prefix for the console's files.
const Prefix = "/console/"

// Policy is the page's Content-Security-Policy. Scripts and styles may come only from the service itself, never inline.
// Web pages are shown in frames without an address, which inherit this policy. Only the Trusted Types policy "inert"
// may parse HTML, and its output is never inserted into the page (static/original.js).
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types inert"

// types maps each served file extension to its media type. Other files are not served.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

type file struct {
	kind   string
	plain  []byte
	packed []byte // gzip-compressed
}

// console maps request paths to files.
type console struct {
	files   map[string]file
	version string
}

// placeholder is replaced with the program version in index.html. All other files have the version in their addresses,
// so browsers can cache them forever without mixing two releases.
const placeholder = "VERSION"

// load prepares the files on the first request, so that a process whose console is never opened doesn't spend time
// compressing them.
var load = sync.OnceValue(func() *console {
	c := &console{files: map[string]file{}}
	sources := map[string][]byte{}
	sum := sha256.New()
	// Walking embedded files cannot fail.
	_ = fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || types[path.Ext(name)] == "" {
			return err
		}
		content, err := static.ReadFile(name)
		sources[strings.TrimPrefix(name, "static/")] = content
		sum.Write([]byte(name))
		sum.Write(content)
		return err
	})
	c.version = hex.EncodeToString(sum.Sum(nil))[:12]
	for name, content := range sources {
		at := Prefix + c.version + "/" + name
		if name == "index.html" {
			at, content = "/", bytes.ReplaceAll(content, []byte(placeholder), []byte(c.version))
		}
		c.files[at] = file{kind: types[path.Ext(name)], plain: content, packed: pack(content)}
	}
	chat, err := bundle(sources, entry)
	if err != nil {
		panic(err) // impossible: the files are embedded, and a test builds the bundle
	}
	c.files[EmbedPath] = file{kind: types[".js"], plain: chat, packed: pack(chat)}
	return c
})

func pack(content []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(content)                               // writing to a buffer cannot fail
	_ = z.Close()
	return b.Bytes()
}

// SetHeaders sets a page's security headers.
func SetHeaders(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// Serve writes the file at the request's path (/, EmbedPath or a path below Prefix) and reports whether it exists.
func Serve(w http.ResponseWriter, r *http.Request) bool {
	c := load()
	f, found := c.files[r.URL.Path]
	if !found {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	SetHeaders(h, Policy)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	switch r.URL.Path {
	case "/":
		h.Set("Cache-Control", "no-cache")
	case EmbedPath: // other sites embed it under an unversioned address
		h.Set("Cache-Control", "public, max-age=600")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Set("Access-Control-Allow-Origin", "*")
	}
	if r.URL.Path == "/" || r.URL.Path == EmbedPath {
		h.Set("ETag", `"`+c.version+`"`)
		if r.Header.Get("If-None-Match") == `"`+c.version+`"` {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	WriteFile(w, r, f.plain, f.packed)
	return true
}

// WriteFile writes a file. `packed` is its gzip-compressed content, or nil.
func WriteFile(w http.ResponseWriter, r *http.Request, plain, packed []byte) {
	body := plain
	if packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body = packed
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // fails only if the client has disconnected
}
