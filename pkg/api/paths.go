package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// cleanPath removes the slash at the end of a path and joins slashes that follow one another: a client whose base address ends with a
// slash sends /v1//chat/completions. Everything behind it sees the clean path alone.
//
// A slash that is part of an id comes encoded, as in /conversations/chat%2F7. RawPath keeps such a slash apart from those between
// segments, and is empty for all other paths, however the client has encoded them.
func cleanPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, raw := segments(r.URL); path != r.URL.Path || raw != r.URL.RawPath {
			r = r.WithContext(r.Context()) // the caller's request stays as it is
			u := *r.URL
			u.Path, u.RawPath = path, raw
			r.URL = &u
		}
		next.ServeHTTP(w, r)
	})
}

// segments returns the path of an address without empty segments, and in the form that Gin decodes if a segment holds a slash.
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
		encoded.WriteString("/" + url.QueryEscape(text)) // Gin decodes it as a part of a query, with + for a space
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

// isHead reports whether the client wants the header alone, of what is served as if it were GET.
func isHead(ctx context.Context) bool {
	head, _ := ctx.Value(headKey).(bool)
	return head
}
