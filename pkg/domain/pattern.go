package domain

import (
	"net/url"
	"regexp"
	"strings"
)

// Reasons of addresses that lie within a site and that its settings do not take, as phrases for people.
const (
	LeftNotIncluded = "not matched by an include pattern"
	LeftExcluded    = "matched by an exclude pattern"
	LeftTooDeep     = "too many links away from the root"
)

// Bounds of the patterns of a site. What is over them is not looked at.
const (
	maxGlobs     = 100
	maxGlobBytes = 1_000
)

// Patterns are a site's include and exclude patterns, made ready for testing many paths.
type Patterns struct{ include, exclude []*regexp.Regexp }

// Patterns compiles the scope's patterns.
func (s SiteScope) Patterns() Patterns {
	return Patterns{include: compileGlobs(s.Include), exclude: compileGlobs(s.Exclude)}
}

// Refuses says why the patterns do not take a path, unescaped as url.URL.Path has it; "" when they do. An exclude pattern
// counts before an include pattern.
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

// RefusesURL is Refuses for an address. One that cannot be read is taken: no pattern says anything about it.
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

// compileGlobs turns glob patterns of paths into expressions. "*" stands for anything within one segment, "**" for
// anything, "?" for one character; a pattern that ends in "/" takes everything below; one that does not start with
// "/" may match from any segment on. Go's expressions run in linear time, so a pattern cannot be an attack.
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
	for _, re := range res {
		if re.MatchString(p) {
			return true
		}
	}
	return false
}
