package crawltest

import (
	"fmt"
	"strings"
	"time"
)

// addDirectives adds pages that forbid indexing or following their links, and pages disallowed by robots.txt.
func (s *Site) addDirectives(lab *page) {
	hub := s.page(lab, "/lab/directives/")
	robotsMeta := func(content string) string { return fmt.Sprintf("<meta name=\"robots\" content=%q>\n", content) }
	noIndex := Expectation{Outcome: Skipped, Reason: NoIndex}
	for i := range s.casesPerKind() {
		meta := s.register(hub, fmt.Sprintf("/n/noindex-meta-%d", i), noIndex)
		meta.head = robotsMeta("NOINDEX, follow")
		s.page(meta, fmt.Sprintf("/n/behind-noindex-%d", i))
		s.register(hub, fmt.Sprintf("/n/noindex-header-%d", i), noIndex).header = map[string]string{"X-Robots-Tag": "noindex"}
		s.register(hub, fmt.Sprintf("/n/noindex-for-sluice-%d", i), noIndex).header = map[string]string{"X-Robots-Tag": "sluicebot: noindex"}
		s.page(hub, fmt.Sprintf("/n/noindex-for-others-%d", i)).header = map[string]string{"X-Robots-Tag": "otherbot: noindex"}

		none := s.register(hub, fmt.Sprintf("/n/none-%d", i), noIndex)
		none.head = robotsMeta("none")
		s.refuse(none, fmt.Sprintf("/n/behind-none-%d", i), NoFollow)
		byMeta := s.page(hub, fmt.Sprintf("/n/nofollow-meta-%d", i))
		byMeta.head = robotsMeta("nofollow")
		s.refuse(byMeta, fmt.Sprintf("/n/behind-nofollow-meta-%d", i), NoFollow)
		byHeader := s.page(hub, fmt.Sprintf("/n/nofollow-header-%d", i))
		byHeader.header = map[string]string{"X-Robots-Tag": "nofollow"}
		s.refuse(byHeader, fmt.Sprintf("/n/behind-nofollow-header-%d", i), NoFollow)
		s.refuse(hub, fmt.Sprintf("/n/rel-nofollow-%d", i), NoFollow)
		hub.links[len(hub.links)-1].rel = "external nofollow"

		forbidden := Expectation{Outcome: Failed, Reason: Robots}
		s.register(hub, fmt.Sprintf("/private/%d.html", i), forbidden)
		s.register(hub, fmt.Sprintf("/n/minutes-%d.secret", i), forbidden)
		s.page(hub, fmt.Sprintf("/private/open/%d.html", i))
		s.refuse(hub, fmt.Sprintf("/excluded/%d.html", i), Excluded)
		s.refuse(hub, fmt.Sprintf("/n/%d.draft.html", i), Excluded)
	}
}

// robots responds with the site's robots.txt.
func (s *Site) robots(w *statusRecorder) {
	var b strings.Builder
	b.WriteString("# Who reads this is welcome.\nUser-agent: otherbot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\nAllow: /private/open/\nDisallow: /*.secret$\n")
	if d := s.opts.CrawlDelay; d > 0 {
		fmt.Fprintf(&b, "Crawl-delay: %g\n", float64(d)/float64(time.Second))
	}
	if s.opts.Announce {
		fmt.Fprintf(&b, "\nSitemap: %s\n", s.At(SitemapPath))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(b.String()))
}
