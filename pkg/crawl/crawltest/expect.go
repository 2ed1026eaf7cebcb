package crawltest

// Way says how a crawl finds the site's pages.
type Way string

// Ways to find pages.
const (
	ByLinks   Way = "links"   // starting at the root
	BySitemap Way = "sitemap" // from the sitemap at SitemapPath
)

// Outcome is an address's final state.
type Outcome string

// Final states of an address.
const (
	Synched Outcome = "synched"  // a page with content, stored once
	Skipped Outcome = "skipped"  // fetched and skipped on purpose
	Failed  Outcome = "error"    // not available
	LeftOut Outcome = "left out" // not one of the site's pages; never requested
	Removed Outcome = "removed"  // a former page: deleted, or in the state error if a page still links to it
)

// Reason says why an address is not stored as a page.
type Reason string

// Reasons for not storing an address.
const (
	NoIndex      Reason = "asks not to be indexed"
	Duplicate    Reason = "repeats another page"
	Canonical    Reason = "names another page as its canonical address"
	SitemapPage  Reason = "is a sitemap or a feed"
	NotFound     Reason = "404 or 410"
	Forbidden    Reason = "401 or 403"
	ServerError  Reason = "5xx for good"
	Broken       Reason = "the connection always breaks"
	Loop         Reason = "redirects without end"
	MovedAway    Reason = "redirects to another host"
	TooLarge     Reason = "larger than allowed"
	WrongType    Reason = "holds no text"
	Empty        Reason = "has no content"
	NeedsScripts Reason = "is built by scripts"
	Robots       Reason = "robots.txt"
	OtherHost    Reason = "another host"
	NoAddress    Reason = "not a web address"
	Trap         Reason = "a trap"
	TooDeep      Reason = "too many links away"
	Media        Reason = "a file without text"
	Spelling     Reason = "another spelling of a page"
	NoFollow     Reason = "linked only where following is not wanted"
	Excluded     Reason = "excluded"
	Unlisted     Reason = "no longer in the sitemap"
)

// Expectation is the expected result for an address.
type Expectation struct {
	Outcome    Outcome
	Reason     Reason // empty for Synched
	InFavourOf string // for Skipped: address of the page that is kept
	Token      string // for Synched: a word that is on no other page
	Sentence   string // for Synched: a sentence from the page with letters that a wrong charset corrupts
	Depth      int    // minimum number of links from the root
}

// leftOut is a link that the crawler must not follow. `ref` is the link as written on the page.
type leftOut struct {
	ref    string
	reason Reason
	listed bool // the sitemap lists it too
}

// Expected returns the expected result for each address that a crawl encounters when it finds pages in the given way.
// Addresses of pages and errors are absolute and spelled as the crawler spells them. Addresses that must not be
// followed are spelled as in the link. The result holds for the site's current state and a crawl limited by s.MaxDepth
// and s.Exclude.
func (s *Site) Expected(way Way) map[string]Expectation {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]Expectation, len(s.order)+len(s.left))
	for _, l := range s.left {
		if way == ByLinks || l.listed {
			out[s.absolute(l.ref)] = Expectation{Outcome: LeftOut, Reason: l.reason}
		}
	}
	for _, p := range s.order {
		if way == ByLinks && !p.linked || way == BySitemap && !p.listed && !p.named && !p.off {
			continue
		}
		e := p.expect
		if way == BySitemap && p.off {
			e = Expectation{Outcome: Removed, Reason: Unlisted}
		}
		if e.InFavourOf != "" {
			e.InFavourOf = s.absolute(e.InFavourOf)
		}
		if e.Outcome == Synched {
			e.Token, e.Sentence = s.token(p), s.sentence(p)
		}
		e.Depth = p.depth
		if way == BySitemap {
			e.Depth = 0
		}
		out[s.absolute(p.address)] = e
	}
	return out
}

// Pages returns the addresses that must be stored as pages, each with a word that occurs only on that page.
func (s *Site) Pages(way Way) map[string]string {
	out := make(map[string]string)
	for u, e := range s.Expected(way) {
		if e.Outcome == Synched {
			out[u] = e.Token
		}
	}
	return out
}
