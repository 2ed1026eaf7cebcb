package sitemap

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"io"
	"slices"
	"strings"
)

const (
	maxXMLDepth = 50
	maxXMLToken = 64 << 10
)

// dialect says where to find the addresses in an XML sitemap. Names are local names in lower case, because prefixes and
// capitalisation vary.
type dialect struct {
	item     []string // path, below the root, to the elements with one address each
	loc      string   // child element with the address
	attr     bool     // the address is in the href attribute instead of the text
	dates    []string // child elements with the last change, best first
	protocol bool     // sitemaps.org protocol: an item is a page or, if its element is "sitemap", another sitemap
	feed     bool
}

var dialects = map[string]dialect{
	"urlset":       {item: []string{"url"}, loc: "loc", dates: []string{"lastmod"}, protocol: true},
	"sitemapindex": {item: []string{"sitemap"}, loc: "loc", dates: []string{"lastmod"}, protocol: true},
	"rss":          {item: []string{"channel", "item"}, loc: "link", dates: []string{"pubdate", "date"}, feed: true},
	"rdf":          {item: []string{"item"}, loc: "link", dates: []string{"date"}, feed: true},
	"feed":         {item: []string{"entry"}, loc: "link", attr: true, dates: []string{"updated", "published"}, feed: true},
}

// readXML parses a UTF-8 XML sitemap as a stream. If `take` is nil, it checks only the root element. It does not expand
// entities declared in the document.
func readXML(r io.Reader, take func(Entry) error) error {
	bound := &tokenLimiter{r: r}
	dec := xml.NewDecoder(bufio.NewReader(bound))
	dec.Strict = false // many sitemaps contain addresses with a bare "&"
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	d, err := rootDialect(dec)
	if err != nil || take == nil {
		return err
	}
	d.item = slices.Clone(d.item)
	x := xmlReader{dialect: d, take: take}
	for {
		bound.taken = 0
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the sitemap: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			err = x.start(t)
		case xml.CharData:
			if x.into != nil && len(*x.into) <= weburl.MaxBytes {
				*x.into = append(*x.into, t...)
			}
		case xml.EndElement:
			if len(x.path) == 0 {
				return nil // end of the root element
			}
			err = x.end()
		}
		if err != nil {
			return err
		}
	}
}

// rootDialect reads up to the root element and returns the dialect.
func rootDialect(dec *xml.Decoder) (dialect, error) {
	for {
		tok, err := dec.Token()
		if err != nil {
			return dialect{}, ErrNotSitemap
		}
		if t, ok := tok.(xml.StartElement); ok {
			d, ok := dialects[strings.ToLower(t.Name.Local)]
			if !ok {
				return dialect{}, ErrNotSitemap
			}
			return d, nil
		}
	}
}

// xmlReader is the state of readXML: its position and the current item's data. All items reuse its buffers.
type xmlReader struct {
	dialect
	take func(Entry) error

	path        []string // local names, below the root
	space       string   // the item's name space; elements in other name spaces may contain image addresses
	into        *[]byte  // where text goes; nil to discard it
	address     []byte   // the address
	guid        []byte   // an RSS item's guid, used if the address is missing
	lastMod     []byte   // time of the last change
	other       []string // addresses of translations
	lastModRank int      // index in `dates` of the element that set `lastMod`
}

func (x *xmlReader) start(t xml.StartElement) error {
	if x.path = append(x.path, strings.ToLower(t.Name.Local)); len(x.path) > maxXMLDepth {
		return fmt.Errorf("reading the sitemap: elements are nested more than %d levels deep", maxXMLDepth)
	}
	x.into = nil
	name, above := x.path[len(x.path)-1], x.path[:len(x.path)-1]
	if x.protocol && len(above) == 0 && (name == "url" || name == "sitemap") {
		x.item[0] = name // some files contain both url and sitemap elements
	}
	switch {
	case slices.Equal(x.path, x.item):
		x.space, x.address, x.guid, x.lastMod, x.lastModRank = t.Name.Space, x.address[:0], x.guid[:0], x.lastMod[:0], len(x.dates)
		x.other = x.other[:0]
	case !slices.Equal(above, x.item):
	case name == x.loc && t.Name.Space == x.space && len(x.address) == 0:
		if x.attr {
			x.address = append(x.address, atomHref(t)...)
		} else {
			x.into = &x.address
		}
	case name == "link" && x.item[0] == "url":
		if href := translation(t); href != "" && len(x.other) < maxTranslations {
			x.other = append(x.other, href)
		}
	case name == "guid" && x.feed && isPermanentLink(t):
		x.into = &x.guid
	default:
		if i := slices.Index(x.dates, name); i >= 0 && i < x.lastModRank {
			x.lastModRank, x.lastMod = i, x.lastMod[:0]
			x.into = &x.lastMod
		}
	}
	return nil
}

func (x *xmlReader) end() error {
	x.into = nil
	ended := slices.Equal(x.path, x.item)
	x.path = x.path[:len(x.path)-1]
	if !ended {
		return nil
	}
	loc := strings.TrimSpace(string(x.address))
	if loc == "" {
		loc = strings.TrimSpace(string(x.guid))
	}
	if loc == "" {
		return nil
	}
	e := Entry{Loc: loc, LastMod: parseLastMod(string(x.lastMod)), Sitemap: x.item[0] == "sitemap", Feed: x.feed}
	if err := x.take(e); err != nil {
		return err
	}
	for _, e.Loc = range x.other {
		if e.Loc == loc {
			continue
		}
		e.Alternate = true
		if err := x.take(e); err != nil {
			return err
		}
	}
	return nil
}

// Maximum number of translations to read from a page's entry.
const maxTranslations = 200

// translation returns the address in an xhtml:link to the page in another language, or "" for other links, such as
// those to mobile versions.
func translation(t xml.StartElement) string {
	var href, rel, lang string
	for _, a := range t.Attr {
		switch strings.ToLower(a.Name.Local) {
		case "href":
			href = strings.TrimSpace(a.Value)
		case "rel":
			rel = a.Value
		case "hreflang":
			lang = a.Value
		}
	}
	if lang == "" || !slices.ContainsFunc(strings.Fields(rel), func(s string) bool { return strings.EqualFold(s, "alternate") }) || len(href) > weburl.MaxBytes {
		return ""
	}
	return href
}

// atomHref returns the address in an Atom link to the page that the entry is about, or "" for other links.
func atomHref(t xml.StartElement) string {
	href, rel := "", "alternate"
	for _, a := range t.Attr {
		switch strings.ToLower(a.Name.Local) {
		case "href":
			href = a.Value
		case "rel":
			rel = a.Value
		}
	}
	if !strings.EqualFold(strings.TrimSpace(rel), "alternate") || len(href) > weburl.MaxBytes {
		return ""
	}
	return strings.TrimSpace(href)
}

// isPermanentLink reports whether an RSS guid is the item's address rather than just an identifier.
func isPermanentLink(t xml.StartElement) bool {
	for _, a := range t.Attr {
		if strings.EqualFold(a.Name.Local, "isPermaLink") {
			return !strings.EqualFold(strings.TrimSpace(a.Value), "false")
		}
	}
	return true
}

// tokenLimiter is a reader that fails on overlong XML tokens, because the XML decoder keeps whole tokens in memory.
// `taken` is the number of bytes read for the current token. readXML resets it before each token.
type tokenLimiter struct {
	r     io.Reader
	taken int
}

func (b *tokenLimiter) Read(p []byte) (int, error) {
	if b.taken > maxXMLToken {
		return 0, fmt.Errorf("a tag, text or comment has more than %d bytes", maxXMLToken)
	}
	n, err := b.r.Read(p)
	b.taken += n
	return n, err
}
