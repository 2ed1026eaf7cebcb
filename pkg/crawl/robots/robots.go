// Package robots parses a site's rules for crawlers: robots.txt, meta robots and X-Robots-Tag. It does not fetch
// anything; package crawl fetches and caches the files.
package robots

import (
	"bytes"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"iter"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unsafe"
)

// Path is the location of robots.txt on a host.
const Path = "/robots.txt"

const (
	maxRules    = 5_000
	maxSitemaps = 100
	maxLine     = weburl.MaxBytes
	maxDelay    = 24 * time.Hour // longest Crawl-delay to respect
)

// File holds the rules for this crawler from a host's robots.txt.
type File struct {
	rules      []rule        // rules for this crawler
	CrawlDelay time.Duration // as declared, but at most 24 hours
	Sitemaps   []string
}

// Size returns the size in memory in bytes.
func (r File) Size() int {
	n := 0
	for _, rule := range r.rules {
		n += len(rule.pattern) + int(unsafe.Sizeof(rule))
	}
	for _, s := range r.Sitemaps {
		n += len(s)
	}
	return n
}

// Allows reports whether the rules allow fetching the address.
func (r File) Allows(u *url.URL) bool {
	return u.Path == Path || allowedBy(r.rules, u) // RFC 9309, section 2.2.2: the file itself is always allowed
}

// Parse parses a robots.txt (RFC 9309) for the crawler with this product name. Groups that name the crawler are merged.
// If there are none, the groups for "*" apply.
func Parse(body []byte, product string) File {
	var (
		r             File
		own, all      []rule
		ownDelay      time.Duration
		allDelay      time.Duration
		forUs, forAll bool
		found         bool // a group names this crawler
		inAgents      bool
	)
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	for line := range lines(body) {
		key, value, ok := lineParts(line)
		if !ok {
			continue
		}
		var rule rule
		switch key {
		case "useragent":
			if !inAgents {
				forUs, forAll = false, false
			}
			inAgents = true
			name, _, _ := strings.Cut(value, "/")
			name = strings.TrimSpace(name)
			forUs = forUs || strings.EqualFold(name, product)
			forAll = forAll || name == "*"
			found = found || forUs
			continue
		case "sitemap":
			if len(r.Sitemaps) < maxSitemaps {
				r.Sitemaps = append(r.Sitemaps, strings.ToValidUTF8(value, ""))
			}
			continue // a Sitemap line neither belongs to a group nor ends one
		case "crawldelay":
			d := delayOf(value)
			if forUs {
				ownDelay = max(ownDelay, d)
			}
			if forAll {
				allDelay = max(allDelay, d)
			}
		case "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw": // misspellings that Google's parser accepts too
			if value != "" {
				rule = newRule(value, false)
			}
		case "allow":
			if value != "" {
				rule = newRule(value, true)
			}
		default:
			continue
		}
		inAgents = false
		if rule.pattern == "" {
			continue
		}
		if forUs && len(own) < maxRules {
			own = append(own, rule)
		}
		if forAll && len(all) < maxRules {
			all = append(all, rule)
		}
	}
	r.rules, r.CrawlDelay = all, allDelay
	if found {
		r.rules, r.CrawlDelay = own, ownDelay
	}
	return r
}

// lines splits `text` into lines, which end in CR, LF or both (RFC 9309, section 2.2).
func lines(text []byte) iter.Seq[[]byte] {
	return bytes.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '\r' })
}

// separators are ignored in keys: "User-agent" is the same as "useragent".
var separators = strings.NewReplacer(" ", "", "\t", "", "-", "", "_", "")

// lineParts splits "Key: value # comment". It returns the key in lower case without separators. The colon may be
// omitted if the line has only a key and a value.
func lineParts(line []byte) (key, value string, ok bool) {
	if len(line) > maxLine {
		return "", "", false
	}
	s, _, _ := strings.Cut(string(line), "#")
	key, value, ok = strings.Cut(s, ":")
	if !ok {
		words := strings.Fields(s)
		if len(words) != 2 {
			return "", "", false
		}
		key, value = words[0], words[1]
	}
	return separators.Replace(strings.ToLower(key)), strings.TrimSpace(removeControls(value)), true
}

// removeControls drops control characters but keeps invalid UTF-8, which rules escape like any other bytes.
func removeControls(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\t':
			b = append(b, ' ')
		case c >= ' ' && c != 0x7f:
			b = append(b, c)
		}
	}
	return string(b)
}

// delayForm matches a Crawl-delay value, which is a number of seconds. It also accepts a unit or a decimal comma, which
// are nonstandard but common.
var delayForm = lazyregexp.New(`(?i)^(\d*[.,]?\d+(?:e\+?\d+)?)\s*(ms|msecs?|milliseconds?|s|secs?|seconds?|m|min|mins|minutes?)?\.?$`)

func delayOf(v string) time.Duration {
	m := delayForm().FindStringSubmatch(v)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(strings.Replace(m[1], ",", ".", 1), 64)
	if math.IsInf(n, 0) {
		err = nil // out of range: use the longest delay
	}
	unit := strings.ToLower(m[2])
	switch {
	case strings.HasPrefix(unit, "ms"), strings.HasPrefix(unit, "milli"):
		n /= 1000
	case strings.HasPrefix(unit, "m"):
		n *= 60
	}
	if err != nil || !(n > 0) {
		return 0
	}
	return time.Duration(min(n, maxDelay.Seconds()) * float64(time.Second))
}
