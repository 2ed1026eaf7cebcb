package scope

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
)

func TestScope_decides_what_belongs_to_a_site(t *testing.T) {
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
			sc, err := New(tc.scope)
			if err != nil {
				t.Fatal(err)
			}
			got, why := sc.Resolve(weburl.NewBase(sc.Root.String()), tc.ref, tc.depth)
			if why != tc.want {
				t.Errorf("got %q, %q; want %q", got, why, tc.want)
			}
			if why == "" && !strings.HasPrefix(got, "https://") {
				t.Errorf("%q is not at the root's scheme", got)
			}
		})
	}
}

// FuzzScope checks that resolving is stable: resolving an accepted address again accepts it unchanged.
func FuzzScope(f *testing.F) {
	for _, s := range []string{
		"/a/b/a/b", "/calendar/2026/11?next", "?a=1&b=2&c=3", "/(S(ab12cd34ef56ab12cd34ef56))/a;jsessionid=1", "/2026-11-05T10:00", "?year=2026&month=12",
		"//www.e.com/%6a;sid=%2f", "/x/1/1/1/1", "?page=1&colour=red,blue", "/a.PNG", "http://e.com:443/", "/\xff/..//",
	} {
		f.Add("/shop/2026/11?a=1&b=2", s)
	}
	f.Fuzz(func(t *testing.T, page, ref string) {
		sc, err := New(domain.SiteScope{Root: "https://e.com/"})
		if err != nil {
			t.Fatal(err)
		}
		base := weburl.NewBase("https://e.com/dir/")
		on, err := base.Parse(page)
		if err != nil {
			return
		}
		sc.SetPage(on)
		got, why := sc.Resolve(base, ref, 1)
		if why != "" {
			return
		}
		if again, why := sc.Resolve(base, got, 1); again != got || why != "" {
			t.Errorf("%q on %q is %q, and then %q, %q", ref, page, got, again, why)
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
