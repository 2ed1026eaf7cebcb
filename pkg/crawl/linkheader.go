package crawl

import "strings"

const (
	maxLinkHeaderBytes = 32 << 10 // maximum total size of a response's Link headers
	maxHeaderLinks     = 200
)

// headerLink is one link in a Link header.
type headerLink struct {
	target   string // as written
	rel      string
	hreflang string
}

// linkHeaders parses Link headers (RFC 8288, section 3). It stops reading a header at a syntax error. It omits links
// with an anchor, because they describe a resource other than the page.
func linkHeaders(values []string) []headerLink {
	var out []headerLink
	left := maxLinkHeaderBytes
	for _, v := range values {
		if len(v) > left {
			return out
		}
		left -= len(v)
		for v != "" && len(out) < maxHeaderLinks {
			l, anchored, rest, ok := cutLink(v)
			if !ok {
				break
			}
			if l.rel != "" && !anchored {
				out = append(out, l)
			}
			v = rest
		}
	}
	return out
}

// cutLink parses the first link in a header. `rest` is the text after the comma that follows it, and `anchored` says
// whether the link has an anchor.
func cutLink(s string) (l headerLink, anchored bool, rest string, ok bool) {
	s, ok = strings.CutPrefix(strings.TrimLeft(s, " \t,"), "<")
	if !ok {
		return l, false, "", false
	}
	if l.target, s, ok = strings.Cut(s, ">"); !ok {
		return l, false, "", false
	}
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return l, anchored, "", true
		}
		if s[0] == ',' {
			return l, anchored, s[1:], true
		}
		if s[0] != ';' {
			return l, false, "", false
		}
		var name, value string
		name, value, s = cutParameter(s[1:])
		switch {
		case name == "rel" && l.rel == "": // only the first counts
			l.rel = value
		case name == "hreflang" && l.hreflang == "":
			l.hreflang = value
		case name == "anchor" && value != "":
			anchored = true
		}
	}
}

// cutParameter parses `name=value` or `name="value"` at the start of s.
func cutParameter(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, " \t")
	i := strings.IndexAny(s, "=;,")
	if i < 0 {
		return strings.ToLower(strings.TrimSpace(s)), "", ""
	}
	name = strings.ToLower(strings.TrimSpace(s[:i]))
	if s[i] != '=' {
		return name, "", s[i:]
	}
	s = strings.TrimLeft(s[i+1:], " \t")
	if !strings.HasPrefix(s, `"`) {
		i = strings.IndexAny(s, ";,")
		if i < 0 {
			i = len(s)
		}
		return name, strings.TrimSpace(s[:i]), s[i:]
	}
	var b strings.Builder
	for i = 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return name, b.String(), s[i+1:]
		case '\\':
			if i++; i == len(s) {
				return name, b.String(), ""
			}
		}
		b.WriteByte(s[i])
	}
	return name, b.String(), "" // unclosed quotation
}
