package crawltest

import (
	"fmt"
	"html"
	"strings"
)

// page is an address on the site.
type page struct {
	address string // path and query, normalised according to RFC 3986, without parameters that have no effect
	text    string // seed for the text, shared by duplicates
	note    string // line below the text
	version int    // incremented by each change
	depth   int    // minimum number of links from the root
	linked  bool   // linked from a page whose links are followed
	listed  bool   // in the sitemap
	named   bool   // found through the sitemap, because a listed page names it as canonical
	plain   bool   // may be changed and removed
	off     bool   // removed from the sitemap
	gone    bool   // removed from the site
	expect  Expectation

	lang     string
	head     string            // additional head elements
	header   map[string]string // additional response headers
	links    []link
	language func(token string) string // returns a sentence in another script; may be nil
	answer   func(*exchange)           // nil responds with the page as HTML
}

// link is a link as written in a page. {own} stands for the site's scheme and host, {foreign} for another site's.
type link struct {
	href string
	rel  string
}

// register adds an address with its expectation and a link from the parent.
func (s *Site) register(parent *page, address string, e Expectation) *page {
	p := s.orphan(address, e)
	p.linked, p.depth = true, parent.depth+1
	parent.links = append(parent.links, link{href: address})
	return p
}

// orphan adds an address that no page links to.
func (s *Site) orphan(address string, e Expectation) *page {
	if _, twice := s.pages[address]; twice {
		panic("crawltest: two pages at " + address)
	}
	p := &page{address: address, text: address, expect: e, listed: true, lang: "en"}
	s.pages[address] = p
	s.order = append(s.order, p)
	return p
}

// page adds a page that a crawl must store.
func (s *Site) page(parent *page, address string) *page {
	return s.register(parent, address, Expectation{Outcome: Synched})
}

// refuse adds a link that the crawler must not follow, for the reason `why`. The link is on the page `on`.
func (s *Site) refuse(on *page, href string, why Reason) {
	on.links = append(on.links, link{href: href})
	s.left = append(s.left, leftOut{ref: href, reason: why})
}

// absolute resolves a link on a page. The caller must hold mu.
func (s *Site) absolute(href string) string {
	switch {
	case strings.HasPrefix(href, "{"):
		return s.fill(href)
	case strings.HasPrefix(href, "/"):
		return s.base + href
	}
	return href
}

// fill replaces {own} with this site's address and {foreign} with the other site's. The two addresses are not yet known
// when the pages are created. The caller must hold mu.
func (s *Site) fill(text string) string {
	return strings.NewReplacer("{own}", s.base, "{foreign}", s.foreign).Replace(text)
}

func (s *Site) token(p *page) string { return word(s.hash("token", p.text, fmt.Sprint(p.version))) }

// title returns the page's title, which is also in its text.
func (s *Site) title(p *page) string {
	r := s.random("title", p.text)
	return fmt.Sprintf("The %s %s %d", pick(r, adjectives), pick(r, nouns), r.IntN(1_000_000))
}

// fact returns the sentence with the page's code word. A search must find it.
func (s *Site) fact(p *page) string {
	return fmt.Sprintf("The code word of %s is %s.", s.title(p), s.token(p))
}

// sentence returns a sentence from the page. Pages in other scripts are readable only if the crawler uses the right
// charset.
func (s *Site) sentence(p *page) string {
	if p.language != nil {
		return p.language(s.token(p))
	}
	return s.fact(p)
}

// paragraphs returns the page's text, including the fact.
func (s *Site) paragraphs(p *page) []string {
	text := prose(s.random("prose", p.text, fmt.Sprint(p.version)))
	text[1] = s.fact(p) + " " + text[1]
	if p.language != nil {
		text[2] = p.language(s.token(p)) + " " + text[2]
	}
	return text
}

// render returns the page as HTML in UTF-8. The caller must hold mu.
func (s *Site) render(p *page) string {
	var b strings.Builder
	title := html.EscapeString(s.title(p))
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=%q>\n<head>\n<title>%s</title>\n%s</head>\n<body>\n", p.lang, title, s.fill(p.head))
	b.WriteString(`<header><a href="/">Home</a> <a href="mailto:office@crawltest.invalid">Mail</a></header>` + "\n<main>\n<article>\n")
	fmt.Fprintf(&b, "<h1>%s</h1>\n", title)
	for _, text := range s.paragraphs(p) {
		fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(text))
	}
	if p.note != "" {
		fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(p.note))
	}
	b.WriteString("</article>\n</main>\n")
	if len(p.links) > 0 {
		b.WriteString("<nav>\n<ul>\n")
		for i, l := range p.links {
			rel := ""
			if l.rel != "" {
				rel = fmt.Sprintf(" rel=%q", l.rel)
			}
			fmt.Fprintf(&b, "<li><a href=\"%s\"%s>See %d</a></li>\n", html.EscapeString(s.fill(l.href)), rel, i+1)
		}
		b.WriteString("</ul>\n</nav>\n")
	}
	b.WriteString("</body>\n</html>\n")
	return b.String()
}
