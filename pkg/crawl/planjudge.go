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

// Keys of PlanSummary.Reasons.
const (
	kindNoIndex   = "marked noindex"
	kindList      = "a sitemap or a feed"
	kindEmpty     = "has no content"
	kindDuplicate = "has the same content as another page"
	kindCanonical = "names another page as its canonical address"
	kindLead      = "read only for its links"
)

// judge adds a fetched page's links to the plan and decides on the page's outcome.
func (p *plan) judge(it *planned) error {
	r := it.result
	if r.err != nil {
		return p.fail(it)
	}
	it.sketch = r.page.Sketch
	p.addLinks(it)
	switch why := p.patterns.RefusesURL(it.link.URL); {
	case why != "" && p.follow:
		return p.exclude(it, PlanSkipped, "It was read only for its links: "+why+".", kindLead)
	case r.page.IsSitemap:
		return p.exclude(it, PlanSkipped, "It is a sitemap or a feed, not a page.", kindList)
	case r.page.NoIndex:
		return p.exclude(it, PlanSkipped, "It is marked noindex.", kindNoIndex)
	case r.size == 0:
		return p.exclude(it, PlanError, "It is empty.", kindEmpty)
	}
	own := p.canonical(it)
	if own == nil {
		return p.addPage(it)
	}
	switch own.state {
	case planPage:
		if !textid.IsSimilar(it.sketch, own.sketch) {
			return p.addPage(it)
		}
		return p.exclude(it, PlanDuplicate, canonicalNote(own), kindCanonical)
	case planPending, planMoved:
		it.state = planWaits
		own.wait = append(own.wait, it)
		return nil
	default: // the canonical address is not a page, or is itself waiting for another one
		return p.addPage(it)
	}
}

func canonicalNote(own *planned) string { return "Its canonical address is " + own.link.URL + "." }

// fail reports a page that cannot be fetched. If it is the root of a site without sitemaps, the whole plan fails.
func (p *plan) fail(it *planned) error {
	var e *Error
	if !errors.As(it.result.err, &e) {
		return it.result.err // the caller's context is done
	}
	if it.link.Depth == 0 && p.follow {
		return it.result.err
	}
	if errors.Is(e, ErrNoText) {
		return p.exclude(it, PlanSkipped, e.Message, string(scope.RefusedMedia))
	}
	reason := e.Message
	if !e.Permanent {
		reason += " (a crawl retries this)"
	}
	return p.exclude(it, PlanError, reason, errorKind(it.result.err))
}

// addLinks adds a page's links to the plan and records rejected ones.
func (p *plan) addLinks(it *planned) {
	for why, n := range it.result.page.Refused {
		if why != scope.RefusedDepth { // most of these links point to pages that can also be reached by a shorter path
			p.summary.Reasons[string(why)] += n
		}
	}
	p.recordRejected(it.result.refused, it.link.Depth+1, it.link.URL)
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
	p.recordRejected(refused, it.link.Depth+1, it.link.URL)
}

// recordRejected records each rejected address once. It doesn't report them yet, because the same address may still be
// accepted through a link on another page.
func (p *plan) recordRejected(refused []refusedLink, depth int, from string) {
	for _, r := range refused {
		if _, noted := p.left[r.address]; !noted && len(p.left) < maxPlanLeft {
			p.left[r.address] = PlanEntry{URL: r.address, Depth: depth, From: from, Decision: PlanLeftOut, Reason: string(r.why)}
		}
	}
}

// reportRejected reports the rejected addresses except those accepted through another link.
func (p *plan) reportRejected() error {
	for _, address := range slices.Sorted(maps.Keys(p.left)) {
		e := p.left[address]
		if u, err := weburl.Normalise(address); err == nil && p.known[u] != nil {
			continue
		}
		kind := "" // already counted on each linking page
		if e.Reason == string(scope.RefusedDepth) {
			kind = e.Reason
		}
		if err := p.report(e, kind); err != nil {
			return err
		}
	}
	return nil
}

// canonical returns a fetched page's canonical page, or nil if the page is its own canonical page. A new canonical
// address is added to the site at the same depth.
func (p *plan) canonical(it *planned) *planned {
	at := it.result.page.Canonical
	if at == "" || at == it.link.URL || domain.SameAddress(at, p.scope.Root) && !domain.SameAddress(it.link.URL, p.scope.Root) {
		return nil // some sites declare the root as every page's canonical address
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

// addPage adds the address as a page unless a page added earlier has the same content. If two addresses have the same
// content, callers therefore add the better one first. Redirecting pages are set aside, and settle adds them at the
// end.
func (p *plan) addPage(it *planned) error {
	if it.state != planMoved && it.address().FinalURL != "" {
		it.state = planMoved
		it.result.page.Links, it.result.refused = nil, nil // addLinks has already used them
		p.moved = append(p.moved, it)
		return nil
	}
	r := it.result
	if other := p.pagesByHash[r.hash]; other != "" {
		return p.exclude(it, PlanDuplicate, "It has the same content as "+other+".", kindDuplicate)
	}
	p.pagesByHash[r.hash] = it.link.URL
	it.state = planPage
	e := it.entry(PlanPage)
	if r.page.URL != it.link.URL {
		e.Reason = "It redirects to " + r.page.URL + "."
	}
	if err := p.report(e, ""); err != nil {
		return err
	}
	return p.resume(it)
}

// settle adds the redirecting pages, better addresses first. They come last, so that any other page with the same
// content wins. When a page is added, pages that waited for it are judged too, and some of those may redirect. settle
// therefore repeats until no redirecting page is left.
func (p *plan) settle() error {
	for len(p.moved) > 0 {
		moved := p.moved
		p.moved = nil
		slices.SortStableFunc(moved, func(a, b *planned) int {
			switch {
			case a.address().IsBetterThan(b.address()):
				return -1
			case b.address().IsBetterThan(a.address()):
				return 1
			default:
				return 0
			}
		})
		for _, it := range moved {
			if err := p.addPage(it); err != nil {
				return err
			}
		}
	}
	return nil
}

// address returns the page's address in the form the catalog uses to choose between pages with the same content.
func (it *planned) address() domain.DatasourceConfig {
	c := domain.DatasourceConfig{SourceURL: it.link.URL, Depth: it.link.Depth}
	c.SetFinalURL(it.result.page.URL)
	return c
}

// exclude records that the address is not a page.
func (p *plan) exclude(it *planned, d Decision, reason, kind string) error {
	it.state = planExcluded
	e := it.entry(d)
	e.Reason = reason
	if err := p.report(e, kind); err != nil {
		return err
	}
	return p.resume(it)
}

// resume judges the pages that were waiting for this page.
func (p *plan) resume(it *planned) error {
	waiting := it.wait
	it.wait, it.result = nil, planResult{} // no longer needed
	for _, w := range waiting {
		var err error
		if it.state == planPage && textid.IsSimilar(it.sketch, w.sketch) {
			err = p.exclude(w, PlanDuplicate, canonicalNote(it), kindCanonical)
		} else {
			err = p.addPage(w)
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

// report counts an entry and passes it to the caller.
func (p *plan) report(e PlanEntry, kind string) error {
	p.summary.Decisions[e.Decision]++
	if e.Decision == PlanPage && !strings.HasPrefix(e.MIMEType, "text/html") && !strings.HasPrefix(e.MIMEType, "application/xhtml+xml") {
		p.summary.Documents++
	}
	if kind != "" {
		p.summary.Reasons[kind]++
	}
	if err := p.emit(e); err != nil {
		return fmt.Errorf("passing on %s: %w", e.URL, err)
	}
	return nil
}

// digest returns a body's hash and length.
func digest(b *Body) (sum string, size int64, err error) {
	h := sha256.New()
	if size, err = io.Copy(h, b); err != nil {
		return "", 0, fmt.Errorf("reading the stored body: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}
