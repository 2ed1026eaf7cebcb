package crawl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/textid"
)

// Kinds of reasons, for counting.
const (
	kindNoIndex   = "asks not to be indexed"
	kindList      = "is a list of pages, not a page"
	kindEmpty     = "has no content"
	kindSame      = "has the same content as another page"
	kindCanonical = "names another page as its own address"
	kindLead      = "is read for its links alone"
)

// judge decides about a page that has been fetched, after taking its links.
func (p *plan) judge(it *planned) error {
	r := it.result
	if r.err != nil {
		return p.fail(it)
	}
	it.sketch = r.page.Sketch
	p.takeLinks(it)
	switch why := p.patterns.RefusesURL(it.link.URL); {
	case why != "" && p.follow:
		return p.drop(it, PlanSkipped, "It is read for its links alone: "+why+".", kindLead)
	case r.page.IsSitemap:
		return p.drop(it, PlanSkipped, "It is a sitemap or a feed, not a page.", kindList)
	case r.page.NoIndex:
		return p.drop(it, PlanSkipped, "It asks not to be indexed (noindex).", kindNoIndex)
	case r.size == 0:
		return p.drop(it, PlanError, "It is empty.", kindEmpty)
	}
	own := p.canonical(it)
	if own == nil {
		return p.keep(it)
	}
	switch own.state {
	case planAlive:
		if !textid.Alike(it.sketch, own.sketch) {
			return p.keep(it)
		}
		return p.drop(it, PlanDuplicate, itSaysItIs(own), kindCanonical)
	case planAwaited, planMoved:
		it.state = planWaits
		own.wait = append(own.wait, it)
		return nil
	default: // it is no page, or is one only if this is none
		return p.keep(it)
	}
}

func itSaysItIs(own *planned) string { return "It says that its address is " + own.link.URL + "." }

// fail tells of a page that could not be had. Without the root there is no site.
func (p *plan) fail(it *planned) error {
	var e *Error
	if !errors.As(it.result.err, &e) {
		return it.result.err // the caller's own end
	}
	if it.link.Depth == 0 && p.follow {
		return it.result.err
	}
	if errors.Is(e, ErrNoText) {
		return p.drop(it, PlanSkipped, e.Message, string(scope.RefusedMedia))
	}
	reason := e.Message
	if !e.Permanent {
		reason += " (a crawl tries again)"
	}
	return p.drop(it, PlanError, reason, errorKind(it.result.err))
}

// takeLinks adds what the page links to, and notes what is not taken.
func (p *plan) takeLinks(it *planned) {
	for why, n := range it.result.page.Refused {
		if why != scope.RefusedDepth { // most of these are links to pages that are known by shorter ways
			p.summary.Reasons[string(why)] += n
		}
	}
	p.leaveOut(it.result.refused, it.link.Depth+1, it.link.URL)
	var refused []refusedLink
	for _, l := range it.result.page.Links {
		why, lead := p.patterns.RefusesURL(l.URL), 0
		if why == domain.LeftNotIncluded {
			if lead = it.lead + 1; lead <= domain.MaxLead && l.Depth < p.scope.MaxDepth && p.leads < domain.MaxLeads {
				why = ""
			}
		}
		if why != "" {
			p.summary.Reasons[why]++
			refused = append(refused, refusedLink{l.URL, scope.Refusal(why)})
			continue
		}
		p.add(l, it.link.URL, lead)
	}
	p.leaveOut(refused, it.link.Depth+1, it.link.URL)
}

// leaveOut notes addresses that are not taken from a page, each once. Another page may yet lead to them.
func (p *plan) leaveOut(refused []refusedLink, depth int, from string) {
	for _, r := range refused {
		if _, noted := p.left[r.address]; !noted && len(p.left) < maxPlanLeft {
			p.left[r.address] = PlanEntry{URL: r.address, Depth: depth, From: from, Decision: PlanLeftOut, Reason: string(r.why)}
		}
	}
}

// tellLeft tells of the addresses that no page has led to after all.
func (p *plan) tellLeft() error {
	for _, address := range slices.Sorted(maps.Keys(p.left)) {
		e := p.left[address]
		if u, err := weburl.Normalise(address); err == nil && p.known[u] != nil {
			continue
		}
		kind := "" // it has been counted on each page
		if e.Reason == string(scope.RefusedDepth) {
			kind = e.Reason
		}
		if err := p.tell(e, kind); err != nil {
			return err
		}
	}
	return nil
}

// canonical is the page that the fetched one says it is; nil when it may stay itself. One that is not known yet becomes an
// address of the site, at the same depth.
func (p *plan) canonical(it *planned) *planned {
	at := it.result.page.Canonical
	if at == "" || at == it.link.URL || domain.SameSpelling(at, p.scope.Root) && !domain.SameSpelling(it.link.URL, p.scope.Root) {
		return nil // careless sites name their root on every page
	}
	if p.known[at] == nil {
		p.add(domain.Link{URL: at, Depth: it.link.Depth}, it.link.URL, 0)
		if own := p.known[at]; own != nil {
			p.next = p.next[:len(p.next)-1]
			p.level = append(p.level, own)
		}
	}
	return p.known[at]
}

// keep makes a page of the address, unless one has its content already: that came first, and so has the better address. It
// takes its time with what leads elsewhere: see settle.
func (p *plan) keep(it *planned) error {
	if it.state != planMoved && it.address().FinalURL != "" {
		it.state = planMoved
		it.result.page.Links, it.result.refused = nil, nil // they have been taken
		p.moved = append(p.moved, it)
		return nil
	}
	r := it.result
	if other := p.kept[r.hash]; other != "" {
		return p.drop(it, PlanDuplicate, "It has the same content as "+other+".", kindSame)
	}
	p.kept[r.hash] = it.link.URL
	it.state = planAlive
	e := it.entry(PlanPage)
	if r.page.URL != it.link.URL {
		e.Reason = "It leads to " + r.page.URL + "."
	}
	if err := p.tell(e, ""); err != nil {
		return err
	}
	return p.resume(it)
}

// settle decides about what leads elsewhere, when all that could have its content has been judged. Those that waited for
// it may lead elsewhere too.
func (p *plan) settle() error {
	for len(p.moved) > 0 {
		moved := p.moved
		p.moved = nil
		slices.SortStableFunc(moved, func(a, b *planned) int {
			switch {
			case a.address().Better(b.address()):
				return -1
			case b.address().Better(a.address()):
				return 1
			default:
				return 0
			}
		})
		for _, it := range moved {
			if err := p.keep(it); err != nil {
				return err
			}
		}
	}
	return nil
}

// address is the page as the catalog compares pages of the same content.
func (it *planned) address() domain.DatasourceConfig {
	c := domain.DatasourceConfig{SourceURL: it.link.URL, Depth: it.link.Depth}
	c.EndAt(it.result.page.URL)
	return c
}

// drop makes no page of the address.
func (p *plan) drop(it *planned, d Decision, reason, kind string) error {
	it.state = planOut
	e := it.entry(d)
	e.Reason = reason
	if err := p.tell(e, kind); err != nil {
		return err
	}
	return p.resume(it)
}

// resume goes on with pages that have waited for what becomes of this one.
func (p *plan) resume(it *planned) error {
	waiting := it.wait
	it.wait, it.result = nil, planResult{} // nothing more is asked of it
	for _, w := range waiting {
		var err error
		if it.state == planAlive && textid.Alike(it.sketch, w.sketch) {
			err = p.drop(w, PlanDuplicate, itSaysItIs(it), kindCanonical)
		} else {
			err = p.keep(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (it *planned) entry(d Decision) PlanEntry {
	r := it.result
	return PlanEntry{
		URL: it.link.URL, Depth: it.link.Depth, From: it.from, Decision: d, Title: r.page.Title, MIMEType: r.page.MIMEType, Bytes: r.size,
		LastMod: it.link.LastMod,
	}
}

// tell hands an entry to the caller and counts it.
func (p *plan) tell(e PlanEntry, kind string) error {
	p.summary.Decisions[e.Decision]++
	if e.Decision == PlanPage && !strings.HasPrefix(e.MIMEType, "text/html") && !strings.HasPrefix(e.MIMEType, "application/xhtml+xml") {
		p.summary.Documents++
	}
	if kind != "" {
		p.summary.Reasons[kind]++
	}
	if err := p.emit(e); err != nil {
		return fmt.Errorf("handing on %s: %w", e.URL, err)
	}
	return nil
}

// digest is the hash and the length of a body.
func digest(b *Body) (sum string, size int64, err error) {
	h := sha256.New()
	if size, err = io.Copy(h, b); err != nil {
		return "", 0, fmt.Errorf("reading the kept body: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}
