package crawltest

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
	"time"
)

// Paths to the site's sitemaps. None is a usual location.
const (
	SitemapPath    = "/maps/index.xml"      // all pages, in sitemaps of every kind except feeds
	FeedsPath      = "/maps/feeds.xml"      // the sitemaps at SitemapPath, plus feeds with only the newest pages
	IncompletePath = "/maps/incomplete.xml" // the sitemaps at SitemapPath, plus a truncated sitemap
	CyclePath      = "/maps/cycle.xml"      // lists itself, an index that lists CyclePath, and a page
	FullPath       = "/maps/full.xml"       // FullEntries addresses outside the site
	OverfullPath   = "/maps/overfull.xml"   // ten more addresses than FullPath
	EmptyPath      = "/maps/empty.xml"      // no addresses
)

// FullEntries is the maximum number of addresses in a sitemap.
const FullEntries = 50_000

// kinds holds the file names of the sitemaps that the index at SitemapPath lists. Each sitemap contains some of the
// site's pages.
var kinds = []string{"plain.xml", "packed.xml.gz", "packed-on-the-way.xml", "list.txt", "deeper.xml"}

// Number of entries in a feed.
const newest = 20

type entry struct {
	loc string
	mod time.Time
}

// entries returns the entries in the sitemap kinds[kind].
func (s *Site) entries(kind int) []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []entry
	for i, p := range s.order {
		if p.listed && i%len(kinds) == kind {
			out = append(out, entry{loc: s.absolute(p.address), mod: s.modBase.Add(time.Duration(p.version) * time.Hour)})
		}
	}
	for i, l := range s.left {
		if l.listed && i%len(kinds) == kind {
			out = append(out, entry{loc: s.absolute(l.ref)})
		}
	}
	return out
}

// latest returns the newest pages.
func (s *Site) latest() []entry {
	var out []entry
	for i := range kinds {
		out = append(out, s.entries(i)...)
	}
	return out[max(0, len(out)-newest):]
}

func (s *Site) sitemap(w *statusRecorder, r *http.Request) {
	w.Header().Set("Content-Type", "application/xml")
	name := strings.TrimPrefix(r.URL.Path, "/maps/")
	for i, kind := range kinds {
		if name == kind {
			s.listKind(w, i)
			return
		}
	}
	switch r.URL.Path {
	case SitemapPath:
		s.index(w, indexed()...)
	case FeedsPath:
		s.index(w, append(indexed(), "/maps/news.rss", "/maps/news.atom")...)
	case "/maps/news.rss":
		s.rss(w)
	case "/maps/news.atom":
		s.atom(w)
	case IncompletePath:
		s.index(w, append(indexed(), "/maps/torn.xml")...)
	case "/maps/torn.xml":
		_, _ = io.WriteString(w, "<urlset><url><loc>"+s.At("/")+"</loc></url><url><lo")
	case "/maps/nested.xml":
		s.index(w, "/maps/deeper.xml")
	case CyclePath:
		s.index(w, CyclePath, "/maps/cycle-2.xml", "/maps/one.xml")
	case "/maps/cycle-2.xml":
		s.index(w, CyclePath)
	case "/maps/one.xml":
		_, _ = fmt.Fprintf(w, "<urlset><url><loc>%s</loc></url></urlset>", s.At("/"))
	case FullPath:
		s.full(w, FullEntries)
	case OverfullPath:
		s.full(w, FullEntries+10)
	case EmptyPath:
		_, _ = io.WriteString(w, "<urlset></urlset>")
	default:
		http.NotFound(w, r)
	}
}

func indexed() []string {
	var out []string
	for _, kind := range kinds[:len(kinds)-1] {
		out = append(out, "/maps/"+kind)
	}
	return append(out, "/maps/nested.xml")
}

func (s *Site) index(w io.Writer, paths ...string) {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "<sitemap><loc>%s</loc><lastmod>2026-01-05</lastmod></sitemap>\n", s.At(p))
	}
	b.WriteString("<sitemap><loc>http://crawltest.invalid/sitemap.xml</loc></sitemap>\n</sitemapindex>\n")
	_, _ = io.WriteString(w, b.String())
}

func (s *Site) full(w io.Writer, n int) {
	base := s.At("/full/")
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`+"\n")
	for i := range n {
		_, _ = fmt.Fprintf(w, "<url><loc>%s%d</loc><lastmod>2026-01-05</lastmod><changefreq>weekly</changefreq><priority>0.5</priority></url>\n", base, i)
	}
	_, _ = io.WriteString(w, "</urlset>\n")
}

func (s *Site) listKind(w *statusRecorder, kind int) {
	entries := s.entries(kind)
	switch name := kinds[kind]; {
	case name == "packed.xml.gz":
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = w.Write(Gzip([]byte(urlset(entries, "", time.DateOnly))))
	case name == "packed-on-the-way.xml":
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(Gzip([]byte("\ufeff" + urlset(entries, "", "2006-01-02T15:04Z07:00"))))
	case name == "deeper.xml":
		_, _ = io.WriteString(w, urlset(entries, "sm:", "2006-01-02T15:04:05.000-07:00"))
	case strings.HasSuffix(name, ".txt"):
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		for _, e := range entries {
			_, _ = fmt.Fprintf(w, "%s\r\n", e.loc)
		}
	default:
		_, _ = io.WriteString(w, urlset(entries, "", time.RFC3339))
	}
}

func (s *Site) rss(w io.Writer) {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title><link>%s</link>\n", s.At("/"))
	for _, e := range s.latest() {
		fmt.Fprintf(&b, "<item><title>Item</title><link>%s</link><pubDate>%s</pubDate></item>\n", html.EscapeString(e.loc), e.mod.Format(time.RFC1123Z))
	}
	_, _ = io.WriteString(w, b.String()+"</channel></rss>\n")
}

func (s *Site) atom(w io.Writer) {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?><feed xmlns=\"http://www.w3.org/2005/Atom\"><title>News</title><link rel=\"self\" href=\"/maps/news.atom\"/>\n")
	for _, e := range s.latest() {
		fmt.Fprintf(&b, "<entry><title>Item</title><link href=\"%s\"/><updated>%s</updated></entry>\n", html.EscapeString(e.loc), e.mod.Format(time.RFC3339))
	}
	_, _ = io.WriteString(w, b.String()+"</feed>\n")
}

// urlset returns an XML sitemap whose element names start with `prefix`, which may be empty.
func urlset(entries []entry, prefix, layout string) string {
	var b strings.Builder
	ns := "xmlns"
	if prefix != "" {
		ns += ":" + strings.TrimSuffix(prefix, ":")
	}
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%[1]surlset %[2]s=\"http://www.sitemaps.org/schemas/sitemap/0.9\" "+
		"xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\">\n", prefix, ns)
	for _, e := range entries {
		fmt.Fprintf(&b, "<%[1]surl><%[1]sloc>%[2]s</%[1]sloc>", prefix, html.EscapeString(e.loc))
		if !e.mod.IsZero() {
			fmt.Fprintf(&b, "<%[1]slastmod>%[2]s</%[1]slastmod>", prefix, e.mod.Format(layout))
		}
		fmt.Fprintf(&b, "<image:image><image:loc>http://crawltest.invalid/a.png</image:loc></image:image></%surl>\n", prefix)
	}
	fmt.Fprintf(&b, "</%surlset>\n", prefix)
	return b.String()
}
