package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// cleanPath removes a trailing slash and merges repeated slashes: a client whose base address ends with a slash sends
// /v1//chat/completions. Later handlers see only the clean path.
//
// A slash within an id is encoded, as in /conversations/chat%2F7. RawPath distinguishes it from the slashes between segments. For
// all other paths RawPath is empty, however the client encoded them.
func cleanPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, raw := segments(r.URL); path != r.URL.Path || raw != r.URL.RawPath {
			r = r.WithContext(r.Context()) // a copy: the caller's request must not change
			u := *r.URL
			u.Path, u.RawPath = path, raw
			r.URL = &u
		}
		next.ServeHTTP(w, r)
	})
}

// segments returns the path of an address without empty segments. If a segment holds a slash, it also returns the raw path
// in the encoding that Gin expects.
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
		if err != nil { // EscapedPath is always valid
			text = segment
		}
		holdsSlash = holdsSlash || strings.Contains(text, "/")
		plain.WriteString("/" + text)
		encoded.WriteString("/" + url.QueryEscape(text)) // Gin decodes it like a query, with + for a space
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

// headAsGet answers HEAD as GET; the http.Server drops the body.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.Clone(context.WithValue(r.Context(), headKey, true))
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

// isHead reports whether a request served as GET was HEAD: only the header is sent.
func isHead(ctx context.Context) bool {
	head, _ := ctx.Value(headKey).(bool)
	return head
}
