package opendocument

import (
	"cmp"
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

const maxStyles = 50_000

// style is a paragraph or character style.
type style struct {
	parent string
	list   string // list style for paragraphs in this style
}

// listStyle holds a list's number formats by level.
type listStyle map[int]listLevel

// listLevel describes how the items on one level of a list are numbered.
type listLevel struct {
	format         string // the format in OpenDocument's notation: "1", "a", "i"; "" for bullets
	prefix, suffix string
	start          int
}

// readStyles records the default language, styles and list styles in the current element.
func (r *reader) readStyles(sc *xmlscan.Scanner) {
	sc.Each(func(e xml.StartElement) bool {
		switch name := xmlscan.Attr(e, "name"); {
		case e.Name.Local == "style" && len(r.styles) < maxStyles:
			r.styles[name] = style{parent: xmlscan.Attr(e, "parent-style-name"), list: xmlscan.Attr(e, "list-style-name")}
		case e.Name.Local == "list-style" && len(r.lists) < maxStyles:
			r.lists[name] = readListStyle(sc)
			return true
		case e.Name.Local == "default-style" && xmlscan.Attr(e, "family") == "paragraph":
			r.language(sc)
			return true
		}
		return false
	})
}

func readListStyle(sc *xmlscan.Scanner) listStyle {
	s := listStyle{}
	sc.Each(func(e xml.StartElement) bool {
		level, err := strconv.Atoi(xmlscan.Attr(e, "level"))
		if err == nil && e.Name.Local == "list-level-style-number" && level <= format.MaxDepth {
			start, err := strconv.Atoi(xmlscan.Attr(e, "start-value"))
			if err != nil {
				start = 1
			}
			s[level] = listLevel{
				format: xmlscan.Attr(e, "num-format"), prefix: xmlscan.Attr(e, "num-prefix"), suffix: xmlscan.Attr(e, "num-suffix"), start: start,
			}
		}
		return false
	})
	return s
}

// language sets the document's language from a style's text properties, unless it is already set.
func (r *reader) language(sc *xmlscan.Scanner) {
	sc.Each(func(e xml.StartElement) bool {
		if l := xmlscan.Attr(e, "language"); e.Name.Local == "text-properties" && l != "" && l != "none" && l != "zxx" && r.p.Doc.Language == "" {
			r.p.Doc.Language = l
			if country := xmlscan.Attr(e, "country"); country != "" && country != "none" {
				r.p.Doc.Language += "-" + country
			}
		}
		return false
	})
}

// isTitle reports whether a paragraph style is, or is derived from, the title style.
func (r *reader) isTitle(name string) bool {
	for range 10 {
		if name == "Title" {
			return true
		}
		name = r.styles[name].parent
	}
	return false
}

// label returns an item's number with its prefix and suffix, or "" for bullets.
func (l listLevel) label(n int) string {
	formats := map[string]string{"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
	if l.format == "" {
		return ""
	}
	name := cmp.Or(formats[l.format], "decimal")
	return strings.TrimSpace(l.prefix+format.Number(n, name)+l.suffix) + " "
}
