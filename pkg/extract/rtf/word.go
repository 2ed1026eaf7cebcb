package rtf

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
)

// characters maps control words to the characters they represent.
var characters = map[string]string{
	"tab": "\t", "line": "\n", "softline": "\n", "lbr": "\n", "page": "\n", "column": "\n", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’",
	"ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " ", "qmspace": " ", "nestcell": "\t", "nestrow": "\n",
}

// word handles a control word. `number` is the control word's parameter; `has` is false if there is none.
func (r *reader) word(word string, number int, has bool) error {
	if word == "u" {
		return r.unicode(number)
	}
	if err := r.decode(); err != nil {
		return err
	}
	r.fallback = 0
	r.group().begun = true
	if done, err := r.destinationWord(word); done || err != nil {
		return err
	}
	g := r.group()
	switch g.to {
	case skipped:
		return nil
	case fontTable:
		r.fontWord(word, number)
		return nil
	case styleSheet:
		r.styleWord(word, number)
		return nil
	case property:
		g.dateWord(word, number)
		return nil
	}
	if text, ok := characters[word]; ok {
		return r.text(text)
	}
	if r.characterWord(word, number, !has || number != 0) {
		return nil
	}
	return r.paragraphWord(word, number)
}

// characterWord handles a word that sets a property of characters or the file. It returns false for other words.
func (r *reader) characterWord(word string, number int, on bool) bool {
	g := r.group()
	switch word {
	case "mac":
		r.codePage = "macintosh"
	case "pc":
		r.codePage = "cp437"
	case "pca":
		r.codePage = "cp850"
	case "ansicpg":
		r.codePage = charset.CodePage(number)
	case "uc":
		g.unicodeFallback = min(max(number, 0), maxFallback)
	case "deff":
		r.defaultFont, g.font = number, number
	case "f":
		g.font = number
	case "plain":
		g.font, g.bold, g.hidden, g.deleted = r.defaultFont, false, false, false
	case "b":
		g.bold = on
	case "v":
		g.hidden = on
	case "deleted":
		g.deleted = on
	default:
		return false
	}
	return true
}

// maxFallback is the maximum number of replacement characters for older readers per Unicode character.
const maxFallback = 16

// paragraphWord handles a word that sets a paragraph or table property, or that ends a paragraph or part of a table.
func (r *reader) paragraphWord(word string, number int) error {
	g, t := r.group(), &r.flow.table
	switch word {
	case "pard":
		g.outline, g.inTable, g.list, g.listLevel, g.style = noOutline, false, 0, 0, 0
	case "s":
		g.style = number
	case "outlinelevel":
		g.outline = outlineLevel(number)
	case "intbl":
		g.inTable = true
	case "itap":
		g.inTable = number > 0
	case "ls":
		g.list = number
	case "ilvl":
		g.listLevel = min(max(number, 0), 8)
	case "trowd":
		t.defs, t.next, t.header = t.defs[:0], cellDefinition{}, false
	case "trhdr":
		t.header = true
	case "clvmrg":
		t.next.below = true
	case "clmrg":
		t.next.right = true
	case "cellx":
		if len(t.defs) < format.MaxColumns {
			t.defs = append(t.defs, t.next)
		}
		t.next = cellDefinition{}
	case "par", "sect":
		return r.endParagraph()
	case "cell":
		r.endCell()
	case "row":
		return r.endRow()
	}
	return nil
}

// outlineLevel returns a heading's 0-based level, or noOutline if `number` is out of range.
func outlineLevel(number int) int {
	if number < 0 || number > 8 {
		return noOutline
	}
	return number
}

// style is a paragraph style.
type style struct {
	outline int // as in group
	title   bool
}

// maxTable is the maximum number of fonts, and also of styles.
const maxTable = 20_000

// fontWord handles a word in the font table.
func (r *reader) fontWord(word string, number int) {
	g := r.group()
	encoding := ""
	switch word {
	case "f":
		g.font = number
		return
	case "fcharset":
		encoding = charsetName(number)
	case "cpg":
		encoding = charset.CodePage(number)
	}
	if encoding != "" && len(r.fonts) < maxTable {
		r.fonts[g.font] = encoding
	}
}

// styleWord handles a word in the style table.
func (r *reader) styleWord(word string, number int) {
	g := r.group()
	switch word {
	case "s":
		g.style = number
	case "outlinelevel":
		if len(r.styles) < maxTable {
			r.styles[g.style] = style{outline: outlineLevel(number)}
		}
	}
}

// named handles a style's name. A style without an outline level is a heading if it has a heading style's English name,
// such as "heading 1". Only Word writes such names in other languages.
func (r *reader) named(name string) {
	g := r.group()
	name = strings.ToLower(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(name), ";")))
	s, known := r.styles[g.style]
	if !known {
		s.outline = noOutline
	}
	if level, ok := strings.CutPrefix(name, "heading "); ok && s.outline == noOutline && len(level) == 1 {
		s.outline = outlineLevel(int(level[0] - '1'))
	}
	s.title = name == "title"
	if g.style != 0 && len(r.styles) < maxTable && (s.title || s.outline != noOutline) {
		r.styles[g.style] = s
	}
}

// dateWord handles one part of a date.
func (g *group) dateWord(word string, number int) {
	for i, part := range []string{"yr", "mo", "dy", "hr", "min"} {
		if word == part && g.date != nil && number >= 0 && number < 10_000 {
			g.date[i] = number
		}
	}
}

// dateText formats a date for the document's metadata. It returns "" for invalid dates.
func dateText(d *[5]int) string {
	if d[0] < 1970 || d[1] < 1 || d[1] > 12 || d[2] < 1 || d[2] > 31 || d[3] > 23 || d[4] > 59 {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:00", d[0], d[1], d[2], d[3], d[4])
}

// hyperlink returns the URL in a field's instruction, or "" if it doesn't link to another document.
func hyperlink(instruction string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(instruction), "HYPERLINK")
	if !ok {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		rest, _, _ = strings.Cut(quoted, `"`)
	} else {
		rest, _, _ = strings.Cut(rest, " ")
	}
	if !strings.Contains(rest, ":") {
		return "" // a position in the document
	}
	return rest
}

// fieldName returns a field's name, such as PAGE.
func fieldName(instruction string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(instruction), " ")
	return strings.ToUpper(name)
}

// isNumber reports whether a list item's label is a number, such as "1." or "a)", rather than a bullet.
func isNumber(label string) bool {
	return strings.ContainsFunc(label, unicode.IsDigit) || strings.ContainsFunc(label, unicode.IsLetter) && strings.ContainsAny(label, ".)")
}
