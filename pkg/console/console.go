// Package console is the page at / with which people use the service: plain HTML, CSS and JavaScript modules that are
// part of the program. Nothing of it is built, and nothing comes from another host. It is a client of the API like any
// other, and holds no right that the key which is put into it does not have.
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

// Icon is the picture of the service, as SVG.
//
//go:embed static/icon.svg
var Icon []byte

// Prefix begins the paths of what the page is made of.
const Prefix = "/console/"

// Policy is the page's Content-Security-Policy. Scripts and styles are files of the console; what is shown of documents
// stands in frames that inherit all of this. Nothing but the policy "inert" may parse HTML, and what it parses is never
// put into the page (static/original.js).
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
	"frame-src 'self' blob:; object-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types inert"

// types are those of the files by their endings: a file of another kind is not served.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is one of the console's files as it is sent.
type file struct {
	kind   string
	plain  []byte
	packed []byte // with gzip
}

// console is all files by the paths that they are served under.
type console struct {
	files   map[string]file
	version string
}

// placeholder stands in index.html where the version goes. The version is part of the addresses of all other files, so
// that a browser keeps them for ever and yet never mixes those of two releases.
const placeholder = "VERSION"

// load reads the files when the first person comes: a process that serves programs alone need not pack them.
var load = sync.OnceValue(func() *console {
	c := &console{files: map[string]file{}}
	sources := map[string][]byte{}
	sum := sha256.New()
	// The files are part of the program: reading them cannot fail.
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
		panic(err) // the files are part of the program, and a test puts them together
	}
	c.files[EmbedPath] = file{kind: types[".js"], plain: chat, packed: pack(chat)}
	return c
})

func pack(content []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one
	_, _ = z.Write(content)                               // into memory
	_ = z.Close()
	return b.Bytes()
}

// Serve writes what lies at the request's path, /, EmbedPath or one below Prefix, and reports whether there is such a file.
func Serve(w http.ResponseWriter, r *http.Request) bool {
	c := load()
	f, found := c.files[r.URL.Path]
	if !found {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	switch r.URL.Path {
	case "/":
		h.Set("Cache-Control", "no-cache")
	case EmbedPath: // its address stays, and pages of everybody have it
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
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that left needs no page
	return true
}
