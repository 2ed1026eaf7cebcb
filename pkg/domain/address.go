package domain

import (
	"net/url"
	"path"
	"strings"
)

// SameSpelling reports whether two addresses differ only as those of one page do on most servers: in the scheme, the
// prefix www, a slash or the name of an index at the end, and the query.
func SameSpelling(a, b string) bool { return spelling(a) == spelling(b) }

// sameAddress is SameSpelling for addresses whose query counts; "" is none, and the same as no other.
func sameAddress(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	_, had, _ := strings.Cut(a, "?")
	_, has, _ := strings.Cut(b, "?")
	return had == has && SameSpelling(a, b)
}

func spelling(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	p := strings.TrimSuffix(u.Path, "/")
	if base := strings.ToLower(path.Base(p)); strings.HasPrefix(base, "index.") || strings.HasPrefix(base, "default.") {
		p = strings.TrimSuffix(path.Dir(p), "/")
	}
	return BareHost(u) + p
}

// BareHost is host and port without "www." and without the scheme's own port: http and https are the same site.
func BareHost(u *url.URL) string {
	h := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
	switch p := u.Port(); {
	case p == "", u.Scheme == "http" && p == "80", u.Scheme == "https" && p == "443":
		return h
	default:
		return h + ":" + p
	}
}
