package domain

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Reasons why a site excludes an address, worded for users.
const (
	LeftNotIncluded = "not matched by an include pattern"
	LeftExcluded    = "matched by an exclude pattern"
	LeftTooDeep     = "too many links away from the root"
)

// Limits on a site's patterns. Patterns beyond them are ignored.
const (
	maxGlobs     = 100
	maxGlobBytes = 1_000
)

// Patterns are a site's compiled include and exclude patterns.
type Patterns struct{ include, exclude []*regexp.Regexp }

// Patterns compiles the scope's patterns.
func (s SiteScope) Patterns() Patterns {
	return Patterns{include: compileGlobs(s.Include), exclude: compileGlobs(s.Exclude)}
}

// Refuses returns why the patterns exclude a path, or "" if they don't. The path is unescaped, as in url.URL.Path.
// Exclude patterns take precedence.
func (p Patterns) Refuses(path string) string {
	switch {
	case matchesAny(p.exclude, path):
		return LeftExcluded
	case len(p.include) > 0 && !matchesAny(p.include, path):
		return LeftNotIncluded
	default:
		return ""
	}
}

// RefusesURL is like Refuses but takes an address and checks its path. An address that can't be parsed is accepted,
// because no pattern applies to it.
func (p Patterns) RefusesURL(address string) string {
	if len(p.include) == 0 && len(p.exclude) == 0 {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return p.Refuses(u.Path)
}

// compileGlobs compiles path globs. "*" matches anything within a segment, "**" matches anything, and "?" matches one
// character. A pattern that ends in "/" matches everything below it; one without a leading "/" may start at any
// segment. Hostile patterns are harmless, because Go's regular expressions run in linear time.
func compileGlobs(patterns []string) []*regexp.Regexp {
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
	return slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.MatchString(p) })
}
