package robots

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseRobots_finds_the_rules_of_our_agent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text     string
		allow    []string
		disallow []string
		delay    time.Duration
		sitemaps []string
	}{
		"nothing":                        {text: "", allow: []string{"/", "/a"}},
		"all for everyone":               {text: "User-agent: *\nDisallow: /", disallow: []string{"/", "/a"}},
		"another crawler":                {text: "User-agent: otherbot\nDisallow: /", allow: []string{"/a"}},
		"ours before everyone's":         {text: "User-agent: *\nDisallow: /\n\nUser-agent: SluiceBot\nDisallow: /x", allow: []string{"/a"}, disallow: []string{"/x/y"}},
		"ours by any case and version":   {text: "user-AGENT : sluicebot/2.0\nDISALLOW:/x", allow: []string{"/a"}, disallow: []string{"/x"}},
		"a name that begins like ours":   {text: "User-agent: Sluice\nDisallow: /", allow: []string{"/a"}},
		"two groups of ours are one":     {text: "User-agent: sluicebot\nDisallow: /x\nUser-agent: other\nDisallow: /z\nUser-agent: sluicebot\nDisallow: /y", disallow: []string{"/x", "/y"}, allow: []string{"/z"}},
		"several names in a group":       {text: "User-agent: other\nUser-agent: sluicebot\nDisallow: /x", disallow: []string{"/x"}},
		"an empty Disallow ends a group": {text: "User-agent: SluiceBot\nDisallow:\n\nUser-agent: *\nDisallow: /", allow: []string{"/", "/a"}},
		"Allow within Disallow":          {text: "User-agent: *\nDisallow: /x\nAllow: /x/open", disallow: []string{"/x/y"}, allow: []string{"/x/open/1"}},
		"wildcards":                      {text: "User-agent: *\nDisallow: /*.pdf$\nDisallow: /*?print=", disallow: []string{"/a/b.pdf", "/a?print=1"}, allow: []string{"/a/b.pdfx", "/a"}},
		"comments and Windows line ends": {text: "\ufeff# hello\r\nUser-agent: * # all\r\nDisallow: /x # secret\r\n", disallow: []string{"/x"}, allow: []string{"/a"}},
		"rules before any group":         {text: "Disallow: /\nUser-agent: *\nDisallow: /x", disallow: []string{"/x"}, allow: []string{"/a"}},
		"a delay":                        {text: "User-agent: *\nCrawl-delay: 2.5", allow: []string{"/"}, delay: 2500 * time.Millisecond},
		"a delay for ever":               {text: "User-agent: *\nCrawl-delay: 1e300", delay: maxDelay},
		"a delay of nonsense":            {text: "User-agent: *\nCrawl-delay: soon\nCrawl-delay: -3\nCrawl-delay: NaN\nDisallow: /x", disallow: []string{"/x"}},
		"keys written otherwise":         {text: "user agent: *\nDissallow: /x\ncrawl_delay: 2", disallow: []string{"/x"}, delay: 2 * time.Second},
		"a delay with its unit":          {text: "User-agent: *\nCrawl-delay: 0.5s", delay: 500 * time.Millisecond},
		"a delay in milliseconds":        {text: "User-agent: *\nCrawl-delay: 1500 ms", delay: 1500 * time.Millisecond},
		"a delay in words":               {text: "User-agent: *\nCrawl-delay: 10 seconds.", delay: 10 * time.Second},
		"a delay in minutes":             {text: "User-agent: *\nCrawl-delay: 2m", delay: 2 * time.Minute},
		"a delay with a decimal comma":   {text: "User-agent: *\nCrawl-delay: 0,5", delay: 500 * time.Millisecond},
		"a delay without a zero":         {text: "User-agent: *\nCrawl-delay: .5", delay: 500 * time.Millisecond},
		"line ends of old computers":     {text: "User-agent: *\rDisallow: /x\rDisallow: /y", disallow: []string{"/x", "/y"}, allow: []string{"/a"}},
		"a colon that was forgotten":     {text: "User-agent *\nDisallow /x\nthis is text", disallow: []string{"/x"}, allow: []string{"/a"}},
		"its own file":                   {text: "User-agent: *\nDisallow: /", allow: []string{"/robots.txt"}, disallow: []string{"/robots.txt.old"}},
		"sitemaps anywhere":              {text: "Sitemap: https://e.com/a.xml\nUser-agent: x\nSitemap: /b.xml\nDisallow: /", allow: []string{"/"}, sitemaps: []string{"https://e.com/a.xml", "/b.xml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Parse([]byte(tc.text), "SluiceBot")
			for _, p := range tc.allow {
				if !r.Allows(urlOf(t, p)) {
					t.Errorf("%s is not allowed by %q", p, tc.text)
				}
			}
			for _, p := range tc.disallow {
				if r.Allows(urlOf(t, p)) {
					t.Errorf("%s is allowed by %q", p, tc.text)
				}
			}
			if r.CrawlDelay != tc.delay {
				t.Errorf("delay is %s, want %s", r.CrawlDelay, tc.delay)
			}
			if diff := cmp.Diff(tc.sitemaps, r.Sitemaps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzRobots(f *testing.F) {
	for _, s := range []string{
		"User-agent: *\nDisallow: /a*b$\nCrawl-delay: 1", "Disallow: /", "User-agent:\nDisallow:\x00/\r", "user-agent: * #\nallow: **$$\n",
		"User-agent: *\nDisallow: a\u00a0b\u2028c\nSitemap:", strings.Repeat("User-agent: *\n", 50),
	} {
		f.Add([]byte(s), "noindex, none", "SluiceBot: noindex")
	}
	f.Fuzz(func(t *testing.T, text []byte, meta, header string) {
		r := Parse(text, "SluiceBot")
		for _, rule := range r.rules {
			if again := normalise(rule.pattern, true); again != rule.pattern {
				t.Errorf("%q becomes %q when it is normalised again", rule.pattern, again)
			}
		}
		r.Allows(&url.URL{Path: "/a", RawQuery: meta})
		if r.CrawlDelay < 0 || r.CrawlDelay > maxDelay || len(r.Sitemaps) > maxSitemaps {
			t.Errorf("got %+v", r)
		}
		var d Directives
		d.Add(meta)
		d.AddHeader(header, "SluiceBot")
	})
}

func urlOf(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
