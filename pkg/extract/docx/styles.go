package docx

import (
	"encoding/xml"
	"strings"

	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// styles holds the paragraph styles, which determine whether a paragraph is a heading and whether it is numbered.
type styles struct {
	byID map[string]*style
}

type style struct {
	name, basedOn string
	outline       int // 1 to 9; bodyOutline for body text; 0 if unset
	numID, level  string
}

const bodyOutline = 10

// maxStyles is the maximum number of styles. maxBasedOn is the maximum length of a chain of base styles.
const (
	maxStyles  = 20_000
	maxBasedOn = 12
)

func readStyles(a *ooxml.Package, part string) (styles, error) {
	s := styles{byID: map[string]*style{}}
	err := a.Walk(part, func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local != "style" || len(s.byID) == maxStyles {
				return false
			}
			s.byID[xmlscan.Attr(e, "styleId")] = readStyle(sc)
			return true
		})
	})
	return s, err
}

func readStyle(sc *xmlscan.Scanner) *style {
	st := &style{}
	sc.Descend(func(e xml.StartElement) bool {
		val := xmlscan.Attr(e, "val")
		switch e.Name.Local {
		case "name":
			st.name = strings.ToLower(val)
		case "basedOn":
			st.basedOn = val
		case "outlineLvl":
			st.outline = outlineLevel(val)
		case "numId":
			st.numID = val
		case "ilvl":
			st.level = val
		case "rPr", "tblStylePr", "pPrChange":
			sc.Skip()
			return true
		}
		return false
	})
	return st
}

// outlineLevel converts the 0-based outline level in a file to a 1-based level.
func outlineLevel(val string) int { return min(int(ooxml.ParseSmall(val))+1, bodyOutline) }

// headingLevel returns the style's heading level, or 0 for body text.
func (s styles) headingLevel(id string) int {
	for range maxBasedOn {
		st := s.byID[id]
		if st == nil {
			break
		}
		if n := namedHeading(st.name); n > 0 {
			return n
		}
		if st.outline == bodyOutline {
			return 0
		}
		if st.outline > 0 {
			return st.outline
		}
		id = st.basedOn
	}
	return namedHeading(strings.ToLower(id)) // the style is undefined, or no style in the chain is a heading
}

// headingWords are names for heading styles in various languages. Word now always writes the English name, but old
// versions and other programs write the translated name.
var headingWords = []string{"heading", "überschrift", "berschrift", "titre", "título", "titulo", "titolo", "encabezado", "kop", "rubrik", "overskrift",
	"otsikko", "nagłówek", "nagwek", "nadpis", "címsor", "cmsor", "заголовок", "başlık", "naslov", "antraštė", "tittel", "επικεφαλίδα", "标题", "標題", "見出し", "제목", "หัวเรื่อง", "عنوان", "כותרת"}

// titleNames are names for the title style in several languages.
var titleNames = map[string]bool{"title": true, "titel": true, "标题": true, "表題": true, "заголовок": true, "název": true, "tytuł": true}

// namedHeading returns the heading level that a style's name or id implies ("heading 2", "überschrift2"), or 0. `name`
// must be in lower case.
func namedHeading(name string) int {
	if titleNames[name] {
		return 1
	}
	for _, word := range headingWords {
		rest, found := strings.CutPrefix(name, word)
		if !found {
			continue
		}
		rest = strings.TrimLeft(rest, " _-")
		if rest == "" || rest[0] < '1' || rest[0] > '9' || len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9' {
			continue
		}
		return int(rest[0] - '0')
	}
	return 0
}

// isTitle reports whether the style is, or is based on, the title style.
func (s styles) isTitle(id string) bool {
	for range maxBasedOn {
		st := s.byID[id]
		if st == nil {
			break
		}
		if titleNames[strings.ToLower(st.name)] {
			return true
		}
		id = st.basedOn
	}
	return titleNames[strings.ToLower(id)]
}

// numbered returns the list and level set by a style. If the style sets no list, the nearest base style that sets one
// decides. `style` is the id of the style that sets the list.
func (s styles) numbered(id string) (numID, level, style string) {
	for range maxBasedOn {
		st := s.byID[id]
		if st == nil {
			break
		}
		if st.numID != "" {
			return st.numID, st.level, id
		}
		id = st.basedOn
	}
	return "", "", ""
}
