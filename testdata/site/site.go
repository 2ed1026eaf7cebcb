// Package site is a small web site about a fictitious company. Tests crawl it, and the demo serves it.
package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed pages
var files embed.FS

// types maps the site's file extensions to media types, so that responses do not depend on the machine's table.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".xml":  "application/xml",
	".txt":  "text/plain; charset=utf-8",
	".md":   "text/markdown; charset=utf-8",
}

// Handler serves the site from its root, "/". It replaces {{base}} in the files with the request's scheme and host, so
// that absolute addresses, as in sitemaps, are right wherever the site runs. Pages carry ETags.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Join("pages", path.Clean("/"+r.URL.Path))
		if strings.HasSuffix(r.URL.Path, "/") {
			name = path.Join(name, "index.html")
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			if _, err := fs.Stat(files, path.Join(name, "index.html")); err == nil {
				http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
				return
			}
			http.NotFound(w, r)
			return
		}
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		body = bytes.ReplaceAll(body, []byte("{{base}}"), []byte(scheme+"://"+r.Host))
		sum := sha256.Sum256(body)
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
		ext := path.Ext(name)
		if t, ok := types[ext]; ok {
			w.Header().Set("Content-Type", t)
		} else {
			w.Header().Set("Content-Type", mime.TypeByExtension(ext))
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	})
}
