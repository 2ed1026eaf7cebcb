package html

import (
	"cmp"
	"net/url"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// pageFacts is a page's metadata.
type pageFacts struct {
	named  map[string]string // content of the first meta element of each name, property, http-equiv or itemprop, keyed by the lower-case name
	all    map[string][]string
	props  map[string][]string // the page's microdata by itemprop
	title  string              // the title element's text
	h1     []string
	banner string // heading in the site's banner
	link   string // canonical address
	lang   string
	types  map[string]bool // schema.org types in JSON-LD and microdata, without the vocabulary's URL
	ld     linkedData
}

// maxFacts limits the number of values per kind of metadata, because a page can repeat an attribute endlessly.
const maxFacts = 50

func (p *reader) pageFacts(doc *html.Node) *pageFacts {
	f := &pageFacts{named: map[string]string{}, all: map[string][]string{}, props: map[string][]string{}, types: map[string]bool{}}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Namespace != "" {
			continue
		}
		switch n.DataAtom {
		case atom.Html:
			f.lang = attr(n, "lang")
			if f.lang == "" {
				f.lang = attr(n, "xml:lang")
			}
		case atom.Title:
			if f.title == "" {
				f.title = format.OneLine(nodeText(n))
			}
		case atom.H1:
			if inBanner(n) {
				f.banner = headingText(n)
			} else if len(f.h1) < maxFacts {
				f.h1 = append(f.h1, headingText(n))
			}
		case atom.Meta:
			f.meta(n)
		case atom.Link:
			if f.link == "" && strings.EqualFold(attr(n, "rel"), "canonical") {
				f.link = strings.TrimSpace(attr(n, "href"))
			}
		case atom.Script:
			if strings.HasPrefix(strings.ToLower(attr(n, "type")), "application/ld+json") && n.FirstChild != nil {
				f.ld.read(n.FirstChild.Data)
			}
		}
		f.microdata(n)
	}
	for t := range f.ld.types {
		f.types[t] = true
	}
	return f
}

// inBanner reports whether a heading is in the site-wide banner.
func inBanner(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if attr(n, "role") == "banner" {
			return true
		}
	}
	return false
}

func headingText(n *html.Node) string { return (&walker{}).inline(n) }

func (f *pageFacts) meta(n *html.Node) {
	content := format.OneLine(html.UnescapeString(attr(n, "content"))) // often double-escaped
	if content == "" {
		return
	}
	for _, key := range []string{"name", "property", "http-equiv", "itemprop"} {
		k := strings.ToLower(strings.TrimSpace(attr(n, key)))
		if k == "" || len(f.all) > 500 {
			continue
		}
		if _, said := f.named[k]; !said {
			f.named[k] = content
		}
		if len(f.all[k]) < maxFacts {
			f.all[k] = append(f.all[k], content)
		}
	}
}

// microdata records the schema.org attributes of the page itself, not of people and things mentioned on it.
func (f *pageFacts) microdata(n *html.Node) {
	if t := attr(n, "itemtype"); t != "" && len(f.types) < maxFacts {
		f.types[t[strings.LastIndexByte(t, '/')+1:]] = true
	}
	prop := attr(n, "itemprop")
	switch prop {
	case "datePublished", "dateModified", "author", "dateCreated":
	default:
		return
	}
	if len(f.props[prop]) >= maxFacts {
		return
	}
	value := attr(n, "content")
	if value == "" {
		value = attr(n, "datetime")
	}
	if value == "" {
		value = nodeText(n)
		for c := range n.Descendants() {
			if attr(c, "itemprop") == "name" {
				if value = attr(c, "content"); value == "" {
					value = nodeText(c)
				}
				break
			}
		}
	}
	f.props[prop] = append(f.props[prop], value)
}

// first returns the value of the first name in `names` for which the page has a meta element.
func (f *pageFacts) first(names ...string) string {
	for _, n := range names {
		if v := f.named[n]; v != "" {
			return v
		}
	}
	return ""
}

// pageMetadata records the page's metadata in the document.
func (p *reader) pageMetadata(f *pageFacts) {
	p.Doc.Language = languageTag(f.lang)
	if p.Doc.Language == "" {
		p.Doc.Language = languageTag(f.first("content-language", "og:locale", "dc.language", "language"))
	}
	if p.Doc.Language == "" {
		p.Doc.Language = languageTag(f.ld.language)
	}
	base, err := url.Parse(p.Src.URL)
	if err != nil {
		base = &url.URL{}
	}
	site := f.first("og:site_name", "application-name", "apple-mobile-web-app-title")
	if site == "" {
		site = f.ld.site
	}
	p.Doc.Title = pageTitle(f, cmp.Or(site, f.banner), base.Hostname())
	canonical := f.link
	if canonical == "" {
		canonical = f.first("og:url")
	}
	if u, err := base.Parse(canonical); err == nil && canonical != "" && (u.Scheme == "http" || u.Scheme == "https") {
		p.Meta(domain.MetaURL, u.String())
	}
	p.Meta(domain.MetaSite, site)
	p.Meta(domain.MetaAuthor, pageAuthors(f))
	p.Meta(domain.MetaDescription, f.first("description", "og:description", "twitter:description", "dc.description"))
	p.Meta(domain.MetaDescription, f.ld.description)
	p.pageDates(f)
	keywords := append(f.all["article:tag"], strings.FieldsFunc(f.first("keywords", "news_keywords", "dc.subject"), func(r rune) bool {
		return r == ',' || r == ';' || r == '、' || r == '，' || r == '،'
	})...)
	p.Meta(domain.MetaKeywords, joinDistinct(append(keywords, f.ld.keywords...)))
}

// pageDates records when the page was published and last changed, trying the most reliable sources first.
func (p *reader) pageDates(f *pageFacts) {
	note := func(key string, values ...string) {
		for _, v := range values {
			if d := dateText(v); d != "" {
				p.Meta(key, d)
				return
			}
		}
	}
	one := func(prop string) string { // several values belong to posts and comments, not the page
		if v := f.props[prop]; len(v) == 1 {
			return v[0]
		}
		return ""
	}
	note(domain.MetaCreated, f.first("article:published_time", "og:article:published_time"), f.ld.published, f.named["datepublished"],
		one("datePublished"), one("dateCreated"), f.first("dc.date.issued", "dcterms.created", "dcterms.issued", "dc.date.created", "date",
			"dc.date", "pubdate", "publishdate", "publish-date", "publish_date", "parsely-pub-date", "sailthru.date", "citation_publication_date"))
	note(domain.MetaModified, f.first("article:modified_time", "og:updated_time", "og:article:modified_time"), f.ld.modified, f.named["datemodified"],
		one("dateModified"), f.first("dcterms.modified", "dc.date.modified", "last-modified", "lastmod", "revised"))
}

// dateText formats s as RFC 3339 or, if it has no time, as just a date. It returns "" if s is not a date.
func dateText(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 64 {
		return ""
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
		"2006-01-02 15:04:05 MST", time.RFC1123, time.RFC1123Z,
	} {
		// Parse in UTC, because the meaning of other zone names would depend on the machine's location.
		t, err := time.ParseInLocation(layout, s, time.UTC)
		if err != nil || !isPlausibleDate(t) {
			continue
		}
		if zone, offset := t.Zone(); offset == 0 && zone != "" && zone != "UTC" && zone != "GMT" {
			return t.Format(time.DateOnly)
		}
		return t.Format(time.RFC3339)
	}
	for _, layout := range []string{
		"2006-01-02", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006/01/02", "2006/1/2", "20060102",
		"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "Monday, January 2, 2006",
	} {
		if t, err := time.Parse(layout, s); err == nil && isPlausibleDate(t) {
			return t.Format(time.DateOnly)
		}
	}
	return ""
}

func isPlausibleDate(t time.Time) bool { return t.Year() > 1000 && t.Year() < 2200 }

// languageTag normalises a page's language tag. It returns "" if s is not a tag.
func languageTag(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), ",")
	s = strings.ReplaceAll(strings.TrimSpace(s), "_", "-")
	if len(s) < 2 || len(s) > 35 || strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}) {
		return ""
	}
	return s
}

// pageAuthors returns the names of the page's authors, ignoring profile addresses.
func pageAuthors(f *pageFacts) string {
	var names []string
	add := func(values ...string) {
		for _, v := range values {
			v = format.OneLine(v)
			if by, rest, ok := strings.Cut(v, " "); ok && strings.EqualFold(by, "by") {
				v = rest
			}
			if v != "" && !strings.Contains(v, "://") && len(v) <= 100 {
				names = append(names, v)
			}
		}
	}
	for _, source := range [][]string{f.ld.authors, f.all["author"], f.all["article:author"], f.all["dc.creator"], f.all["citation_author"], f.all["parsely-author"], f.all["byl"]} {
		if add(source...); len(names) > 0 {
			return joinDistinct(names)
		}
	}
	if len(f.props["author"]) == 1 {
		add(f.props["author"]...)
	}
	return joinDistinct(names)
}

// joinDistinct joins the distinct values with "; ".
func joinDistinct(values []string) string {
	var kept []string
	seen := map[string]bool{}
	for _, v := range values {
		v = format.OneLine(v)
		if k := strings.ToLower(v); v != "" && !seen[k] {
			seen[k] = true
			kept = append(kept, v)
		}
	}
	return strings.Join(kept, "; ")
}

// titleSeparators separate a page's title from its site's name.
var titleSeparators = []string{" | ", " — ", " – ", " - ", " · ", " • ", " :: ", " » ", " « ", " / ", "｜", " ‹ ", " › "}

// pageTitle returns the page's title without its site's name.
func pageTitle(f *pageFacts, site, host string) string {
	h1 := ""
	for _, h := range f.h1 {
		if h != "" {
			if h1 != "" && h != h1 {
				h1 = "" // with several, none is the page's title
				break
			}
			h1 = h
		}
	}
	for _, t := range []string{f.first("og:title"), f.title, f.first("twitter:title", "dc.title"), f.ld.headline} {
		if t = withoutSite(t, h1, site, host); t != "" {
			return t
		}
	}
	if h1 != "" {
		return h1
	}
	return site
}

// withoutSite removes the site's name from a title. If the main heading h1 is one part of the title, it returns just
// that part. Otherwise it drops the first or last part if that part is the site's name. `site` is the name that the
// page declares, and `host` is the host in its URL.
func withoutSite(title, h1, site, host string) string {
	title = format.OneLine(title)
	if title == "" || strings.EqualFold(title, h1) {
		return title
	}
	for _, sep := range titleSeparators {
		parts := strings.Split(title, sep)
		if len(parts) < 2 {
			continue
		}
		if h1 != "" && strings.Contains(sep+title+sep, sep+h1+sep) && !namesSite(h1, site, host) {
			return h1
		}
		last := parts[len(parts)-1]
		if namesSite(last, site, host) {
			return format.OneLine(strings.Join(parts[:len(parts)-1], sep))
		}
		if namesSite(parts[0], site, host) {
			return format.OneLine(strings.Join(parts[1:], sep))
		}
	}
	return title
}

// namesSite reports whether part of a title is the site's name.
func namesSite(part, site, host string) bool {
	part, site = lettersOf(part), lettersOf(site)
	if part == "" {
		return false
	}
	if part == site || len(site) > 3 && strings.HasPrefix(part, site) {
		return true
	}
	labels := strings.Split(strings.TrimPrefix(host, "www."), ".")
	for _, l := range labels[:max(0, len(labels)-1)] {
		if l = lettersOf(l); len(l) > 3 && (l == part || strings.HasPrefix(part, l) && len(part) <= 2*len(l)) {
			return true
		}
	}
	return part == lettersOf(host)
}

// lettersOf returns the letters and digits in a name, in lower case.
func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
