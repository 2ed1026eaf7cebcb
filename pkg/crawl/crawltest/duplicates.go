package crawltest

import "fmt"

// addDuplicates adds pages with more than one address. A single page links to all of them, so a crawler can only go by
// their spelling to choose the best.
func (s *Site) addDuplicates(lab *page) {
	hub := s.page(lab, "/lab/duplicates/")
	copyOf := func(p *page, address string) *page {
		c := s.register(hub, address, duplicateOf(p))
		c.text = p.text
		return c
	}
	for i := range s.casesPerKind() {
		copyOf(s.page(hub, fmt.Sprintf("/d/twin-%d", i)), fmt.Sprintf("/d/twin-%d/", i))
		copyOf(s.page(hub, fmt.Sprintf("/d/folder-%d/", i)), fmt.Sprintf("/d/folder-%d/index.html", i))
		p := s.page(hub, fmt.Sprintf("/d/shop-%d", i))
		copyOf(p, fmt.Sprintf("/d/second-way-to-shop-%d", i))
		copyOf(p, fmt.Sprintf("/d/third-and-longest-way-to-shop-%d", i))
		copyOf(s.page(hub, fmt.Sprintf("/d/order-%d?a=1&b=2", i)), fmt.Sprintf("/d/order-%d?b=2&a=1", i))

		// The canonical address wins even though it is longer.
		article := s.page(hub, fmt.Sprintf("/d/articles/a-long-name-%d.html", i))
		article.head = canonical(article.address)
		s.inFavourOf(article, hub, fmt.Sprintf("/d/print/%d", i))
		s.inFavourOf(article, hub, article.address+"?print=1")

		// Crawlers must ignore a canonical address that a template repeats on every page.
		s.page(hub, fmt.Sprintf("/d/template-%d", i)).head = canonical(article.address)

		// No page links to the full page. A crawler finds it only because the AMP version declares it as canonical.
		full := s.page(hub, fmt.Sprintf("/d/full/%d.html", i))
		hub.links = hub.links[:len(hub.links)-1]
		full.listed, full.named = false, true
		full.depth++
		s.inFavourOf(full, hub, fmt.Sprintf("/d/amp/%d", i))

		// Canonical addresses to ignore: another host, the root, and an address that does not exist.
		s.page(hub, fmt.Sprintf("/d/canonical-away-%d", i)).head = canonical("{foreign}/original")
		s.page(hub, fmt.Sprintf("/d/canonical-root-%d", i)).head = canonical("/")
		s.page(hub, fmt.Sprintf("/d/canonical-itself-%d", i)).head = canonical(fmt.Sprintf("{own}/d/canonical-itself-%d", i))
		missing := s.register(hub, fmt.Sprintf("/d/missing-%d", i), Expectation{Outcome: Failed, Reason: NotFound})
		missing.answer = status(404)
		s.page(hub, fmt.Sprintf("/d/canonical-missing-%d", i)).head = canonical(missing.address)

		// Translations are separate pages. Only the head of the English page links to the German one.
		en, de := s.page(hub, fmt.Sprintf("/d/en/%d", i)), s.page(hub, fmt.Sprintf("/d/de/%d", i))
		hub.links = hub.links[:len(hub.links)-1]
		de.depth, de.lang = en.depth+1, "de"
		en.head = fmt.Sprintf("<link rel=\"alternate\" hreflang=\"de\" href=%q>\n", de.address)
		de.head = fmt.Sprintf("<link rel=\"alternate\" hreflang=\"en\" href=%q>\n", en.address)
	}
}

// inFavourOf adds a variant of page p at `address`. The variant declares p as canonical and has the same text as p,
// except for one line.
func (s *Site) inFavourOf(p, hub *page, address string) {
	c := s.register(hub, address, Expectation{Outcome: Skipped, Reason: Canonical, InFavourOf: p.address})
	c.text, c.note = p.text, "This is another version of the page."
	c.head = canonical(p.address)
}

func canonical(address string) string {
	return fmt.Sprintf("<link rel=\"canonical\" href=%q>\n", address)
}
