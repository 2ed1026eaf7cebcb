package crawl

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Static sites can't send a redirect status, so they publish pages that redirect with a refresh (in HTML or a header)
// or a script. Such a page counts as a redirect only if it has hardly any text. Otherwise the target is just a link.

const (
	// Maximum delay, in seconds, of a refresh that counts as a redirect. With a longer one, readers have time to read
	// the page.
	maxRefreshDelay = 30
	// Maximum size, in bytes, of scripts and handlers to search for a redirect. Redirecting pages have short scripts.
	maxScriptText = 32 << 10
	// Maximum number of addresses to read from a page's scripts.
	maxScriptTargets = 10
)

// refresh is a delayed redirect from a meta element or a Refresh header.
type refresh struct {
	delay  int    // in seconds
	target string // as written; "" if the page just reloads itself
}

// parseRefresh parses `5; url=/next` according to the HTML standard: the separator may also be a comma or space, the
// address may be quoted, and "url=" may be omitted.
func parseRefresh(content string) (refresh, bool) {
	s := strings.TrimSpace(content)
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	rest := strings.TrimLeft(s[digits:], "0123456789.")
	if digits == 0 && !strings.HasPrefix(s, ".") {
		return refresh{}, false
	}
	delay, err := strconv.Atoi("0" + s[:digits])
	if err != nil {
		return refresh{}, false // out of range: not a redirect
	}
	after := strings.TrimLeft(rest, " \t\r\n;,")
	if after == rest {
		return refresh{delay: delay}, rest == ""
	}
	if len(after) >= 3 && strings.EqualFold(after[:3], "url") {
		if value, ok := strings.CutPrefix(strings.TrimLeft(after[3:], " \t\r\n"), "="); ok {
			after = strings.TrimLeft(value, " \t\r\n")
		}
	}
	if after != "" && (after[0] == '\'' || after[0] == '"') {
		quote := after[:1]
		after, _, _ = strings.Cut(after[1:], quote)
	}
	return refresh{delay: delay, target: strings.TrimSpace(after)}, true
}

type softRedirects struct {
	refresh  refresh // from a meta element
	noScript refresh // from a meta element for browsers without scripts
	script   strings.Builder
}

func (l *softRedirects) addScript(text string) {
	if capacity := maxScriptText - l.script.Len(); len(text) <= capacity {
		l.script.WriteString(text)
		l.script.WriteByte('\n')
	}
}

// readNoScript looks for a refresh in a noscript element, whose content is not parsed.
func (l *softRedirects) readNoScript(text string) {
	z := html.NewTokenizer(strings.NewReader(text))
	for l.noScript.target == "" {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if t.Data != "meta" {
				continue
			}
			var content string
			refreshes := false
			for _, a := range t.Attr {
				switch a.Key {
				case "http-equiv":
					refreshes = strings.EqualFold(strings.TrimSpace(a.Val), "refresh")
				case "content":
					content = a.Val
				}
			}
			if refreshes {
				l.noScript, _ = parseRefresh(content)
			}
		}
	}
}

// redirectTarget returns the address the page sends all visitors to, or nil if the page has content to read.
func (p *pageReader) redirectTarget(header http.Header, at *url.URL) *url.URL {
	own := weburl.NewBase(at.String())
	base := p.documentBase(own)
	if p.signs.letters >= emptyNotice {
		return nil
	}
	all := p.signs.letters + p.signs.framing
	fromHeader, _ := parseRefresh(header.Get("Refresh"))
	for _, c := range []struct {
		refresh
		base    *weburl.Base
		letters int
	}{
		{p.redirects.refresh, base, p.signs.letters}, {fromHeader, own, p.signs.letters}, {p.redirects.noScript, base, all},
	} {
		if c.target == "" || c.delay > maxRefreshDelay || c.letters >= emptyNotice {
			continue
		}
		if u := resolveRedirect(c.base, c.target, at); u != nil {
			return u
		}
	}
	if all >= emptyNotice || p.signs.emptyRoot {
		return nil
	}
	for _, target := range scriptTargets(p.redirects.script.String(), at) {
		if u := resolveRedirect(base, target, at); u != nil {
			return u
		}
	}
	return nil
}

// resolveRedirect resolves a reference. It returns nil if the reference is invalid or leads to the page itself.
func resolveRedirect(base *weburl.Base, target string, at *url.URL) *url.URL {
	u, err := base.Parse(target)
	if err != nil {
		return nil
	}
	u.Fragment, u.RawFragment = "", ""
	here := *at
	here.Fragment, here.RawFragment = "", ""
	if u.String() == here.String() {
		return nil
	}
	return u
}

// A script redirects by assigning to location, location.href or location.pathname, or by calling location.replace or
// location.assign.
var (
	locationAssignment = lazyregexp.New(`(?:^|[^\w.$])(?:(?:window|document|self|top|parent|globalThis)\s*\.\s*)*location\s*` +
		`(?:(?:\.\s*(?:href|pathname)\s*)?=\s*(?:new\s+URL\s*\(\s*)?(?:[^=\s])|\.\s*(?:replace|assign)\s*\(\s*(?:new\s+URL\s*\(\s*)?\S)`)
	variables = lazyregexp.New("(?:\\b(?:var|let|const)\\s+|[,;]\\s*)([A-Za-z_$][\\w$]*)\\s*=\\s*(?:\"([^\"\\\\\\n]*)\"|'([^'\\\\\\n]*)'|`([^`$\\\\]*)`)")
	// bracketed matches properties named by a string: window["location"].
	bracketed = lazyregexp.New(`\[\s*["'](location|href|pathname|replace|assign)["']\s*\]`)
	// comments matches comments in scripts. Two slashes after a colon or quotation mark are part of an address and begin
	// no comment.
	comments = lazyregexp.New(`(?s)/\*.*?\*/|(?m:(?:^|[\s;{}(),])//[^\n]*)`)
	// locationVariable matches names of variables that hold the fragment or query of the page's own address, which scripts
	// append to the redirect's target.
	locationVariable = lazyregexp.New(`(?i)hash|search|anchor|quer|frag|param`)
	// unsupportedTarget matches the targets of scripts that turn away unsupported browsers.
	unsupportedTarget = lazyregexp.New(`(?i)unsupported|outdated|no-?js|no-?script|old-?browser|upgrade-?browser|browser-?(?:upgrade|update|support)`)
)

// scriptTargets returns the redirect targets that scripts contain literally. `at` is the page's own address.
func scriptTargets(script string, at *url.URL) []string {
	script = bracketed().ReplaceAllString(comments().ReplaceAllString(script, "\n"), ".$1")
	places := locationAssignment().FindAllStringIndex(script, maxScriptTargets)
	if places == nil {
		return nil
	}
	known := map[string]string{
		"location.origin": at.Scheme + "://" + at.Host, "location.pathname": at.EscapedPath(), "location.protocol": at.Scheme + ":",
		"location.host": at.Host, "location.hostname": at.Hostname(), "location.href": at.String(),
	}
	for _, m := range variables().FindAllStringSubmatch(script, 100) {
		if _, twice := known[m[1]]; !twice {
			known[m[1]] = m[2] + m[3] + m[4]
		}
	}
	var out []string
	for _, place := range places {
		target, ok := evaluate(script[place[1]-1:], known)
		if ok && target != "" && !unsupportedTarget().MatchString(target) {
			out = append(out, target)
		}
	}
	return out
}

// evaluate returns the value of the expression at the start of a script, if it is a concatenation of strings and known
// variables. The last term may be the fragment or query of the page's own address, which is ignored.
func evaluate(script string, known map[string]string) (string, bool) {
	var b strings.Builder
	for s := script; ; {
		s = strings.TrimLeft(s, " \t\r\n")
		switch {
		case s == "":
			return "", false
		case strings.IndexByte("\"'`", s[0]) >= 0:
			text, rest, ok := literal(s)
			if !ok {
				return "", false
			}
			b.WriteString(text)
			s = rest
		default:
			name := s[:len(s)-len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$."))]
			for _, object := range []string{"window.", "document.", "self.", "top."} {
				name = strings.TrimPrefix(name, object)
			}
			value, ok := known[name]
			if !ok {
				// The variable's value is unknown. That is acceptable only in the expression's last term.
				term := s[:len(s)-len(strings.TrimLeftFunc(s, func(c rune) bool { return c != ';' && c != '\n' }))]
				return b.String(), b.Len() > 0 && locationVariable().MatchString(term) && !strings.Contains(term, "/")
			}
			b.WriteString(value)
			s = s[strings.Index(s, name)+len(name):]
		}
		s = strings.TrimLeft(s, " \t")
		if !strings.HasPrefix(s, "+") {
			// The expression must end here, because a call or condition would change its value.
			return b.String(), s == "" || strings.IndexByte(";,)}\r\n\"'<", s[0]) >= 0
		}
		s = s[1:]
	}
}

// literal reads a string literal from a script. If the literal is a template string, placeholders for the address's
// query and fragment are removed.
func literal(s string) (text, rest string, ok bool) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			return b.String(), s[i+1:], true
		case c == '\n' && quote != '`':
			return "", "", false
		case quote == '`' && strings.HasPrefix(s[i:], "${"):
			end := strings.IndexByte(s[i:], '}')
			if end < 0 || !locationVariable().MatchString(s[i:i+end]) {
				return "", "", false
			}
			i += end
		case c == '\\' && i+1 < len(s):
			i++
			switch e := s[i]; e {
			case '/', '\\', '"', '\'', '`':
				b.WriteByte(e)
			case 'x', 'u':
				n := map[byte]int{'x': 2, 'u': 4}[e]
				if i+n >= len(s) {
					return "", "", false
				}
				code, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
				if err != nil {
					return "", "", false
				}
				b.WriteRune(rune(code))
				i += n
			default:
				return "", "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
