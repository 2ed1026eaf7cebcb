package crawl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/textid"
)

func fetchedText(t *testing.T, c *Crawler, base, path string) Page {
	t.Helper()
	p, err := c.Fetch(t.Context(), PageRequest{URL: base + path, Depth: 1, Scope: &domain.SiteScope{Root: base + "/", MaxDepth: 3}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestPages_are_the_same_by_their_main_text(t *testing.T) {
	t.Parallel()
	const text = "<h1>Pumps</h1><p>Oil the pump once a year, before the winter comes, and look at each valve.</p>"
	page := func(head, body string) string { return "<!doctype html><title>Pumps</title>" + head + body }
	pages := map[string]string{
		"/plain":  page("", "<main>"+text+"</main>"),
		"/token":  page("<meta name=csrf-token content=8f1e>", "<main>"+text+"<form><input type=hidden name=csrf value=71c0></form></main>"),
		"/nonce":  page("<script nonce=a1>var x=1</script>", "<main>"+text+"<script nonce=a1>track(1)</script></main>"),
		"/time":   page("", "<main>"+text+"</main><footer>Page generated at 2026-11-26 13:04:05</footer>"),
		"/nav":    page("", "<nav><a href=/x>Menu</a></nav><main>"+text+"</main>"),
		"/aside":  page("", "<header>Site</header>"+text+"<aside>Seen last: pipes</aside>"),
		"/note":   page("", "<main>"+text+"<!-- served by 7 --><noscript><img src=/pixel?7></noscript></main>"),
		"/class":  page("", "<main class=v2>"+strings.Replace(text, "pump", "<b id=k9>pump</b>", 1)+"</main>"),
		"/other":  page("", "<main>"+strings.Replace(text, "once", "twice", 1)+"</main>"),
		"/titled": "<!doctype html><title>Valves</title><main>" + text + "</main>",
		"/footer": page("", "<main></main><footer>Call 030 1234 5678 or write to the office in the market street of Berlin.</footer>"),
		"/fax":    page("", "<main></main><footer>Call 030 8765 4321 or write to the office in the market street of Berlin.</footer>"),
		"/nine":   page("", "<main>"+text+"<dl><dt>Time: 9:00<dd>09:00:00</dl></main>"),
		"/six":    page("", "<main>"+text+"<dl><dt>Time: 18:00<dd>09:00:00</dl></main>"),
		"/late":   page("", "<main>"+text+"<dl><dt>Time: 18:00<dd>10:00:00</dl></main>"),
		"/empty":  "<!doctype html><title>Pumps</title><img src=a.png>",
	}
	c, s := local(t), routes(t, pages)
	hash := map[string]string{}
	for path := range pages {
		hash[path] = fetchedText(t, c, s.URL, path).TextHash
	}
	for _, path := range []string{"/token", "/nonce", "/time", "/nav", "/aside", "/note", "/class"} {
		if hash[path] == "" || hash[path] != hash["/plain"] {
			t.Errorf("%s is told from the plain page", path)
		}
	}
	for _, pair := range [][2]string{{"/plain", "/other"}, {"/plain", "/titled"}, {"/footer", "/fax"}, {"/nine", "/six"}, {"/six", "/late"}} {
		if hash[pair[0]] == hash[pair[1]] {
			t.Errorf("%s and %s are taken for one", pair[0], pair[1])
		}
	}
	if hash["/empty"] != "" {
		t.Error("a page without text has a hash")
	}
}

func TestPages_of_one_template_are_not_alike(t *testing.T) {
	t.Parallel()
	var menu strings.Builder
	for i := range 80 {
		fmt.Fprintf(&menu, "<div class=item><a href=/m/%d>The menu's item number %d</a></div>", i, i)
	}
	page := func(text string) string {
		return "<!doctype html><title>x</title><div id=menu>" + menu.String() + "</div><div><p>" + text + "</div>"
	}
	const pump = "Oil the pump once a year, before the winter comes, and look at each valve while the water is cold."
	c, s := local(t), routes(t, map[string]string{
		"/pump":  page(pump),
		"/print": page(pump + " Printed."),
		"/valve": page("Valves open and close the way of the water, and ask for nothing but a look in the spring of each year."),
	})
	pump1, printed, valve := fetchedText(t, c, s.URL, "/pump"), fetchedText(t, c, s.URL, "/print"), fetchedText(t, c, s.URL, "/valve")
	if !textid.IsSimilar(pump1.Sketch, printed.Sketch) || textid.IsSimilar(pump1.Sketch, valve.Sketch) {
		t.Errorf("resemblances are %.2f and %.2f", textid.Resemblance(pump1.Sketch, printed.Sketch), textid.Resemblance(pump1.Sketch, valve.Sketch))
	}
}

func TestLinks_past_the_patterns_are_for_the_caller_to_judge(t *testing.T) {
	t.Parallel()
	c, s := local(t), routes(t, map[string]string{"/": "<a href=/in/a>a</a><a href=/out/b>b</a><a href=/in/not/c>c</a><a href=http://elsewhere.example/>d</a>"})
	for past, want := range map[bool]string{true: "[/in/a /out/b /in/not/c]", false: "[/in/a]"} {
		p, err := c.Fetch(t.Context(), PageRequest{
			URL: s.URL + "/", WantLinks: true, PastPatterns: past,
			Scope: &domain.SiteScope{Root: s.URL + "/", MaxDepth: 3, Follow: true, Include: []string{"/in/"}, Exclude: []string{"/in/not/"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		var got []string
		for _, l := range p.Links {
			got = append(got, strings.TrimPrefix(l.URL, s.URL))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("past patterns %v: %v, want %s", past, got, want)
		}
	}
}
