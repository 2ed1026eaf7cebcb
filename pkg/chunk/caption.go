package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// A table row says little without the table's caption, its unit and the label of its row group. The types in this file
// track these, so that each of the table's chunks has them in its context.

// Limits on captions.
const (
	maxCaptionBytes = 240
	maxGroupBytes   = 100
	maxLabelBytes   = 120 // maximum length of a paragraph that counts as a title or label
)

var (
	// captionWord matches the start of a caption, such as "Table 3" or "表 3".
	captionWord = lazyregexp.New(`(?i)^(?:table|tab\.|exhibit|schedule|figure|fig\.|tabelle|übersicht|tableau|tabla|cuadro|tabella|tabela|tabel|таблица|表|図表)\s*[\dIVXA-Z]{1,4}\b`)
	// unitNote matches a note that gives the unit for all numbers: "(in thousands, except per share data)".
	unitNote = lazyregexp.New(`(?i)\((?:[^()]{0,40}\b)?(?:in|en|em|w|in den)\s+[^()]{0,20}(?:thousand|million|billion|percent|dollars|euros?|pounds|tausend|mio|mrd|tsd|milli|millones|milhões|milioni|miles|tys|mln|%|\p{Sc})[^()]{0,60}\)`)
)

// tableCaption tracks the current table's caption and row group.
type tableCaption struct {
	before  [2]string // the last two blocks, most recent last; "" for blocks other than paragraphs
	caption string
	group   string
	values  bool   // a row of values has been read
	path    string // caption and group
}

// enter processes the next block. `begins` is true for a table's first row.
func (c *tableCaption) enter(b domain.Block, begins bool) {
	if b.Kind != domain.BlockTableRow {
		text := ""
		if b.Kind == domain.BlockParagraph {
			text = b.Text
		}
		*c = tableCaption{before: [2]string{c.before[1], text}}
		return
	}
	if begins {
		c.caption = captionOf(c.before)
		c.group, c.values, c.path = "", false, c.caption
	}
	label := rowLabel(b.Text)
	switch {
	case label == "":
		c.values = true
		return
	case c.values:
		c.group = label
	default: // a title in the first rows
		c.caption = joinContext(c.caption, label, maxCaptionBytes)
	}
	c.path = joinContext(c.caption, c.group, maxCaptionBytes+maxGroupBytes)
}

// captionOf returns a table's caption, or "". before holds the two paragraphs above the table, the nearer one last. The
// caption is the last sentence of the nearer paragraph, if that sentence introduces the table. If the nearer paragraph
// only gives a unit, the caption comes from the paragraph above it, with the unit appended.
func captionOf(before [2]string) string {
	near := strings.TrimSpace(before[1])
	if near == "" {
		return ""
	}
	if len(near) <= maxCaptionBytes && isUnitNote(near) {
		return joinContext(captionOf([2]string{"", before[0]}), near, maxCaptionBytes)
	}
	if captionWord().MatchString(near) {
		return oneLine(near, maxCaptionBytes)
	}
	last := lastSentence(near)
	if len(last) > 2*maxCaptionBytes {
		return ""
	}
	end, _ := utf8.DecodeLastRuneInString(last)
	switch {
	case end == ':' || end == '：' || unitNote().MatchString(last):
	case len(near) <= maxLabelBytes && !unicode.Is(unicode.STerm, end) && end != ',' && end != ';':
	default:
		return ""
	}
	return oneLine(strings.TrimRight(last, ":： "), maxCaptionBytes)
}

// isUnitNote reports whether a paragraph is just a unit note in parentheses.
func isUnitNote(text string) bool {
	return strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") && unitNote().MatchString(text)
}

func lastSentence(text string) string {
	text = text[max(0, len(text)-4*maxCaptionBytes):]
	for !utf8.ValidString(text) && text != "" {
		text = text[1:]
	}
	sentences := Sentences(text)
	if len(sentences) == 0 {
		return text
	}
	s := sentences[len(sentences)-1]
	return text[s.Start:s.End]
}

// rowLabel returns the text of a row that has just one short cell, or "" for other rows.
func rowLabel(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxGroupBytes || strings.ContainsAny(text, "\t\n;") || strings.Contains(strings.TrimRight(text, ": "), ": ") ||
		strings.IndexFunc(text, unicode.IsLetter) < 0 {
		return ""
	}
	return strings.TrimRight(text, ": ")
}

// joinContext joins two parts of a context and truncates the result to `limit` bytes. Either part may be empty.
func joinContext(a, b string, limit int) string { return oneLine(appendTo(a, b), limit) }
