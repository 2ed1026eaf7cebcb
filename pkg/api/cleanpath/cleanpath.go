// Package cleanpath normalises the paths of requests before they are routed.
package cleanpath

import (
	"net/http"
	"net/url"
	"strings"
)

// Handler removes a trailing slash and collapses repeated ones, because clients whose base URL ends with a slash
// request paths like /v1//chat/completions. Later handlers see only the clean path.
//
// Clients percent-encode slashes in ids: /conversations/chat%2F7. Such a request keeps its encoded path in RawPath,
// which distinguishes the id's slash from a separator. For other requests, RawPath is empty.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, raw := segments(r.URL); path != r.URL.Path || raw != r.URL.RawPath {
			r = r.WithContext(r.Context()) // a copy, because the caller's request must not change
			u := *r.URL
			u.Path, u.RawPath = path, raw
			r.URL = &u
		}
		next.ServeHTTP(w, r)
	})
}

// segments returns u's path without empty segments. If a segment contains a slash, it also returns the raw path,
// encoded as Gin expects.
func segments(u *url.URL) (path, raw string) {
	if u.RawPath == "" && !strings.Contains(u.Path, "//") && (u.Path == "/" || !strings.HasSuffix(u.Path, "/")) {
		return u.Path, ""
	}
	var plain, encoded strings.Builder
	holdsSlash := false
	for segment := range strings.SplitSeq(u.EscapedPath(), "/") {
		if segment == "" {
			continue
		}
		text, err := url.PathUnescape(segment)
		if err != nil { // cannot happen, because EscapedPath is always valid
			text = segment
		}
		holdsSlash = holdsSlash || strings.Contains(text, "/")
		plain.WriteString("/" + text)
		encoded.WriteString("/" + url.QueryEscape(text)) // Gin decodes it like a query string, where + means a space
	}
	switch {
	case plain.Len() == 0:
		return "/", ""
	case holdsSlash:
		return plain.String(), encoded.String()
	default:
		return plain.String(), ""
	}
}
