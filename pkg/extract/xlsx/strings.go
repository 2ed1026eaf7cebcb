package xlsx

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// maxSheetText is the maximum size of a cell's shared text, in bytes. Cells hold at most 32,767 characters. The limit
// is needed because any number of cells may refer to the same text.
const maxSheetText = 4 * 32_767

// sharedStrings holds the strings that cells refer to by number. A workbook can have a million of them, so they all
// share one buffer.
type sharedStrings struct {
	text string
	ends []uint32 // end offset of each text
}

func (s *sharedStrings) at(i int) (string, bool) {
	if i < 0 || i >= len(s.ends) {
		return "", false
	}
	start := uint32(0)
	if i > 0 {
		start = s.ends[i-1]
	}
	return format.Cut(s.text[start:s.ends[i]], maxSheetText), true
}

// readSharedStrings reads the shared strings in a part, which may be missing. The limit on a part's size also bounds
// the memory for the strings.
func readSharedStrings(a *ooxml.Package, part string) (*sharedStrings, error) {
	s := &sharedStrings{}
	var text strings.Builder
	err := a.Walk(part, func(sc *xmlscan.Scanner) {
		if _, ok := sc.Root(); !ok {
			return
		}
		sc.Each(func(e xml.StartElement) bool {
			if e.Name.Local != "si" {
				return false
			}
			text.WriteString(richText(sc))
			s.ends = append(s.ends, uint32(text.Len()))
			return true
		})
	})
	s.text = text.String()
	return s, err
}

// richText returns the text of the current element, an <si> or <is>, without its phonetic text.
func richText(sc *xmlscan.Scanner) string {
	var b strings.Builder
	var take func(e xml.StartElement) bool
	take = func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "t":
			b.WriteString(sc.Text())
		case "r":
			sc.Each(take)
		default:
			return false
		}
		return true
	}
	sc.Each(take)
	return unescapeXstring(b.String())
}

var xstringEscape = lazyregexp.New(`_x[0-9A-Fa-f]{4}_`)

// unescapeXstring decodes escapes for characters that XML cannot contain, such as "_x000D_".
func unescapeXstring(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	return xstringEscape().ReplaceAllStringFunc(s, func(m string) string {
		n, err := strconv.ParseUint(m[2:6], 16, 16)
		if err != nil {
			return m
		}
		return string(rune(n))
	})
}
