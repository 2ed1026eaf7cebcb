package robots

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/sluice/sluice/pkg/crawl/weburl"
)

// rule is one Allow or Disallow line (RFC 9309, section 2.2.2).
type rule struct {
	// pattern is normalised like addresses; see normalise. An asterisk is a wildcard; literal asterisks are escaped.
	pattern string
	end     bool // the pattern ended in "$", so it matches only the whole address
	allow   bool
}

// newRule parses the value of an Allow or Disallow line, which must not be empty.
func newRule(value string, allow bool) rule {
	r := rule{allow: allow}
	value, r.end = strings.CutSuffix(value, "$")
	// The RFC allows neither addresses here nor paths without a leading slash. But their meaning is clear, and a crawler
	// that ignored them would fetch pages that the site wants to exclude.
	if rest, ok := cutOrigin(value); ok {
		value = rest
	}
	if !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "*") {
		value = "/" + value
	}
	r.pattern = normalise(value, true)
	return r
}

// cutOrigin removes the scheme and host from an address.
func cutOrigin(s string) (string, bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return s, false
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return rest[i:], true
	}
	return "/", true
}

// specificity returns the length of the rule's pattern, including a trailing "$". The longest matching rule wins.
func (r rule) specificity() int {
	if r.end {
		return len(r.pattern) + 1
	}
	return len(r.pattern)
}

// matches reports whether the rule matches an address from addressOf. For each part between two asterisks, it only
// tries the first occurrence. That is enough, and bounds the running time for any number of asterisks.
func (r rule) matches(path string) bool {
	part, rest, more := strings.Cut(r.pattern, "*")
	path, ok := strings.CutPrefix(path, part)
	if !ok {
		return false
	}
	for more {
		part, rest, more = strings.Cut(rest, "*")
		if !more && r.end {
			return strings.HasSuffix(path, part)
		}
		at := strings.Index(path, part)
		if at < 0 {
			return false
		}
		path = path[at+len(part):]
	}
	return !r.end || path == ""
}

// allowedBy reports whether the rules allow the address. The longest matching rule decides, and Allow wins over a
// Disallow of the same length. An address that no rule matches is allowed.
func allowedBy(rules []rule, u *url.URL) bool {
	path, best, allowed := addressOf(u), -1, true
	for _, r := range rules {
		n := r.specificity()
		if (n > best || n == best && r.allow && !allowed) && r.matches(path) {
			best, allowed = n, r.allow
		}
	}
	return allowed
}

// addressOf returns an address's path and query as sent, but normalised for comparison with rules.
func addressOf(u *url.URL) string {
	s := cmp.Or(u.EscapedPath(), "/")
	if u.RawQuery != "" || u.ForceQuery {
		s += "?" + u.RawQuery
	}
	return normalise(s, false)
}

// normalise puts paths (with queries) and patterns in the form in which they are compared:
//
//   - Escaped unreserved characters are decoded. The hexadecimal digits of other escapes are in upper case.
//   - Characters that an address may not contain are escaped, including brackets and everything beyond ASCII.
//   - Escaped reserved characters are decoded too, because the RFC treats ":" and "%3A" as equal. But "%2F" and "%3F"
//     in a path, and "%26", "%3D" and "%2B" in a query, stay escaped, because decoding them would change the address.
//   - "*" and "$" are escaped. Only an unescaped "*" in a pattern stays, because it is a wildcard.
func normalise(s string, pattern bool) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	query, star := false, false
	for i := 0; i < len(s); i++ {
		c, escaped := weburl.EscapedByte(s[i:])
		if escaped {
			i += 2
		} else {
			c = s[i]
		}
		switch {
		case pattern && c == '*' && !escaped:
			star = true
			b.WriteByte(c)
		case weburl.IsUnreserved(c), c == '.':
			b.WriteByte(c)
		case isReserved(c) && (!escaped || !isDelimiter(c, query)):
			b.WriteByte(c)
		default:
			const digits = "0123456789ABCDEF"
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		}
		// In a pattern such as "/*url=", the asterisk may cover the question mark, so "=" after an asterisk also means
		// that the query has begun.
		query = query || !escaped && (c == '?' || c == '=' && star)
	}
	return b.String()
}

// isReserved reports whether a character is reserved by RFC 3986 and legal in a path or query. "*" and "$" do not
// count, because they are special in rules.
func isReserved(c byte) bool { return strings.IndexByte("/?:@!&'(),;=+", c) >= 0 }

// isDelimiter reports whether a character separates the parts of a path or query.
func isDelimiter(c byte, query bool) bool {
	if query {
		return c == '&' || c == '=' || c == '+'
	}
	return c == '/' || c == '?'
}
