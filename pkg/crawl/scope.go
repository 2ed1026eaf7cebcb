package crawl

import (
	"errors"
	"net/url"
	"path"
	"regexp"
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
	RefusedIncluded  Refusal = "not matched by an include pattern"
	RefusedExcluded  Refusal = "matched by an exclude pattern"
	RefusedDepth     Refusal = "too many links away from the root"
	RefusedTrap      Refusal = "looks like an endless series of pages"
	RefusedPageLimit Refusal = "the limit of pages is reached"
)

// DefaultMaxDepth is how many links away from its root a site is followed when its scope does not say.
const DefaultMaxDepth = 10

// scope is a domain.SiteScope made ready for testing many addresses.
type scope struct {
	root     *url.URL
	hosts    map[string]bool // bare hosts (without "www.") that belong to the site
	prefixes []string        // paths that pages lie under; "/" for all
	page     *url.URL        // that the links stand on; nil for none
	include  []*regexp.Regexp
	exclude  []*regexp.Regexp
	maxDepth int
	now      time.Time // of the crawl: calendars lead beyond it
	listed   bool      // the addresses are those that a sitemap lists, whatever they look like
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
	}
	if sc.maxDepth <= 0 {
		sc.maxDepth = DefaultMaxDepth
	}
	sc.include = compileAll(s.Include)
	sc.exclude = compileAll(s.Exclude)
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
	case matchesAny(s.exclude, u.Path):
		return RefusedExcluded
	case len(s.include) > 0 && !matchesAny(s.include, u.Path):
		return RefusedIncluded
	case !s.listed && isMedia(u.Path):
		return RefusedMedia
	case isTrap(u) || isStep(s.page, u, s.now):
		return RefusedTrap
	}
	return ""
}

// Unwanted says which pattern of the site's scope keeps out an address that was taken before, if one does.
func Unwanted(site domain.SiteScope, address string) Refusal {
	u, err := url.Parse(address)
	include := compileAll(site.Include)
	switch {
	case err != nil:
		return RefusedNoURL
	case matchesAny(compileAll(site.Exclude), u.Path):
		return RefusedExcluded
	case len(include) > 0 && !matchesAny(include, u.Path):
		return RefusedIncluded
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

const (
	maxGlobs     = 100
	maxGlobBytes = 1_000
)

// compileAll turns glob patterns of paths into expressions. "*" stands for anything within one segment, "**" for
// anything, "?" for one character; a pattern that ends in "/" takes everything below; one that does not start with
// "/" may match from any segment on. Go's expressions run in linear time, so a pattern cannot be an attack.
func compileAll(patterns []string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, p := range patterns[:min(len(patterns), maxGlobs)] {
		if p = strings.TrimSpace(p); p != "" && len(p) <= maxGlobBytes {
			out = append(out, compileGlob(p))
		}
	}
	return out
}

func compileGlob(p string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	if !strings.HasPrefix(p, "/") {
		b.WriteString("(?:.*/)?")
	}
	for i := 0; i < len(p); i++ {
		switch {
		case strings.HasPrefix(p[i:], "**"):
			b.WriteString(".*")
			i++
		case p[i] == '*':
			b.WriteString("[^/]*")
		case p[i] == '?':
			b.WriteString("[^/]")
		default:
			n := 1
			for i+n < len(p) && p[i+n] != '*' && p[i+n] != '?' {
				n++
			}
			b.WriteString(regexp.QuoteMeta(strings.ToValidUTF8(p[i:i+n], "\uFFFD")))
			i += n - 1
		}
	}
	if strings.HasSuffix(p, "/") {
		b.WriteString(".*")
	}
	b.WriteString("$")
	return regexp.MustCompile("(?s)" + b.String())
}

func matchesAny(res []*regexp.Regexp, p string) bool {
	for _, re := range res {
		if re.MatchString(p) {
			return true
		}
	}
	return false
}

// set is the words of a list.
func set(list string) map[string]bool {
	m := make(map[string]bool)
	for _, word := range strings.Fields(list) {
		m[word] = true
	}
	return m
}
