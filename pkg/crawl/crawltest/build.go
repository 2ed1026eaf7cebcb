package crawltest

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// build creates the site: the root, the special cases, and enough plain pages to reach the requested number of pages.
func (s *Site) build() error {
	root := s.orphan("/", Expectation{Outcome: Synched})
	root.linked = true
	lab := s.page(root, "/lab/")
	for _, add := range []func(hub *page){
		s.addRedirects, s.addFailures, s.addEncodings, s.addDuplicates, s.addDirectives, s.addLinks, s.addDocuments,
		s.addSpellings, s.addTraps, s.addDepth,
	} {
		add(lab)
	}
	s.news = s.page(root, "/news/")
	s.addUnlinked()
	have := 0
	for _, p := range s.order {
		if p.linked && p.expect.Outcome == Synched {
			have++
		}
	}
	if have > s.opts.Pages {
		return fmt.Errorf("a site of %d pages is too small: it has %d special pages alone", s.opts.Pages, have)
	}
	s.addPlain(root, s.opts.Pages-have)
	s.bomb = makeBomb(s.opts.BombBytes)
	return nil
}

// casesPerKind returns the number of pages per special case, which grows with the site.
func (s *Site) casesPerKind() int { return 1 + s.opts.Pages/1000 }

const (
	sectionPages = 60 // pages in a section, not counting subpages
	subPages     = 4  // subpages of some pages in a section
)

// addPlain adds n ordinary pages in sections. Some of them have subpages.
func (s *Site) addPlain(root *page, n int) {
	var leaves []*page
	for section := 1; n > 0; section++ {
		hub := s.page(root, fmt.Sprintf("/s/%d/", section))
		n--
		for i := 1; i <= sectionPages && n > 0; i++ {
			p := s.page(hub, fmt.Sprintf("/s/%d/page-%d.html", section, i))
			n--
			p.plain = i%10 != 0
			if p.plain {
				leaves = append(leaves, p)
			}
			for k := 1; i%10 == 0 && k <= subPages && n > 0; k++ {
				leaf := s.page(p, fmt.Sprintf("/s/%d/page-%d/part-%d", section, i, k))
				leaf.plain = true
				leaves = append(leaves, leaf)
				n--
			}
		}
	}
	// Leaf pages link to each other at random, which does not change their depths.
	r := s.random("links")
	for _, p := range leaves {
		if p.depth >= s.opts.MaxDepth {
			continue
		}
		for range 3 {
			p.links = append(p.links, link{href: leaves[r.IntN(len(leaves))].address})
		}
	}
}

// addDepth adds a chain of pages that goes beyond MaxDepth.
func (s *Site) addDepth(lab *page) {
	at := lab
	for i := 1; at.depth < s.opts.MaxDepth; i++ {
		at = s.page(at, fmt.Sprintf("/deep/%d.html", i))
	}
	for i := range 3 {
		address := fmt.Sprintf("/deep/beyond-%d.html", i+1)
		if i == 0 {
			s.refuse(at, address, TooDeep)
		} else {
			s.left = append(s.left, leftOut{ref: address, reason: TooDeep})
		}
	}
}

// addUnlinked adds pages that are only in the sitemap.
func (s *Site) addUnlinked() {
	for i := range 3 * s.casesPerKind() {
		s.orphan(fmt.Sprintf("/unlinked/%d.html", i+1), Expectation{Outcome: Synched})
	}
}

// inOrder iterates over a map in key order, so that the same options always create the same site.
func inOrder[V any](table map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(table)) {
			if !yield(k, table[k]) {
				return
			}
		}
	}
}
