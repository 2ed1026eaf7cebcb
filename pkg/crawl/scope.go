package crawl

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"github.com/sluice/sluice/pkg/domain"
)

// Refusal is why an address was not taken into a site, as a phrase for people.
type Refusal string

// The refusals.
const (
	RefusedNoURL     Refusal = "not a web address"
	RefusedHost      Refusal = "another host"
	RefusedPath      Refusal = "outside the path of the root"
	RefusedIncluded  Refusal = domain.LeftNotIncluded
	RefusedExcluded  Refusal = domain.LeftExcluded
	RefusedDepth     Refusal = domain.LeftTooDeep
	RefusedTrap      Refusal = "looks like an endless series of pages"
	RefusedPageLimit Refusal = "the limit of pages is reached"
)

// scope is a domain.SiteScope made ready for testing many addresses.
type scope struct {
	root     *url.URL
	hosts    map[string]bool // bare hosts (without "www.") that belong to the site
	prefixes []string        // paths that pages lie under; "/" for all
	page     *url.URL        // that the links stand on; nil for none
	patterns domain.Patterns
	maxDepth int
	now      time.Time // start of the crawl; calendar links to later dates are endless
	listed   bool      // the addresses come from a sitemap and are taken whatever they look like
}

func newScope(s domain.SiteScope) (*scope, error) {
	root, err := parseRef("", s.Root)
	if err != nil {
		return nil, permanent(s.Root, "the root address %q of the site is not a web address", s.Root)
	}
	sc := &scope{
		root:     root,
		hosts:    map[string]bool{domain.BareHost(root): true},
		prefixes: []string{pathPrefix(root.EscapedPath())},
		maxDepth: s.MaxDepth,
		patterns: s.Patterns(),
	}
	if sc.maxDepth <= 0 {
		sc.maxDepth = domain.DefaultMaxDepth
	}
	return sc, nil
}

// admit adds an address that is known to belong to the site, wherever it lies: a page that was accepted earlier, or where
// the root redirects to. Its host is the site's then, and as much of its path as the root names: when the root /docs
// has become /manual/v2/, all below /manual is the site. A root without a path takes all of the host.
func (s *scope) admit(u *url.URL) {
	s.hosts[domain.BareHost(u)] = true
	if s.inPath(u) {
		return
	}
	names := strings.Count(strings.Trim(s.prefixes[0], "/"), "/") + 1
	segments := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	s.prefixes = append(s.prefixes, "/"+strings.Join(segments[:min(names, len(segments))], "/"))
}

// on says which page the links that take is asked for stand on.
func (s *scope) on(page *url.URL) { s.page = page }

func (s *scope) inPath(u *url.URL) bool {
	p := u.EscapedPath()
	return slices.ContainsFunc(s.prefixes, func(prefix string) bool { return underPrefix(p, prefix) })
}

// take normalises a link found on base and says whether it belongs to the site at the given depth. Links to the
// root's host by http are turned to https where the root is https, so that a page has one address.
func (s *scope) take(base *whatwg.Url, ref string, depth int) (string, Refusal) {
	n, why := s.takeLink(base, ref, depth)
	if why != "" {
		return "", why
	}
	if why := Refusal(s.patterns.RefusesURL(n)); why != "" {
		return "", why
	}
	return n, ""
}

// takeLink is take without the include and exclude patterns.
func (s *scope) takeLink(base *whatwg.Url, ref string, depth int) (string, Refusal) {
	u, n, err := normaliseOn(base, ref)
	if err != nil {
		if errors.Is(err, errURLTooLong) {
			return "", RefusedTrap
		}
		return "", RefusedNoURL
	}
	if why := s.refuses(u, depth); why != "" {
		return "", why
	}
	if s.root.Scheme == "https" && u.Scheme == "http" && u.Port() == "" && s.root.Port() == "" {
		u.Scheme = "https"
		n = u.String()
	}
	return n, ""
}

// resolved is a reference as people read it: absolute where it can be made so.
func resolved(base *whatwg.Url, ref string) string {
	if u, err := parseOn(base, ref); err == nil {
		return u.String()
	}
	return shorten(strings.ToValidUTF8(ref, ""), maxShownRef)
}

// maxShownRef is how many letters are shown of a reference that is no address.
const maxShownRef = 200

func (s *scope) refuses(u *url.URL, depth int) Refusal {
	switch {
	case !s.hosts[domain.BareHost(u)]:
		return RefusedHost
	case !s.inPath(u):
		return RefusedPath
	case depth > s.maxDepth:
		return RefusedDepth
	case !s.listed && isMedia(u.Path):
		return RefusedMedia
	case isTrap(u) || isStep(s.page, u, s.now):
		return RefusedTrap
	}
	return ""
}

// pathPrefix is what pages of a site with this root path start with: the path itself, or its directory where the
// last segment names a file.
func pathPrefix(p string) string {
	if p == "" {
		return "/"
	}
	if !strings.HasSuffix(p, "/") && path.Ext(path.Base(p)) != "" {
		return p[:strings.LastIndexByte(p, '/')+1]
	}
	return p
}

// underPrefix keeps /docsearch out of /docs, and lets /docs into /docs/.
func underPrefix(p, prefix string) bool {
	dir := strings.TrimSuffix(prefix, "/")
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// set is the words of a list.
func set(list string) map[string]bool {
	m := make(map[string]bool)
	for _, word := range strings.Fields(list) {
		m[word] = true
	}
	return m
}
