package crawl

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

func TestNormalise_gives_one_spelling(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"host in lower case":                     {"HTTP://EXAMPLE.com/Path", "http://example.com/Path"},
		"an empty path is the root":              {"http://example.com", "http://example.com/"},
		"default ports go":                       {"http://example.com:80/", "http://example.com/"},
		"default ports of https go":              {"https://example.com:443/a", "https://example.com/a"},
		"other ports stay":                       {"https://example.com:8443/a", "https://example.com:8443/a"},
		"fragments go":                           {"http://example.com/a#b", "http://example.com/a"},
		"dot segments go":                        {"http://example.com/a/./b/../c", "http://example.com/a/c"},
		"encoded dot segments go":                {"http://example.com/a/%2e%2E/c", "http://example.com/c"},
		"backslashes are slashes":                {`http:\\example.com\a`, "http://example.com/a"},
		"white space around goes":                {" \n http://example.com/a\t", "http://example.com/a"},
		"line ends within go":                    {"http://example.com/a\nb", "http://example.com/ab"},
		"spaces are escaped":                     {"http://example.com/a b", "http://example.com/a%20b"},
		"international hosts become ASCII":       {"http://Bücher.example/", "http://xn--bcher-kva.example/"},
		"a final dot of the host goes":           {"http://example.com./a", "http://example.com/a"},
		"a final dot before a port goes":         {"http://example.com.:81/a", "http://example.com:81/a"},
		"escapes are in upper case":              {"http://example.com/%c3%a4", "http://example.com/%C3%A4"},
		"needless escapes go":                    {"http://example.com/%7Euser/%61", "http://example.com/~user/a"},
		"letters are escaped":                    {"http://example.com/ä", "http://example.com/%C3%A4"},
		"an escaped slash stays":                 {"http://example.com/a%2fb", "http://example.com/a%2Fb"},
		"a lone percent sign makes no escape":    {"http://e.com/?a=%%333&b=%3%62", "http://e.com/?a=%%333&b=%3%62"},
		"a lone percent sign is escaped":         {"http://example.com/100%", "http://example.com/100%25"},
		"a trailing slash stays":                 {"http://example.com/a/", "http://example.com/a/"},
		"and its absence":                        {"http://example.com/a", "http://example.com/a"},
		"tracking parameters go":                 {"http://e.com/?utm_source=a&id=1&gclid=x&UTM_medium=y&fbclid=z", "http://e.com/?id=1"},
		"an empty query goes":                    {"http://e.com/a?", "http://e.com/a"},
		"a query of only tracking goes":          {"http://e.com/a?utm_source=x", "http://e.com/a"},
		"the order of parameters stays":          {"http://e.com/?b=1&a=2", "http://e.com/?b=1&a=2"},
		"empty parameters go":                    {"http://e.com/?&a=1&&b=2&", "http://e.com/?a=1&b=2"},
		"a session id in the query goes":         {"http://e.com/?PHPSESSID=abc&p=1", "http://e.com/?p=1"},
		"a session id in the path goes":          {"http://e.com/a;jsessionid=AB12?p=1", "http://e.com/a?p=1"},
		"a session id within the path goes":      {"http://e.com/a;JSESSIONID=AB12/b", "http://e.com/a/b"},
		"escapes hide no session":                {"http://e.com/a;%6Asessionid=AB12?%70hpsessid=abc&%75tm_source=x", "http://e.com/a"},
		"a long sid is a session":                {"http://e.com/?sid=0123456789abcdef0123", "http://e.com/"},
		"a short sid is not":                     {"http://e.com/?sid=42", "http://e.com/?sid=42"},
		"a session id that is its own segment":   {"http://e.com/app/(S(ab12cd34ef56ab12cd34ef56))/a?p=1", "http://e.com/app/a?p=1"},
		"such a segment beside other marks":      {"http://e.com/(A(xyz)S(ab12cd34ef56ab12cd34ef56))/a", "http://e.com/a"},
		"a segment in parentheses stays":         {"http://e.com/(S(hort))/(group)/a", "http://e.com/(S(hort))/(group)/a"},
		"a random word to search for is none":    {"http://e.com/?s=harbour", "http://e.com/?s=harbour"},
		"a long word to search for stays":        {"http://e.com/?s=incomprehensibilities", "http://e.com/?s=incomprehensibilities"},
		"a user name goes":                       {"http://me:pw@e.com/", "http://e.com/"},
		"a decimal address is written with dots": {"http://2130706433/", "http://127.0.0.1/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Normalise(tc.in)
			if err != nil || got != tc.want {
				t.Errorf("Normalise(%q) is %q, %v; want %q", tc.in, got, err, tc.want)
			}
			if again, err := Normalise(got); again != got || err != nil {
				t.Errorf("a second time makes it %q, %v", again, err)
			}
		})
	}
	for _, bad := range []string{"", "x", "mailto:a@b", "ftp://a/", "http://", "http:///", "http://a b/", "http://0../", "http://e.com../", "http://./", "http://a/" + strings.Repeat("ä", 1_000)} {
		if got, err := Normalise(bad); err == nil {
			t.Errorf("Normalise(%.40q) is %.40q", bad, got)
		}
	}
}

func FuzzNormalise(f *testing.F) {
	for _, s := range []string{
		"http://example.com/a/../b?utm_x=1&c#d", "https://Bücher.example:443/%7e%2f%", "//x", "/a;jsessionid=1/b", "http://[::1]/",
		"http://e/%2e./..%2f?%&=&a", "HTTP:\\\\e\\..\\", "?\\", "http://e./;jsessionid=;jsessionid=x",
	} {
		f.Add("https://example.com/dir/page", s)
	}
	f.Add("http:", "http:0%2e.") // two final dots: without them the host was a number
	f.Fuzz(func(t *testing.T, base, ref string) {
		_, got, err := normaliseOn(readBase(base), ref)
		if err != nil {
			return
		}
		again, err := Normalise(got)
		if err != nil || again != got {
			t.Errorf("%q on %q is %q, and then %q, %v", ref, base, got, again, err)
		}
		path, _, _ := strings.Cut(got, "?")
		if len(got) > maxURLBytes || !strings.HasPrefix(got, "http") || strings.ContainsAny(got, "# \n\t") || strings.Contains(path, "\\") {
			t.Errorf("%q on %q is %q", ref, base, got)
		}
		sc, err := newScope(domain.SiteScope{Root: got})
		if err != nil {
			t.Fatalf("not a root: %q, %v", got, err)
		}
		sc.take(readBase(base), ref, 1)
	})
}

func TestScope_says_what_belongs_to_a_site(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		scope domain.SiteScope
		ref   string
		depth int
		want  Refusal
	}{
		"a page below":                      {domain.SiteScope{Root: "https://e.com"}, "/a/b", 1, ""},
		"with www":                          {domain.SiteScope{Root: "https://e.com"}, "https://www.e.com/a", 1, ""},
		"without www":                       {domain.SiteScope{Root: "https://www.e.com"}, "https://e.com/a", 1, ""},
		"by http":                           {domain.SiteScope{Root: "https://e.com"}, "http://e.com/a", 1, ""},
		"another host":                      {domain.SiteScope{Root: "https://e.com"}, "https://e.org/a", 1, RefusedHost},
		"a subdomain":                       {domain.SiteScope{Root: "https://e.com"}, "https://shop.e.com/a", 1, RefusedHost},
		"a host that ends the same":         {domain.SiteScope{Root: "https://e.com"}, "https://ae.com/", 1, RefusedHost},
		"another port":                      {domain.SiteScope{Root: "https://e.com"}, "https://e.com:8443/", 1, RefusedHost},
		"the root's path":                   {domain.SiteScope{Root: "https://e.com/docs"}, "/docs", 1, ""},
		"below the root's path":             {domain.SiteScope{Root: "https://e.com/docs"}, "/docs/a", 1, ""},
		"beside the root's path":            {domain.SiteScope{Root: "https://e.com/docs"}, "/docsearch", 1, RefusedPath},
		"the directory of the root's file":  {domain.SiteScope{Root: "https://e.com/docs/index.html"}, "/docs/a", 1, ""},
		"out by dots":                       {domain.SiteScope{Root: "https://e.com/docs/"}, "/docs/../a", 1, RefusedPath},
		"as deep as allowed":                {domain.SiteScope{Root: "https://e.com", MaxDepth: 2}, "/a", 2, ""},
		"too deep":                          {domain.SiteScope{Root: "https://e.com", MaxDepth: 2}, "/a", 3, RefusedDepth},
		"too deep by default":               {domain.SiteScope{Root: "https://e.com"}, "/a", domain.DefaultMaxDepth + 1, RefusedDepth},
		"excluded":                          {domain.SiteScope{Root: "https://e.com", Exclude: []string{"/private/"}}, "/private/a/b", 1, RefusedExcluded},
		"excluded by extension":             {domain.SiteScope{Root: "https://e.com", Exclude: []string{"*.pdf"}}, "/x/a.pdf", 1, RefusedExcluded},
		"not excluded: one star, one level": {domain.SiteScope{Root: "https://e.com", Exclude: []string{"/a/*"}}, "/a/b/c", 1, ""},
		"excluded: two stars":               {domain.SiteScope{Root: "https://e.com", Exclude: []string{"/a/**"}}, "/a/b/c", 1, RefusedExcluded},
		"included":                          {domain.SiteScope{Root: "https://e.com", Include: []string{"/v?/**"}}, "/v2/x", 1, ""},
		"not included":                      {domain.SiteScope{Root: "https://e.com", Include: []string{"/v?/**"}}, "/v10/x", 1, RefusedIncluded},
		"excluded though included":          {domain.SiteScope{Root: "https://e.com", Include: []string{"/**"}, Exclude: []string{"/a"}}, "/a", 1, RefusedExcluded},
		"a pattern with signs is literal":   {domain.SiteScope{Root: "https://e.com", Exclude: []string{"/a.b(c"}}, "/aXb(c", 1, ""},
		"a script's name":                   {domain.SiteScope{Root: "https://e.com"}, "/wiki/Node.js", 1, ""},
		"a company's name":                  {domain.SiteScope{Root: "https://e.com"}, "/customers/scale.ai", 1, ""},
		"a program's name":                  {domain.SiteScope{Root: "https://e.com"}, "/tools/app.bin", 1, ""},
		"a wiki's page about an image":      {domain.SiteScope{Root: "https://e.com"}, "/wiki/File:Harbour.jpg", 1, ""},
		"an archive":                        {domain.SiteScope{Root: "https://e.com"}, "/all.tar.gz", 1, RefusedMedia},
		"a film in a directory with colons": {domain.SiteScope{Root: "https://e.com"}, "/a:b/film.mp4", 1, RefusedMedia},
		"an image":                          {domain.SiteScope{Root: "https://e.com"}, "/a.PNG", 1, RefusedMedia},
		"mail":                              {domain.SiteScope{Root: "https://e.com"}, "mailto:a@e.com", 1, RefusedNoURL},
		"script":                            {domain.SiteScope{Root: "https://e.com"}, "javascript:void(0)", 1, RefusedNoURL},
		"segments that repeat":              {domain.SiteScope{Root: "https://e.com"}, "/a/b/a/b/a/b/a/b", 1, RefusedTrap},
		"very many segments":                {domain.SiteScope{Root: "https://e.com"}, "/" + strings.Join(strings.Split("abcdefghijklmnopqrstu", ""), "/"), 1, RefusedTrap},
		"very many parameters":              {domain.SiteScope{Root: "https://e.com"}, "/?a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9", 1, RefusedTrap},
		"one parameter many times":          {domain.SiteScope{Root: "https://e.com"}, "/?f=1&f=2&f=3&f=4", 1, RefusedTrap},
		"empty segments":                    {domain.SiteScope{Root: "https://e.com"}, "/a////b", 1, RefusedTrap},
		"a very long address":               {domain.SiteScope{Root: "https://e.com"}, "/" + strings.Repeat("a", 2_100), 1, RefusedTrap},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc, err := newScope(tc.scope)
			if err != nil {
				t.Fatal(err)
			}
			got, why := sc.take(readBase(sc.root.String()), tc.ref, tc.depth)
			if why != tc.want {
				t.Errorf("got %q, %q; want %q", got, why, tc.want)
			}
			if why == "" && !strings.HasPrefix(got, "https://") {
				t.Errorf("%q is not at the root's scheme", got)
			}
		})
	}
}

// FuzzScope checks that what is taken into a site is spelled for good: taken again, it is the same and still taken.
func FuzzScope(f *testing.F) {
	for _, s := range []string{
		"/a/b/a/b", "/calendar/2026/11?next", "?a=1&b=2&c=3", "/(S(ab12cd34ef56ab12cd34ef56))/a;jsessionid=1", "/2026-11-05T10:00", "?year=2026&month=12",
		"//www.e.com/%6a;sid=%2f", "/x/1/1/1/1", "?page=1&colour=red,blue", "/a.PNG", "http://e.com:443/", "/\xff/..//",
	} {
		f.Add("/shop/2026/11?a=1&b=2", s)
	}
	f.Fuzz(func(t *testing.T, page, ref string) {
		sc, err := newScope(domain.SiteScope{Root: "https://e.com/"})
		if err != nil {
			t.Fatal(err)
		}
		base := readBase("https://e.com/dir/")
		on, err := parseOn(base, page)
		if err != nil {
			return
		}
		sc.on(on)
		got, why := sc.take(base, ref, 1)
		if why != "" {
			return
		}
		if again, why := sc.take(base, got, 1); again != got || why != "" {
			t.Errorf("%q on %q is %q, and then %q, %q", ref, page, got, again, why)
		}
	})
}

func FuzzLastMod(f *testing.F) {
	for _, s := range []string{"2026", "2026-01-05T08:00:00.123+01:00", "Mon, 05 Jan 2026 08:00:00 GMT", "2026-01-05 08:00", "0000-00-00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		at := parseLastMod(in)
		if at.IsZero() {
			return
		}
		if again := parseLastMod(at.Format(time.RFC3339Nano)); !again.Equal(at) || at.Location() != time.UTC {
			t.Errorf("%q is %v, and then %v", in, at, again)
		}
	})
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"/a/**", "*.pdf", "??", "/a(b[c", "/\xff*", "***", ""} {
		f.Add(s, "/a/b.pdf")
	}
	f.Fuzz(func(_ *testing.T, pattern, path string) {
		domain.SiteScope{Include: []string{pattern}}.Patterns().Refuses(path)
	})
}
