package crawl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/crawl/weburl"
)

// Access holds extra headers, such as credentials, for requests to one protected site. It has no exported fields and
// prints only its origin, so that the values stay out of logs.
type Access struct {
	origin  string
	headers map[string]string
	digest  string // hash of the headers; part of the cache key for robots.txt
}

// NewAccess returns an Access that adds `headers` to all requests to the origin of `address`.
func NewAccess(address string, headers map[string]string) (*Access, error) {
	u, err := weburl.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("determining the origin that the headers are for: %w", err)
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(h, "%q: %q\n", name, headers[name])
	}
	return &Access{origin: originOf(u), headers: maps.Clone(headers), digest: hex.EncodeToString(h.Sum(nil))}, nil
}

// String returns the origin.
func (a *Access) String() string { return "headers for " + a.origin }

// GoString is the same as String, so that %#v hides the header values too.
func (a *Access) GoString() string { return a.String() }

// Origin returns a web address's scheme, host and port in the form that NewAccess uses.
func Origin(address string) (string, error) {
	u, err := weburl.Parse(address)
	if err != nil {
		return "", fmt.Errorf("determining the origin of an address: %w", err)
	}
	return originOf(u), nil
}

// originOf returns an address's scheme, host and port, without the scheme's default port.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && (u.Scheme != "http" || p != "80") && (u.Scheme != "https" || p != "443") {
		host += ":" + p
	}
	return u.Scheme + "://" + host
}

// covers reports whether requests to u get the Access's headers.
func (a *Access) covers(u *url.URL) bool { return a != nil && originOf(u) == a.origin }

type accessKey struct{}

// WithAccess returns a context that adds the Access's headers to all requests to its origin. This includes requests for
// redirects within the origin, robots.txt, sitemaps, and the resources that a browser loads to render a page.
func WithAccess(ctx context.Context, a *Access) context.Context {
	return context.WithValue(ctx, accessKey{}, a)
}

// accessTo returns the Access for an address, or nil.
func accessTo(ctx context.Context, u *url.URL) *Access {
	if a, _ := ctx.Value(accessKey{}).(*Access); a.covers(u) {
		return a
	}
	return nil
}

type askerKey struct{}

// WithAsker marks a request as sent by a document in a Renderer's browser. `origin` is the document's origin as
// returned by Origin. A browser request without this mark never gets an Access's headers.
func WithAsker(ctx context.Context, origin string) context.Context {
	return context.WithValue(ctx, askerKey{}, origin)
}

// forBrowser prepares a request from a document in a browser. It changes only requests to the Access's origin: GET and
// HEAD requests from a document with the same origin get the headers. All others to this origin are sent without
// the headers and without cookies, because the site may have set the cookies in response to the headers.
func (a *Access) forBrowser(req *http.Request) *http.Request {
	asker, _ := req.Context().Value(askerKey{}).(string)
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	if a.covers(req.URL) && (!reads || asker != a.origin) {
		req = req.Clone(WithAccess(req.Context(), nil))
		req.Header.Del("Cookie")
		return req
	}
	return req.WithContext(WithAccess(req.Context(), a))
}

// accessing is a RoundTripper that adds the headers of the Access in a request's context. Each redirect is a separate
// request, so requests to other origins do not get the headers.
type accessing struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t accessing) RoundTrip(req *http.Request) (*http.Response, error) {
	a := accessTo(req.Context(), req.URL)
	if a == nil {
		return t.base.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for name, value := range a.headers {
		switch {
		case name == "Cookie":
			value = joinCookies(req.Header.Get(name), value)
		case name == "Authorization" && req.Header.Get(name) != "":
			continue // a script on the page has set this header
		}
		req.Header.Set(name, value)
	}
	return t.base.RoundTrip(req)
}

// joinCookies adds the configured cookies to those the site has set during this fetch. On a name clash, the site's
// cookie wins.
func joinCookies(set, configured string) string {
	if set == "" {
		return configured
	}
	names := map[string]bool{}
	for pair := range strings.SplitSeq(set, ";") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
		names[name] = true
	}
	out := set
	for pair := range strings.SplitSeq(configured, ";") {
		pair = strings.TrimSpace(pair)
		if name, _, _ := strings.Cut(pair, "="); pair != "" && !names[name] {
			out += "; " + pair
		}
	}
	return out
}
