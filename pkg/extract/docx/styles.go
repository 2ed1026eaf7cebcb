package docx

import (
	"encoding/xml"
	"strings"

	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// styles knows which paragraph styles are headings and which number their paragraphs.
type styles struct {
	byID map[string]*style
}

type style struct {
	name, basedOn string
	outline       int // 1 to 9, 10 says that it is body text, 0 unset
	numID, level  string
}

// bodyOutline is the outline level by which a style says that its paragraphs are no headings.
const bodyOutline = 10

// maxStyles is the most styles that are read, and maxBasedOn how far what they are based on is followed.
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

// outlineLevel reads an outline level, which counts from 0, as one that counts from 1.
func outlineLevel(val string) int { return min(int(ooxml.ParseSmall(val))+1, bodyOutline) }

// headingLevel is the level of headings in the style, 0 for body text.
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
	return namedHeading(strings.ToLower(id)) // a style that is not defined, or the end of the chain
}

// headingWords are the names of heading styles in the languages of the programs that write them. Microsoft's writes
// the English name into the file whatever its language; others and older ones do not.
var headingWords = []string{"heading", "überschrift", "berschrift", "titre", "título", "titulo", "titolo", "encabezado", "kop", "rubrik", "overskrift",
	"otsikko", "nagłówek", "nagwek", "nadpis", "címsor", "cmsor", "заголовок", "başlık", "naslov", "antraštė", "tittel", "επικεφαλίδα", "标题", "標題", "見出し", "제목", "หัวเรื่อง", "عنوان", "כותרת"}

// titleNames are the names of the style of a document's title.
var titleNames = map[string]bool{"title": true, "titel": true, "标题": true, "表題": true, "заголовок": true, "název": true, "tytuł": true}

// namedHeading is the level that the style's name or id in lower case promises: "heading 2", "Überschrift2"; 0 for
// others.
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

// isTitle reports whether the style is, or is based on, the style of a document's title.
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

// numbered is the list that the style or one it is based on puts its paragraphs into, and the style that says so.
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
