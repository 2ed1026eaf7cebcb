package robots

import (
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"strings"
	"testing"
	"time"
)

func TestRobotsRules_compare_addresses_as_they_are_sent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule, address string
		forbids       bool
	}{
		// Queries: the order of parameters matters, but their escaping does not.
		{"/p?z=", "/p?z=1&a=2", true},
		{"/p?z=", "/p?a=2&z=1", false},
		{"/p?z=1&a=", "/p?z=1&a=2", true},
		{"/index.php?title=Special:", "/index.php?title=Special:Random", true},
		{"/index.php?title=Special:", "/index.php?title=Special%3ARandom", true},
		{"/index.php?title=Special%3A", "/index.php?title=Special:Random", true},
		{"/index.php?title=Special:", "/index.php?title=Main", false},
		{"/t?d=2020/01", "/t?d=2020/01/02", true},
		{"/t?d=2020%2F01", "/t?d=2020/01/02", true},
		{"/t?d=2020/01", "/t?d=2020%2f01", true},
		{"/r?to=https://", "/r?to=https%3A%2F%2Fe.com", true},
		{"/*to=https%3A", "/r?to=https://e.com", true},
		{"/l?f[]=", "/l?f[]=1", true},
		{"/l?f[]=", "/l?f%5B%5D=1", true},
		{"/l?f%5B%5D=", "/l?f[]=1", true},
		{"/l?f[a]", "/l?f[b]=1", false},
		{"/*?*sort=", "/l?a=1&sort=up", true},
		{"/*?sort=", "/l?a=1&sort=up", false},
		{"/*?", "/l?", true},
		{"/*?", "/l?x", true},
		{"/*?", "/l", false},
		{"/s?q=a+b", "/s?q=a+b", true},
		{"/s?q=a+b", "/s?q=a%2Bb", false},
		{"/s?q=a b", "/s?q=a%20b", true},
		{"/s?q=it's", "/s?q=it%27s", true},
		{"/s?a&b", "/s?a%26b", false},
		{"/s?q=a|b", "/s?q=a%7Cb", true},
		{"/s?flag", "/s?flag", true},
		{"/s?flag", "/s?flag=1", true},
		{"/s?a=1;b=", "/s?a=1;b=2", true},
		{"/s?q=50%", "/s?q=50%25", true},
		{"/s$", "/s?x", false},

		// Paths.
		{"/caf%c3%a9/", "/caf%C3%A9/menu", true},
		{"/caf%C3%A9/", "/café/menu", true},
		{"/café/", "/caf%c3%a9/menu", true},
		{"/wiki/Special%3A", "/wiki/Special:Log", true},
		{"/wiki/Special:", "/wiki/Special%3ALog", true},
		{"/a;b", "/a%3Bb", true},
		{"/%40team/", "/@team/x", true},
		{"/a=b,c", "/a%3Db%2Cc", true},
		{"/x(1)", "/x%281%29", true},
		{"/a%3Fb", "/a?b", false},
		{"/größe/", "/gr%C3%B6%C3%9Fe/a", true},
		{"/größe/", "/grosse/a", false},
		{"/ツ", "/%E3%83%84", true},
		{"/gr\xf6\xdfe/", "/gr%F6%DFe/a", true},
		{"/%7Ejoe/", "/~joe/x", true},
		{"/~joe/", "/%7ejoe/x", true},
		{"/%62%61%7A", "/baz", true},
		{"/a%2Db", "/a-b", true},
		{"/a%2ehtml", "/a.html", true},
		{"/a%2Fb", "/a/b", false},
		{"/a%2Fb", "/a%2fb", true},
		{"/a/b", "/a%2Fb", false},
		{"/a b/", "/a%20b/c", true},
		{"/a%20b/", "/a%20b/c", true},
		{"/a;", "/a;v=1", true},
		{"/*;sid=", "/x/y;sid=12", true},
		{"/a(b)", "/a(b)", true},
		{"/a,b", "/a,b/c", true},
		{"/a[1]", "/a%5B1%5D", true},
		{"/a{x}", "/a%7Bx%7D", true},
		{`/a\b`, "/a%5Cb", true},
		{"/A", "/a", false},

		// Asterisks and dollar signs, special and literal.
		{"/*.php$", "/a/b.php", true},
		{"/*.php$", "/b.php?x", false},
		{"/*.php", "/b.php?x", true},
		{"/a*c*e", "/abcde", true},
		{"/a*c*e$", "/abcdef", false},
		{"/a*c*e$", "/acece", true},
		{"/a*b$", "/ab", true},
		{"/*ab$", "/aab", true},
		{"*/print/", "/x/print/", true},
		{"*.pdf", "/x.pdf", true},
		{"/**", "/", true},
		{"/*$", "/x", true},
		{"/f-%2A.html", "/f-*.html", true},
		{"/f-%2A.html", "/f-x.html", false},
		{"/f-%24.html", "/f-$.html", true},
		{"/f$.html", "/f$.html", true},
		{"/f%24", "/f$/x", true},
		{"/caf%c3%a9$", "/café", true},
		{"/caf%c3%a9$", "/cafés", false},

		// Values that the RFC does not allow.
		{"private/", "/private/x", true},
		{"https://e.com/private/", "/private/x", true},
		{"https://e.com", "/x", true},
		{"?s=", "/?s=x", true},
	} {
		r := newRule(tc.rule, false)
		u, err := weburl.Resolve("http://e.com/", tc.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := !allowedBy([]rule{r}, u); got != tc.forbids {
			t.Errorf("rule %q (%+v) and address %q (%q): forbids is %t, want %t", tc.rule, r, tc.address, addressOf(u), got, tc.forbids)
		}
	}
}

func TestRobotsRules_apply_the_most_specific_rule(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules string
		at    string
		want  bool
	}{
		"the longer Allow":                     {"Disallow: /a\nAllow: /a/b", "/a/b/c", true},
		"the longer Disallow":                  {"Allow: /a\nDisallow: /a/b", "/a/b/c", false},
		"in any order":                         {"Allow: /a/b\nDisallow: /a", "/a/b/c", true},
		"Allow of the same length":             {"Disallow: /a/b\nAllow: /a/b", "/a/b", true},
		"Allow of the same length first":       {"Allow: /a/b\nDisallow: /a/b", "/a/b", true},
		"a query within a forbidden path":      {"Disallow: /index.php\nAllow: /index.php?title=Help:", "/index.php?title=Help:A", true},
		"the end of the address":               {"Disallow: /\nAllow: /$", "/", true},
		"something after the end":              {"Disallow: /\nAllow: /$", "/x", false},
		"escapes do not change the comparison": {"Disallow: /%7Ea\nAllow: /~a", "/~a", true},
		"an Allow alone":                       {"Allow: /a", "/b", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Parse([]byte("User-agent: *\n"+tc.rules), "SluiceBot")
			if got := r.Allows(urlOf(t, "http://e.com"+tc.at)); got != tc.want {
				t.Errorf("%s is allowed: %t", tc.at, got)
			}
		})
	}
}

func TestRobotsRules_take_no_more_time_for_asterisks(t *testing.T) {
	t.Parallel()
	r := newRule("/"+strings.Repeat("a*", 900)+"b$", false)
	u := urlOf(t, "http://e.com/"+strings.Repeat("a", 2_000))
	done := make(chan bool, 1)
	go func() { done <- allowedBy([]rule{r}, u) }()
	select {
	case allowed := <-done:
		if !allowed {
			t.Error("the rule matches an address that does not end in its last letter")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("comparing one rule takes longer than 20 seconds")
	}
}
