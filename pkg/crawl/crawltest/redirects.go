package crawltest

import (
	"fmt"
	"net/http"
)

// addRedirects adds redirects from addresses that are longer or shorter than their targets. Each page must be stored
// under the target's address.
func (s *Site) addRedirects(lab *page) {
	hub := s.page(lab, "/lab/redirects/")
	for i := range s.casesPerKind() {
		for _, code := range []int{
			http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
		} {
			to := s.page(hub, fmt.Sprintf("/r/%d/%d", code, i))
			from := s.register(hub, fmt.Sprintf("/r/from/%d/%d", code, i), duplicateOf(to))
			from.answer = redirect(code, to.address)
			short := s.register(hub, fmt.Sprintf("/r%d/%d", code%10, i), duplicateOf(to))
			short.answer = redirect(code, to.address)
		}
		s.addChain(hub, i)
		s.addLoops(hub, i)

		// A page keeps its old address if no page links to the new one.
		moved := s.page(hub, fmt.Sprintf("/r/old-%d.html", i))
		target := s.hidden(fmt.Sprintf("/r/new-%d.html", i), moved)
		moved.answer = redirect(http.StatusMovedPermanently, target.address)
		slash := s.page(hub, fmt.Sprintf("/r/folder-%d", i))
		folder := s.hidden(slash.address+"/", slash)
		slash.answer = redirect(http.StatusMovedPermanently, folder.address)

		away := s.register(hub, fmt.Sprintf("/r/away-%d", i), Expectation{Outcome: Failed, Reason: MovedAway})
		away.answer = redirect(http.StatusFound, fmt.Sprintf("{foreign}/landing/%d", i))
		nowhere := s.register(hub, fmt.Sprintf("/r/nowhere-%d", i), Expectation{Outcome: Failed, Reason: NotFound})
		nowhere.answer = redirect(http.StatusFound, fmt.Sprintf("/r/missing-%d", i))
	}
}

// addChain adds a chain of three redirects, which must be followed, and one of 31, which is too long.
func (s *Site) addChain(hub *page, i int) {
	end := s.page(hub, fmt.Sprintf("/r/end-%d", i))
	start := s.register(hub, fmt.Sprintf("/r/chain-start-%d", i), duplicateOf(end))
	start.answer = redirect(http.StatusFound, fmt.Sprintf("/r/chain-%d-1", i))
	for k := 1; k <= 2; k++ {
		to := end.address
		if k < 2 {
			to = fmt.Sprintf("/r/chain-%d-%d", i, k+1)
		}
		s.hop(fmt.Sprintf("/r/chain-%d-%d", i, k), http.StatusMovedPermanently, to)
	}
	const many = 30
	long := s.register(hub, fmt.Sprintf("/r/long-%d", i), Expectation{Outcome: Failed, Reason: Loop})
	long.answer = redirect(http.StatusFound, fmt.Sprintf("/r/long-%d-1", i))
	for k := 1; k <= many; k++ {
		to := end.address
		if k < many {
			to = fmt.Sprintf("/r/long-%d-%d", i, k+1)
		}
		s.hop(fmt.Sprintf("/r/long-%d-%d", i, k), http.StatusFound, to)
	}
}

func (s *Site) addLoops(hub *page, i int) {
	there, back := fmt.Sprintf("/r/loop-there-%d", i), fmt.Sprintf("/r/loop-back-%d", i)
	e := Expectation{Outcome: Failed, Reason: Loop}
	s.register(hub, there, e).answer = redirect(http.StatusFound, back)
	s.register(hub, back, e).answer = redirect(http.StatusFound, there)
	itself := fmt.Sprintf("/r/loop-%d", i)
	s.register(hub, itself, e).answer = redirect(http.StatusMovedPermanently, itself)
}

// hop adds a redirect that is reachable only through another redirect.
func (s *Site) hop(address string, code int, to string) {
	s.pages[address] = &page{address: address, text: address, answer: redirect(code, to)}
}

// hidden adds an address that serves the same content as the page `of`. It is reachable only through a redirect.
func (s *Site) hidden(address string, of *page) *page {
	p := &page{address: address, text: of.text, lang: of.lang}
	s.pages[address] = p
	return p
}

func duplicateOf(p *page) Expectation {
	return Expectation{Outcome: Skipped, Reason: Duplicate, InFavourOf: p.address}
}
