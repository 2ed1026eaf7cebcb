package crawltest

// Way is how a crawl comes to know the pages of the site.
type Way string

// The ways.
const (
	ByLinks   Way = "links"   // from the root on
	BySitemap Way = "sitemap" // as SitemapPath lists them
)

// Outcome is how an address must end.
type Outcome string

// The outcomes.
const (
	Synched Outcome = "synched"  // a page with content, once
	Skipped Outcome = "skipped"  // fetched, and left out on purpose
	Failed  Outcome = "error"    // could not be had
	LeftOut Outcome = "left out" // no page of the site, and never asked for
	Removed Outcome = "removed"  // was a page, and is none any more; gone, or error where something still links to it
)

// Reason is why an address does not end as a page.
type Reason string

// The reasons.
const (
	NoIndex      Reason = "asks not to be indexed"
	Duplicate    Reason = "repeats another page"
	Canonical    Reason = "names another page as its canonical address"
	SitemapPage  Reason = "is a sitemap or a feed"
	NotFound     Reason = "404 or 410"
	Forbidden    Reason = "401 or 403"
	ServerError  Reason = "5xx for good"
	Broken       Reason = "the connection breaks off for good"
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

// Expectation is how an address must end.
type Expectation struct {
	Outcome    Outcome
	Reason     Reason // empty of Synched
	InFavourOf string // of Skipped: the address of the page that stays
	Token      string // of Synched: a word that stands in this page's text and in no other page's
	Sentence   string // of Synched: a sentence of its text, with letters that a wrong charset spoils
	Depth      int    // the least number of links from the root
}

// leftOut is a link that must not be followed, as it is written.
type leftOut struct {
	ref    string
	reason Reason
	listed bool // in the sitemap too
}

// Expected returns how each address must end that the site shows on the given way, by its absolute address: the pages
// and errors as the crawler spells them, those left out as they are written. It holds for a crawl with MaxDepth and Exclude,
// of the site as it is now.
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

// Pages returns the addresses that must end as pages on the given way, each with the word that its text has alone.
func (s *Site) Pages(way Way) map[string]string {
	out := make(map[string]string)
	for u, e := range s.Expected(way) {
		if e.Outcome == Synched {
			out[u] = e.Token
		}
	}
	return out
}
