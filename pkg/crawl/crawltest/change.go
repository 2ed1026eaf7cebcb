package crawltest

import (
	"cmp"
	"fmt"
	"slices"
)

// Change gives n plain pages new text and new code words and returns their addresses.
func (s *Site) Change(n int) []string {
	return s.alter(n, func(p *page) { p.version++ })
}

// Remove removes n plain pages and returns their addresses. From then on, requests for these pages get status 410, and
// the sitemap doesn't list them. Other pages still link to them, so nothing else changes.
func (s *Site) Remove(n int) []string {
	return s.alter(n, s.removePage)
}

// Unlist removes n plain pages from the sitemap and returns their addresses. The pages themselves remain.
func (s *Site) Unlist(n int) []string {
	return s.alter(n, func(p *page) { p.listed, p.off, p.plain = false, true, false })
}

// Add creates n pages that are linked from /news/ and listed in the sitemap, and returns their addresses.
func (s *Site) Add(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, n)
	for range n {
		s.added++
		p := s.page(s.news, fmt.Sprintf("/news/item-%d.html", s.added))
		out = append(out, s.absolute(p.address))
	}
	if n > 0 {
		s.news.version++
	}
	return out
}

// alter calls `change` for n plain pages, spread over the site, and returns their addresses. Each call chooses
// different pages.
func (s *Site) alter(n int, change func(*page)) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plain == nil { // computed once, because indexes into a shrinking list could reach a page twice
		for _, p := range s.order {
			if p.plain {
				s.plain = append(s.plain, p)
			}
		}
	}
	plain := s.plain
	out := make([]string, 0, n)
	const stride = 37 // prime, so as to reach every page
	for tried := 0; len(out) < n && tried < len(plain)*stride && len(plain) > 0; tried++ {
		p := plain[(s.nextPlain*stride)%len(plain)]
		s.nextPlain++
		if !p.plain || slices.Contains(out, s.absolute(p.address)) {
			continue
		}
		change(p)
		out = append(out, s.absolute(p.address))
	}
	return out
}

// RemoveOriginals is like Remove, but removes up to n pages that have duplicates. It returns the addresses of the
// removed pages and, in `heirs`, those of the duplicates that a crawl must store in their place.
func (s *Site) RemoveOriginals(n int) (removed, heirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.order {
		if len(removed) == n {
			break
		}
		copies := s.copies(p)
		if p.gone || p.expect.Outcome != Synched || len(p.links) > 0 || len(copies) == 0 {
			continue
		}
		heir := copies[0]
		for _, c := range copies[1:] {
			c.expect.InFavourOf = heir.address
		}
		heir.expect = Expectation{Outcome: Synched}
		s.removePage(p)
		removed, heirs = append(removed, s.absolute(p.address)), append(heirs, s.absolute(heir.address))
	}
	return removed, heirs
}

// copies returns a page's duplicates, best address first, or nil if one of them is a redirect.
func (s *Site) copies(p *page) []*page {
	var out []*page
	for _, c := range s.order {
		if c.expect.Reason == Duplicate && c.expect.InFavourOf == p.address {
			if c.answer != nil {
				return nil
			}
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *page) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(len(a.address), len(b.address)), cmp.Compare(a.address, b.address))
	})
	return out
}

func (s *Site) removePage(p *page) {
	p.gone, p.plain = true, false
	p.off = p.off || p.listed
	p.listed = false
	p.expect = Expectation{Outcome: Removed, Reason: NotFound}
}
