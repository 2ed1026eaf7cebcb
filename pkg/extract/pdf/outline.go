package pdf

import (
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// outlineLevels holds the heading levels in the document's outline by page and title.
type outlineLevels map[outlineKey]int

// outlineKey identifies an outline entry by its page number, counted from 1, and its title as returned by titleKey.
type outlineKey struct {
	page  int
	title string
}

const (
	maxHeadingLevel  = 6   // maximum level of a heading
	maxHeadingLength = 300 // maximum length of a heading, in bytes
)

func (s *source) outline() outlineLevels {
	if s.own == nil {
		return nil
	}
	levels := outlineLevels{}
	for _, item := range s.own.Outline() {
		key := outlineKey{item.Page + 1, titleKey(item.Title)}
		if _, named := levels[key]; !named && item.Page >= 0 && key.title != "" {
			levels[key] = min(item.Depth+1, maxHeadingLevel)
		}
	}
	return levels
}

// level returns the outline level of the heading with the given text on a page, or 0 if it is not in the outline.
// Outlines often omit heading numbers, so level also looks up the text without its number.
func (o outlineLevels) level(page int, text string) int {
	if len(o) == 0 || len(text) > maxHeadingLength {
		return 0
	}
	if level := o[outlineKey{page, titleKey(text)}]; level > 0 {
		return level
	}
	if at := strings.IndexAny(text, " \t"); at > 0 && strings.Trim(text[:at], "0123456789.") == "" {
		return o[outlineKey{page, titleKey(text[at:])}]
	}
	return 0
}

// levelOf returns a paragraph's outline level. It looks up the whole text and then each line, because the outline may
// contain only one line of the heading, such as the title below "Chapter 3".
func (o outlineLevels) levelOf(page int, text string, lines []pdftext.Line) int {
	if len(o) == 0 {
		return 0
	}
	level := o.level(page, text)
	for i := 0; i < len(lines) && level == 0; i++ {
		level = o.level(page, lines[i].Text())
	}
	return level
}

// titleKey returns a title in lower case without white space and punctuation, which can differ between outline and
// page.
func titleKey(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
