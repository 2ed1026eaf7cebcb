// Package scope determines from an address alone whether it belongs to a site and whether it leads into an endless
// series of pages. Package crawl calls it for every link and sitemap entry.
package scope

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/crawl/content"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
)

// Refusal is the user-facing reason for rejecting an address.
type Refusal string

// Reasons for rejecting an address.
const (
	RefusedNoURL     Refusal = "not a web address"
	RefusedHost      Refusal = "another host"
	RefusedPath      Refusal = "outside the path of the root"
	RefusedIncluded  Refusal = domain.LeftNotIncluded
	RefusedExcluded  Refusal = domain.LeftExcluded
	RefusedDepth     Refusal = domain.LeftTooDeep
	RefusedTrap      Refusal = "looks like an endless series of pages"
	RefusedPageLimit Refusal = "the page limit is reached"
	RefusedMedia     Refusal = "an image, style sheet or other file without text"
	// RefusedNoFollow is for links with rel nofollow, ugc or sponsored.
	RefusedNoFollow Refusal = "its link is marked nofollow"
	// RefusedRoute is for links to client-side routes of single-page applications ("#/guide"). Such sites need a sitemap.
	RefusedRoute Refusal = `a client-side route ("#/…")`
)

// Scope is a domain.SiteScope prepared for testing many addresses.
type Scope struct {
	Root     *url.URL
	hosts    map[string]bool // the site's bare hosts (without "www.")
	prefixes []string        // the site's paths; "/" means all
	page     *url.URL        // the page with the links; may be nil
	patterns domain.Patterns
	maxDepth int
	Now      time.Time // start of the crawl; an archive's links to later dates are rejected
	Listed   bool      // the addresses come from a sitemap, so they are not checked for traps
}

// New returns a Scope. It fails if the site's root is not a web address.
func New(s domain.SiteScope) (*Scope, error) {
	root, err := weburl.Parse(s.Root)
	if err != nil {
		return nil, fmt.Errorf("the site's root address %q is not a web address", s.Root)
	}
	sc := &Scope{
		Root:     root,
		hosts:    map[string]bool{domain.BareHost(root): true},
		prefixes: []string{PathPrefix(root.EscapedPath())},
		maxDepth: s.MaxDepth,
		patterns: s.Patterns(),
	}
	if sc.maxDepth <= 0 {
		sc.maxDepth = domain.DefaultMaxDepth
	}
	return sc, nil
}

// Add adds an address known to belong to the site: a page accepted earlier, or the target of the root's redirect. It
// adds the host and a path prefix with as many segments as the root. For example, if the root /docs redirects to
// /manual/v2/, everything below /manual belongs to the site. If the root has no path, the whole host does.
func (s *Scope) Add(u *url.URL) {
	s.hosts[domain.BareHost(u)] = true
	if s.InPath(u) {
		return
	}
	names := strings.Count(strings.Trim(s.prefixes[0], "/"), "/") + 1
	segments := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	s.prefixes = append(s.prefixes, "/"+strings.Join(segments[:min(names, len(segments))], "/"))
}

// SetPage sets the page whose links Resolve resolves.
func (s *Scope) SetPage(page *url.URL) { s.page = page }

// HasHost reports whether the address's host belongs to the site.
func (s *Scope) HasHost(u *url.URL) bool { return s.hosts[domain.BareHost(u)] }

// InPath reports whether the address is below one of the site's paths.
func (s *Scope) InPath(u *url.URL) bool {
	p := u.EscapedPath()
	return slices.ContainsFunc(s.prefixes, func(prefix string) bool { return hasPathPrefix(p, prefix) })
}

// Resolve normalises a link on the page `base` and returns its address or, if that does not belong to the site at this
// depth, the reason. If the root uses https, http links to its host become https, so that each page has a single
// address.
func (s *Scope) Resolve(base *weburl.Base, ref string, depth int) (string, Refusal) {
	n, why := s.ResolveLink(base, ref, depth)
	if why != "" {
		return "", why
	}
	if why := Refusal(s.patterns.RefusesURL(n)); why != "" {
		return "", why
	}
	return n, ""
}

// ResolveLink is like Resolve but ignores the include and exclude patterns.
func (s *Scope) ResolveLink(base *weburl.Base, ref string, depth int) (string, Refusal) {
	u, n, err := base.Normalise(ref)
	if err != nil {
		if errors.Is(err, weburl.ErrTooLong) {
			return "", RefusedTrap
		}
		return "", RefusedNoURL
	}
	if why := s.refuses(u, depth); why != "" {
		return "", why
	}
	if s.Root.Scheme == "https" && u.Scheme == "http" && u.Port() == "" && s.Root.Port() == "" {
		u.Scheme = "https"
		n = u.String()
	}
	return n, ""
}

// Resolved returns a reference in the form to display: as an absolute address if it can be resolved, and otherwise as
// written.
func Resolved(base *weburl.Base, ref string) string {
	if u, err := base.Parse(ref); err == nil {
		return u.String()
	}
	return fmt.Sprintf("%.200s", strings.ToValidUTF8(ref, ""))
}

func (s *Scope) refuses(u *url.URL, depth int) Refusal {
	switch {
	case !s.HasHost(u):
		return RefusedHost
	case !s.InPath(u):
		return RefusedPath
	case depth > s.maxDepth:
		return RefusedDepth
	case !s.Listed && content.IsMedia(u.Path):
		return RefusedMedia
	case isTrap(u) || isStep(s.page, u, s.Now):
		return RefusedTrap
	}
	return ""
}

// PathPrefix returns the path prefix of a site whose root has the path p: p itself, or its directory if the last
// segment is a file name.
func PathPrefix(p string) string {
	if p == "" {
		return "/"
	}
	if !strings.HasSuffix(p, "/") && path.Ext(path.Base(p)) != "" {
		return p[:strings.LastIndexByte(p, '/')+1]
	}
	return p
}

// hasPathPrefix reports whether a path equals a prefix or is below it, ignoring a slash at the end of the prefix: /docs
// and /docs/a are under /docs/, but /docsearch is not.
func hasPathPrefix(p, prefix string) bool {
	dir := strings.TrimSuffix(prefix, "/")
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || rest[0] == '/')
}
