package html

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/wordset"
)

// Limits on the blocks from a page's linked data.
const (
	maxLinkedSubjects = 50
	maxLinkedBlocks   = 2000
)

// notSubjects are schema.org types that describe the site, never a page's subject.
var notSubjects = wordset.Of(`Organization NewsMediaOrganization Corporation WebSite BreadcrumbList SearchAction Person ImageObject SiteNavigationElement
	WPHeader WPFooter WPSideBar ReadAction EntryPoint ListItem`)

// collect records the entities that the page may be about.
func (l *linkedData) collect(v any, depth int) {
	if depth > maxLinkedDepth || len(l.subjects) >= maxLinkedSubjects {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			l.collect(e, depth+1)
		}
	case map[string]any:
		types := stringsIn(v["@type"])
		if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return notSubjects[t[strings.LastIndexByte(t, '/')+1:]] }) {
			l.subjects = append(l.subjects, v)
		}
		l.collect(v["@graph"], depth+1)
	}
}

// linkedWriter writes linked-data entities as page blocks.
type linkedWriter struct {
	texts  func(string) ([]block, error) // converts plain text or HTML to blocks
	node   *html.Node
	blocks []block
	err    error
}

// linkedBlocks converts linked data to blocks. `subjects` are the entities the page is about.
func (p *reader) linkedBlocks(doc *html.Node, base *url.URL, subjects []map[string]any) ([]block, error) {
	w := &linkedWriter{node: doc, texts: func(s string) ([]block, error) { return p.fragmentBlocks(doc, base, []string{s}) }}
	for _, s := range subjects {
		w.entity(s, 1)
	}
	return w.blocks, w.err
}

// Within an entity, the name comes first, then descriptions and body text, then the other properties in alphabetical
// order.
var (
	linkedNames = []string{"headline", "name", "title"}
	linkedTexts = []string{"description", "abstract", "articleBody", "text", "reviewBody"}
)

// linkedDetails are properties that don't help readers.
var linkedDetails = wordset.Of(`image logo url sameAs thumbnail thumbnailUrl contentUrl embedUrl mainEntityOfPage isPartOf potentialAction publisher
	encodingFormat inLanguage position breadcrumb primaryImageOfPage identifier gtin gtin8 gtin12 gtin13 gtin14 width height`)

func (w *linkedWriter) entity(v map[string]any, level int) {
	for _, key := range linkedNames {
		if s, ok := v[key].(string); ok && format.OneLine(s) != "" {
			w.add(domain.Block{Kind: domain.BlockHeading, Level: min(level, 6), Text: format.OneLine(html.UnescapeString(s))})
			break
		}
	}
	for _, key := range linkedTexts {
		if s, ok := v[key].(string); ok {
			w.text(s)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if !strings.HasPrefix(key, "@") && !linkedDetails[key] && !slices.Contains(linkedNames, key) {
			w.property(key, v[key], level)
		}
	}
}

// property writes a property's value together with its name, because people search for both.
func (w *linkedWriter) property(key string, v any, level int) {
	if w.err != nil || len(w.blocks) >= maxLinkedBlocks || level > maxLinkedDepth {
		return
	}
	switch v := v.(type) {
	case string:
		if s := format.OneLine(html.UnescapeString(v)); s != "" && !slices.Contains(linkedTexts, key) && !isAddress(s) {
			w.add(domain.Block{Kind: domain.BlockParagraph, Text: propertyName(key) + ": " + s})
		}
	case float64:
		w.add(domain.Block{Kind: domain.BlockParagraph, Text: propertyName(key) + ": " + strconv.FormatFloat(v, 'f', -1, 64)})
	case map[string]any:
		if len(v) == 2 && v["@type"] != nil { // a person or thing with only a name
			if name, ok := v["name"].(string); ok {
				w.property(key, name, level+1)
				return
			}
		}
		w.entity(v, level+1)
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				if s = format.OneLine(html.UnescapeString(s)); s != "" && !isAddress(s) {
					w.add(domain.Block{Kind: domain.BlockListItem, Level: 1, Text: s})
				}
				continue
			}
			w.property(key, e, level)
		}
	}
}

// text writes a string that may contain several lines or markup.
func (w *linkedWriter) text(s string) {
	if w.err != nil || len(w.blocks) >= maxLinkedBlocks {
		return
	}
	blocks, err := w.texts(html.UnescapeString(s))
	w.err = err
	for _, b := range blocks {
		if strings.TrimSpace(b.Text) != "" {
			w.blocks = append(w.blocks, b)
		}
	}
}

func (w *linkedWriter) add(b domain.Block) {
	if len(w.blocks) < maxLinkedBlocks {
		w.blocks = append(w.blocks, block{Block: b, node: w.node})
	}
}

// propertyName returns a property name as words: "price currency" for priceCurrency.
func propertyName(key string) string {
	return strings.Map(unicode.ToLower, splitCamel(key))
}

// isAddress reports whether a value is a URL or path rather than text.
func isAddress(s string) bool {
	return !strings.Contains(s, " ") && (strings.Contains(s, "://") || strings.HasPrefix(s, "/"))
}
