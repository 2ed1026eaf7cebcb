package crawl

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

const maxRedirects = 10

// redirectChain holds the redirects that a fetch has followed.
type redirectChain struct {
	first  *url.URL
	hops   []domain.Redirect
	cookie bool // a hop has set a cookie, so an address may respond differently the second time
}

// add appends the next hop. It returns a permanent error if the chain is too long or loops.
func (t *redirectChain) add(from, to *url.URL, h *hop) error {
	t.hops = append(t.hops, domain.Redirect{URL: from.String(), Status: h.status})
	t.cookie = t.cookie || len(h.header.Values("Set-Cookie")) > 0
	visits := 0
	for _, hop := range t.hops {
		if hop.URL == to.String() {
			visits++
		}
	}
	switch {
	case visits > 1, visits == 1 && !t.cookie:
		return permanent(t.first.String(), "%s redirects in a loop: %s", t.first, t.describeLoop(to))
	case len(t.hops) > maxRedirects:
		return permanent(t.first.String(), "%s redirects more than %d times, last to %s", t.first, maxRedirects, to)
	}
	return nil
}

// visited reports whether the address has already redirected in this chain.
func (t *redirectChain) visited(u *url.URL) bool {
	return slices.ContainsFunc(t.hops, func(hop domain.Redirect) bool { return hop.URL == u.String() })
}

// describeLoop describes the loop from an address back to itself.
func (t *redirectChain) describeLoop(to *url.URL) string {
	at := len(t.hops) - 1
	for t.hops[at].URL != to.String() {
		at--
	}
	var b strings.Builder
	for _, hop := range t.hops[at:] {
		b.WriteString(hop.URL + " → ")
	}
	return b.String() + to.String()
}

// IsRedirect reports whether a status redirects with a Location header (RFC 9110, section 15.4).
func IsRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}
