package crawl

import (
	"errors"
	"net/url"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxURLBytes bounds an address. Longer ones are traps or data, and many servers refuse them.
const maxURLBytes = 2_048

// maxAtSigns bounds what takes the parser quadratic time, and no page has.
const maxAtSigns = 16

// urlParser reads addresses as browsers do (WHATWG URL), which is how colly reads them too: every notation of an
// IPv4 address becomes the dotted one, hosts become lower-case ASCII, dot segments and default ports go.
var urlParser = whatwg.NewParser(whatwg.WithPercentEncodeSinglePercentSign())

var (
	errNoURL      = errors.New("not a web address")
	errURLTooLong = errors.New("the address is longer than 2,048 bytes")
)

// Normalise returns the one spelling of an address that is used to recognise a page: read as browsers read it, no
// fragment, no user name, no tracking parameters, no session ids, percent-encoding in upper case and only where
// needed. A trailing slash stays as it is, because /a and /a/ are different pages on some servers; so does the order
// of parameters. Only http and https addresses are accepted. Normalise(Normalise(x)) is Normalise(x).
func Normalise(raw string) (string, error) {
	_, s, err := normaliseOn(nil, raw)
	return s, err
}

// normaliseOn resolves ref against base (nil for none) and normalises the result.
func normaliseOn(base *whatwg.Url, ref string) (*url.URL, string, error) {
	u, err := parseOn(base, ref)
	if err != nil {
		return nil, "", err
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	setEscapedPath(u, canonicalEscapes(dropPathSession(u.EscapedPath())))
	u.RawQuery = canonicalQuery(u.RawQuery)
	u.ForceQuery = false
	s := u.String()
	if len(s) > maxURLBytes {
		return nil, "", errURLTooLong
	}
	return u, s, nil
}

// readBase reads what many references are resolved against; nil when it is no address.
func readBase(s string) *whatwg.Url {
	if len(s) > maxURLBytes {
		return nil
	}
	u, err := urlParser.Parse(s)
	if err != nil {
		return nil
	}
	return u
}

// parseRef reads an address as it was given, resolved against base ("" for none).
func parseRef(base, ref string) (*url.URL, error) {
	if base == "" {
		return parseOn(nil, ref)
	}
	return parseOn(readBase(base), ref)
}

// parseOn is parseRef on a base that has been read already. It does not change what the address asks for.
func parseOn(base *whatwg.Url, ref string) (*url.URL, error) {
	// Characters may take 9 bytes when escaped, so this is only the first bound.
	if len(ref) > maxURLBytes {
		return nil, errURLTooLong
	}
	if strings.Count(ref, "@") > maxAtSigns {
		return nil, errNoURL
	}
	var (
		w   *whatwg.Url
		err error
	)
	if base == nil {
		w, err = urlParser.Parse(ref)
	} else {
		w, err = base.Parse(ref)
	}
	if err != nil {
		return nil, errNoURL
	}
	u, err := url.Parse(w.Href(true))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errNoURL
	}
	// "example.com." and "example.com" are the same host; a name with an empty label is none.
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

// setEscapedPath sets a path that is already escaped, keeping the difference between "/" and "%2F".
func setEscapedPath(u *url.URL, escaped string) {
	if escaped == "" {
		escaped = "/"
	}
	if p, err := url.PathUnescape(escaped); err == nil {
		u.Path, u.RawPath = p, escaped
	}
}

// canonicalEscapes writes %7e as ~ and %c3 as %C3 (RFC 3986, section 6.2.2). A path segment that would turn into
// "." or ".." keeps its escapes.
func canonicalEscapes(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			b.WriteByte(s[i])
			continue
		}
		c := unhex(s[i+1])<<4 | unhex(s[i+2])
		if isUnreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(s[i+1:i+3]))
		}
		i += 2
	}
	return b.String()
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

// isUnreserved leaves out the dot: "%2e" was a dot segment for the parser already where it could be one.
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '~'
}

// dropPathSession removes ";jsessionid=…" from path segments.
func dropPathSession(p string) string {
	for {
		i := strings.Index(strings.ToLower(p), ";jsessionid=")
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

// canonicalQuery drops the parameters that do not choose content, and empty ones, and keeps the others in order.
func canonicalQuery(q string) string {
	if q == "" {
		return ""
	}
	parts := strings.Split(q, "&")
	kept := parts[:0]
	for _, part := range parts {
		key, value, _ := strings.Cut(part, "=")
		if part == "" || isTracking(strings.ToLower(key)) || isSession(strings.ToLower(key), value) {
			continue
		}
		kept = append(kept, canonicalEscapes(part))
	}
	return strings.Join(kept, "&")
}

// trackers are parameters that say where a visitor came from.
var trackers = map[string]bool{
	"gclid": true, "gclsrc": true, "dclid": true, "gbraid": true, "wbraid": true, "fbclid": true, "msclkid": true,
	"yclid": true, "ysclid": true, "twclid": true, "ttclid": true, "li_fat_id": true, "igshid": true, "igsh": true,
	"mc_cid": true, "mc_eid": true, "_ga": true, "_gl": true, "_hsenc": true, "_hsmi": true, "hsctatracking": true,
	"mkt_tok": true, "oly_anon_id": true, "oly_enc_id": true, "vero_id": true, "vero_conv": true, "_openstat": true,
	"wickedid": true, "s_cid": true, "srsltid": true, "gad_source": true, "gad_campaignid": true,
}

func isTracking(key string) bool {
	return trackers[key] || strings.HasPrefix(key, "utm_") || strings.HasPrefix(key, "pk_") ||
		strings.HasPrefix(key, "mtm_") || strings.HasPrefix(key, "piwik_") || strings.HasPrefix(key, "matomo_")
}

// sessions are parameters that carry a session id whatever their value looks like.
var sessions = map[string]bool{
	"jsessionid": true, "phpsessid": true, "asp.net_sessionid": true, "sessionid": true, "session_id": true,
	"cfid": true, "cftoken": true, "zenid": true, "oscsid": true, "xtcsid": true,
}

func isSession(key, value string) bool {
	if sessions[key] || strings.HasPrefix(key, "aspsessionid") {
		return true
	}
	// "sid" also names shops, stations and sections: it counts only with a value that looks random.
	return (key == "sid" || key == "s_id") && len(value) >= 20 && isAlnum(value)
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
