// Package weburl parses web addresses like browsers and normalises them so that all spellings of a page's address
// become equal. It is the crawler's lowest package: all others may import it.
package weburl

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// MaxBytes is the maximum length of an address in bytes. Longer addresses are traps or contain data, and many servers
// reject them.
const MaxBytes = 2_048

// Maximum number of at signs in an address. The parser's running time grows with the square of this number, and no page
// needs more.
const maxAtSigns = 16

// urlParser parses addresses like browsers (WHATWG URL) and colly. It converts hosts to lower-case ASCII and every
// notation of an IPv4 address to dotted decimals, and removes dot segments and default ports.
var urlParser = whatwg.NewParser(whatwg.WithPercentEncodeSinglePercentSign())

var (
	errNoURL = errors.New("not a web address")
	// ErrTooLong means that an address is longer than MaxBytes.
	ErrTooLong = errors.New("the address is longer than 2,048 bytes")
)

// Normalise returns an address's normal form, which is the same for all spellings of a page's address. It parses the
// address like a browser and removes the fragment, the user name, tracking parameters and session ids. It
// percent-encodes only where needed, in upper case. It preserves the order of parameters. It also keeps a trailing
// slash, because /a and /a/ are different pages on some servers. Only http and https addresses are valid.
// Normalise(Normalise(x)) is Normalise(x).
func Normalise(raw string) (string, error) {
	_, s, err := (*Base)(nil).Normalise(raw)
	return s, err
}

// Normalise resolves ref and normalises the result.
func (b *Base) Normalise(ref string) (*url.URL, string, error) {
	u, err := b.Parse(ref)
	if err != nil {
		return nil, "", err
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	setEscapedPath(u, dropPathSession(canonicalEscapes(u.EscapedPath())))
	u.RawQuery = canonicalQuery(u.RawQuery)
	u.ForceQuery = false
	s := u.String()
	if len(s) > MaxBytes {
		return nil, "", ErrTooLong
	}
	return u, s, nil
}

// Base is the address that relative references are resolved against. A nil Base resolves only absolute addresses.
type Base struct{ parsed *whatwg.Url }

// NewBase returns the Base for the address s, or nil if s is not an address.
func NewBase(s string) *Base {
	if len(s) > MaxBytes {
		return nil
	}
	u, err := urlParser.Parse(s)
	if err != nil {
		return nil
	}
	return &Base{u}
}

// Parse parses an address without normalising it.
func Parse(raw string) (*url.URL, error) { return (*Base)(nil).Parse(raw) }

// Resolve resolves a reference against the base address and parses the result.
func Resolve(base, ref string) (*url.URL, error) { return NewBase(base).Parse(ref) }

// Parse resolves a reference without normalising the result.
func (b *Base) Parse(ref string) (*url.URL, error) {
	// Only a first check, because an escaped character may take 9 bytes.
	if len(ref) > MaxBytes {
		return nil, ErrTooLong
	}
	if strings.Count(ref, "@") > maxAtSigns {
		return nil, errNoURL
	}
	var (
		w   *whatwg.Url
		err error
	)
	if b == nil {
		w, err = urlParser.Parse(ref)
	} else {
		w, err = b.parsed.Parse(ref)
	}
	if err != nil {
		return nil, errNoURL
	}
	u, err := url.Parse(w.Href(true))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errNoURL
	}
	// "example.com." and "example.com" are the same host, but a name with an empty label is invalid.
	if h, ok := strings.CutSuffix(u.Hostname(), "."); ok {
		if h == "" || strings.HasSuffix(h, ".") {
			return nil, errNoURL
		}
		if p := u.Port(); p != "" {
			h += ":" + p
		}
		u.Host = h
	}
	return u, nil
}

// setEscapedPath sets an escaped path, preserving the difference between "/" and "%2F".
func setEscapedPath(u *url.URL, escaped string) {
	escaped = cmp.Or(escaped, "/")
	if p, err := url.PathUnescape(escaped); err == nil {
		u.Path, u.RawPath = p, escaped
	}
}

// canonicalEscapes writes %7e as ~ and %c3 as %C3 (RFC 3986, section 6.2.2). A path segment that would become "." or
// ".." keeps its escapes. So does a character that would form a new escape with the percent sign before it: "%%33"
// doesn't become "%3".
func canonicalEscapes(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	lone := -3 // position of the last percent sign that does not start an escape
	for i := 0; i < len(s); i++ {
		c, ok := EscapedByte(s[i:])
		if !ok {
			if s[i] == '%' {
				lone = b.Len()
			}
			b.WriteByte(s[i])
			continue
		}
		if IsUnreserved(c) && (b.Len()-lone > 2 || !isHex(c)) {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(s[i+1:i+3]))
		}
		i += 2
	}
	return b.String()
}

// EscapedByte returns the byte that is percent-encoded at the start of a string, or false if there is none.
func EscapedByte(s string) (c byte, ok bool) {
	if len(s) < 3 || s[0] != '%' || !isHex(s[1]) || !isHex(s[2]) {
		return 0, false
	}
	return unhex(s[1])<<4 | unhex(s[2]), true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	default:
		return c - 'A' + 10
	}
}

// IsUnreserved reports whether a character is unreserved, so that its escape may be decoded. The dot doesn't count,
// because the parser has already resolved "%2e" in dot segments.
func IsUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '~'
}

// pathSessions are path segment parameters for session ids.
var pathSessions = []string{";jsessionid=", ";phpsessid=", ";sid="}

// dropPathSession removes session ids from a path: ";jsessionid=…" and ASP.NET's segment "(S(…))".
func dropPathSession(p string) string {
	if strings.Contains(p, ";") {
		for _, name := range pathSessions {
			p = dropParameter(p, name)
		}
	}
	return dropSessionSegment(p)
}

func dropParameter(p, name string) string {
	for {
		i := indexFold(p, name)
		if i < 0 {
			return p
		}
		end := strings.IndexAny(p[i+1:], "/;")
		if end < 0 {
			return p[:i]
		}
		p = p[:i] + p[i+1+end:]
	}
}

// indexFold is like strings.Index on an escaped path but ignores case.
func indexFold(s, name string) int {
	for i := 0; i+len(name) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(name)], name) {
			return i
		}
	}
	return -1
}

// Minimum length of a session id in a segment. ASP.NET uses 24 letters and digits.
const minSegmentSession = 20

// dropSessionSegment removes path segments such as "/(S(…))", where ASP.NET puts the session id. They may also contain
// other tokens: "/(A(…)S(…))".
func dropSessionSegment(p string) string {
	for from := 0; ; {
		i := strings.Index(p[from:], "/(")
		if i < 0 {
			return p
		}
		i += from
		end := strings.IndexByte(p[i+1:], '/')
		segment := p[i+1:]
		if end >= 0 {
			segment = p[i+1 : i+1+end]
		}
		if !isSessionSegment(segment) {
			from = i + 1
			continue
		}
		p = p[:i] + p[i+1+len(segment):]
		from = i
	}
}

func isSessionSegment(s string) bool {
	if !strings.HasPrefix(s, "(") || !strings.HasSuffix(s, ")") {
		return false
	}
	s = s[1 : len(s)-1]
	found := false
	for s != "" {
		if len(s) < 3 || s[1] != '(' || !strings.ContainsRune("SAFX", rune(s[0])) {
			return false
		}
		value, rest, closed := strings.Cut(s[2:], ")")
		if !closed {
			return false
		}
		found = found || s[0] == 'S' && len(value) >= minSegmentSession && isAlnum(value)
		s = rest
	}
	return found
}

// canonicalQuery removes empty parameters and those that do not select content. It preserves the order of the others.
func canonicalQuery(q string) string {
	if q == "" {
		return ""
	}
	parts := strings.Split(q, "&")
	kept := parts[:0]
	for _, part := range parts {
		part = canonicalEscapes(part)
		key, value, _ := strings.Cut(part, "=")
		if part == "" || isTracking(strings.ToLower(key)) || isSession(strings.ToLower(key), value) {
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "&")
}

// trackers are parameters that only record where a visitor came from.
var trackers = map[string]bool{
	"gclid": true, "gclsrc": true, "dclid": true, "gbraid": true, "wbraid": true, "fbclid": true, "msclkid": true,
	"yclid": true, "ysclid": true, "twclid": true, "ttclid": true, "li_fat_id": true, "igshid": true, "igsh": true,
	"mc_cid": true, "mc_eid": true, "_ga": true, "_gl": true, "_hsenc": true, "_hsmi": true, "hsctatracking": true,
	"mkt_tok": true, "oly_anon_id": true, "oly_enc_id": true, "vero_id": true, "vero_conv": true, "_openstat": true,
	"wickedid": true, "s_cid": true, "srsltid": true, "gad_source": true, "gad_campaignid": true, "epik": true, "sscid": true,
	"irclickid": true, "wt_mc": true, "wt.mc_id": true, "fb_action_ids": true, "fb_action_types": true, "fb_source": true,
	"ref_src": true, "ref_url": true, "trkcampaign": true, "mkwid": true, "msockid": true,
}

// trackerFamilies are common prefixes of tracking parameters.
var trackerFamilies = []string{"utm_", "pk_", "mtm_", "piwik_", "matomo_", "hsa_", "itm_", "at_campaign", "at_medium"}

func isTracking(key string) bool {
	return trackers[key] || slices.ContainsFunc(trackerFamilies, func(f string) bool { return strings.HasPrefix(key, f) })
}

// sessions are parameters whose value is always a session id.
var sessions = map[string]bool{
	"jsessionid": true, "phpsessid": true, "asp.net_sessionid": true, "sessionid": true, "session_id": true,
	"cfid": true, "cftoken": true, "zenid": true, "oscsid": true, "xtcsid": true, "sessid": true, "session-id": true,
}

// ambiguousSessions are session id parameters with other uses: "sid" also identifies shops, stations and sections, and
// "s" often holds a search query. They count only if the value looks random.
var ambiguousSessions = map[string]bool{"sid": true, "s_id": true, "sess": true, "session": true, "s": true}

const minRandom = 20 // minimum number of letters and digits in a random value

func isSession(key, value string) bool {
	if sessions[key] || strings.HasPrefix(key, "aspsessionid") {
		return true
	}
	return ambiguousSessions[key] && len(value) >= minRandom && isAlnum(value) && strings.ContainsAny(value, "0123456789")
}

func isAlnum(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		default:
			return false
		}
	}
	return true
}
