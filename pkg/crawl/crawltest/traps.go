package crawltest

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/lazyregexp"
)

// addSpellings adds links with equivalent spellings of the same address.
func (s *Site) addSpellings(lab *page) {
	hub := s.page(lab, "/lab/spellings/")
	for i := range s.casesPerKind() {
		p := s.page(hub, fmt.Sprintf("/sp/item-%d?id=%d", i, i)).address
		path, query, _ := strings.Cut(p, "?")
		session := fmt.Sprintf("%016X", s.hash("session", p))
		for _, href := range []string{
			p + "#top", p + "#a?b=c", "/x/../" + p[1:], p + "&",
			p + "&utm_source=crawltest&utm_medium=link", path + "?gclid=abc&" + query, p + "&fbclid=x&_ga=1",
			p + "&PHPSESSID=" + session, path + ";jsessionid=" + session + "?" + query, p + "&sid=" + session + session,
			"/(S(" + strings.ToLower(session) + session[:8] + "))" + p, strings.Replace(p, "item", "%69tem", 1),
		} {
			s.refuse(hub, href, Spelling)
		}
	}
}

// addTraps adds endless series of pages.
func (s *Site) addTraps(lab *page) {
	hub := s.page(lab, "/lab/traps/")
	// A calendar month must be stored if an ordinary page links to it. The months before and after it must not be
	// stored, because only the calendar links to them.
	month := s.page(hub, "/calendar/2026/11")
	s.refuse(month, "/calendar/2026/12", Trap)
	s.refuse(month, "/calendar/2026/10", Trap)
	s.refuse(month, "/calendar/2026/11?next", Trap)
	agenda := s.page(hub, "/agenda?date=2026-11-05")
	s.refuse(agenda, "/agenda?date=2026-11-06", Trap)
	s.refuse(agenda, "/agenda?date=2026-11-04", Trap)
	far := "/calendar/9999/01"
	s.refuse(hub, far, Trap)
	// In an archive, past months with entries count as pages, but future months do not.
	back := s.page(hub, "/notes/2026/05/")
	s.refuse(back, "/notes/2096/06/", Trap)
	for m := 4; back.depth < s.opts.MaxDepth && m > 0; m-- {
		back = s.page(back, fmt.Sprintf("/notes/2026/%02d/", m))
	}
	s.refuse(back, "/notes/2025/12/", TooDeep)

	s.addFacets(hub)

	// Relative links make the path longer with each step.
	spiral := s.page(hub, "/spiral/a/b/")
	spiral.links = append(spiral.links, link{href: "a/b/"})
	s.left = append(s.left, leftOut{ref: "/spiral/a/b/a/b/", reason: Trap, listed: true})
	spin := s.page(hub, "/spin/")
	again := s.register(spin, "/spin/spin/", duplicateOf(spin))
	again.text = spin.text
	spin.links, again.links = []link{{href: "spin/"}}, []link{{href: "spin/"}}
	s.left = append(s.left, leftOut{ref: "/spin/spin/spin/", reason: Trap, listed: true})
	s.refuse(hub, "/long/"+strings.Repeat("x", 2_100), Trap)
	s.list()
}

// addFacets adds a shop whose pages show filter results. Each page links to pages with one more filter.
func (s *Site) addFacets(hub *page) {
	shop := s.page(hub, "/shop/")
	facets := []struct {
		key    string
		values []string
	}{{"brand", []string{"a", "b"}}, {"colour", []string{"red", "blue"}}, {"size", []string{"m", "s"}}}
	for _, f := range facets {
		for _, v := range f.values {
			one := s.page(shop, "/shop/?"+f.key+"="+v)
			for _, g := range facets {
				for _, w := range g.values {
					if g.key == f.key {
						continue
					}
					two := one.address + "&" + g.key + "=" + w
					if g.key < f.key { // the same products, filtered in the other order
						first := "/shop/?" + g.key + "=" + w + "&" + f.key + "=" + v
						e := Expectation{Outcome: Skipped, Reason: Duplicate, InFavourOf: first}
						s.narrow(s.register(one, two, e), first)
						continue
					}
					s.narrow(s.page(one, two), two)
				}
			}
		}
	}
}

// narrow adds links to p, a page that is filtered by two parameters. Each link leads to a page with a third filter. The
// text of p depends only on its filters.
func (s *Site) narrow(p *page, text string) {
	p.text = text
	for _, more := range []string{"brand=c", "colour=green", "size=xl", "sort=price"} {
		key, _, _ := strings.Cut(more, "=")
		if !strings.Contains(text, key+"=") {
			// Pages with the same filters in different orders have the same links, so they are duplicates.
			p.links = append(p.links, link{href: text + "&" + more})
		}
	}
	for _, l := range p.links {
		s.left = append(s.left, leftOut{ref: l.href, reason: Trap})
	}
}

var (
	monthPath  = lazyregexp.New(`^/(calendar|notes)/(\d{4})/(\d{2})/?$`)
	spiralPath = lazyregexp.New(`^/spiral/(a/b/)+$`)
	spinPath   = lazyregexp.New(`^/(spin/)+$`)
)

// endless creates a trap's page when a crawler requests it. It returns nil for other addresses.
func endless(u *url.URL) *page {
	p := &page{address: u.RequestURI(), text: u.RequestURI(), lang: "en"}
	switch m := monthPath().FindStringSubmatch(u.Path); {
	case m != nil:
		year, _ := strconv.Atoi(m[2])
		month, _ := strconv.Atoi(m[3])
		n := year*12 + month - 1
		for _, step := range []int{n + 1, max(n-1, 0)} {
			p.links = append(p.links, link{href: fmt.Sprintf("/%s/%04d/%02d", m[1], step/12, step%12+1)})
		}
	case u.Path == "/agenda":
		p.links = []link{{href: "/agenda?date=" + u.Query().Get("date") + "0"}}
	case u.Path == "/shop/":
		p.links = []link{{href: u.RequestURI() + "&more=1"}}
	case spiralPath().MatchString(u.Path):
		p.links = []link{{href: "a/b/"}}
	case spinPath().MatchString(u.Path):
		p.text, p.links = "/spin/", []link{{href: "spin/"}}
	default:
		return nil
	}
	return p
}
