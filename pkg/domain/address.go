package domain

import (
	"net/url"
	"path"
	"strings"
)

// SameAddress reports whether two addresses are equal, ignoring what makes no difference to most servers: the scheme, a
// www prefix, a trailing slash or index name, and the query.
func SameAddress(a, b string) bool { return canonicalForm(a) == canonicalForm(b) }

// sameAddress is like SameAddress but also compares the queries. An empty address equals only another empty one.
func sameAddress(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	_, had, _ := strings.Cut(a, "?")
	_, has, _ := strings.Cut(b, "?")
	return had == has && SameAddress(a, b)
}

func canonicalForm(address string) string {
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

// BareHost returns the host without "www." or a default port, so that a host's http and https addresses count as one
// site. Other ports are kept.
func BareHost(u *url.URL) string {
	h := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
	switch p := u.Port(); {
	case p == "", u.Scheme == "http" && p == "80", u.Scheme == "https" && p == "443":
		return h
	default:
		return h + ":" + p
	}
}
