package chunk

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Contracts and filings often mark their sections without headings: "ARTICLE 8", "8.2 Termination for Cause. Either
// party may …". Extraction turns such lines into ordinary paragraphs. The functions in this file recognise them as
// section labels and add them to the chunks' context, because a clause rarely repeats its section's subject. The
// heading path contains only real headings.

// Limits on section labels.
const (
	maxRunInBytes   = 80  // of a title at the start of a paragraph
	maxSectionBytes = 240 // of all levels' labels together
	sectionLevels   = 5
	maxSectionText  = 4 << 10 // of text that a label applies to if no other label follows
)

// sections tracks the labels of the sections around the current block.
type sections struct {
	labels [sectionLevels]string // by level; level 0 is the outermost
	open   bool                  // the last block was a level-0 label, which the next one continues
	path   string                // the labels joined
	text   int                   // bytes since the last label
}

// enter processes the next block and reports whether s.path has changed.
func (s *sections) enter(b domain.Block) bool {
	before := s.path
	if s.text += len(b.Text); s.text > maxSectionText {
		*s = sections{}
	}
	switch b.Kind {
	case domain.BlockHeading:
		*s = sections{}
		return before != ""
	case domain.BlockParagraph, domain.BlockListItem:
	default:
		s.open = false
		return false
	}
	label, level := sectionLabel(b.Text)
	if level < 0 || level == 1 && b.Kind == domain.BlockListItem { // a single number may also belong to a list item
		s.open = false
		return false
	}
	if level == 0 && s.open && !divisionWord().MatchString(label) { // the title after "ARTICLE 8"
		label = oneLine(s.labels[0]+" "+label, maxSectionBytes)
	}
	s.open, s.text = level == 0, 0
	s.labels[level] = label
	clear(s.labels[level+1:])
	var parts []string
	for _, l := range s.labels {
		if l != "" {
			parts = append(parts, l)
		}
	}
	s.path = oneLine(strings.Join(parts, pathSeparator), maxSectionBytes)
	return s.path != before
}

var (
	// divisionWord matches the start of a label for one of the document's divisions, such as "ARTICLE IV" or "Note 3".
	divisionWord = lazyregexp.New(`(?i)^(?:article|section|item|note|part|exhibit|schedule|annex|appendix|chapter|amendment|addendum|attachment|statement of work|work order|` +
		`artikel|abschnitt|anlage|anhang|kapitel|teil|annexe|chapitre|titre|artículo|anexo|capítulo|cláusula|sección|artigo|articolo|allegato|capitolo|` +
		`bijlage|hoofdstuk|załącznik|rozdział|статья|приложение|глава|раздел)\s+(?:(?:no|nr|n)\.?\s*|№\s*)?(?:\d{1,3}[a-z]?|[ivxlc]{1,7}|[a-z])(?:[.:)\s–—-]|$)`)
	paragraphSign = lazyregexp.New(`^§+\s*\d`)
	chineseNumber = lazyregexp.New(`^第\s*[0-9〇一二三四五六七八九十百]+\s*[条條章节節編编]`)
	// clauseNumber matches a clause's number: "8.", "8.2", "8.2.1." or "8)".
	clauseNumber = lazyregexp.New(`^(\d{1,3}(?:\.\d{1,3}){0,3})[.)]?\s+`)
)

// sectionLabel returns the label at the start of a paragraph and its level, which is -1 if there is no label.
func sectionLabel(text string) (label string, level int) {
	text = strings.TrimSpace(text)
	if short := len(text) <= maxLabelBytes; short && !endsSentence(text) {
		switch {
		case divisionWord().MatchString(text), paragraphSign().MatchString(text), chineseNumber().MatchString(text), isCapitals(text):
			return oneLine(text, maxLabelBytes), 0
		}
	}
	if text == "" || text[0] < '0' || text[0] > '9' {
		return "", -1
	}
	number := clauseNumber().FindStringSubmatch(text[:min(len(text), 2*maxRunInBytes)])
	if number == nil {
		return "", -1
	}
	level = min(1+strings.Count(number[1], "."), sectionLevels-1)
	rest := text[len(number[0]):]
	end := titleEnd(rest)
	if end < 0 {
		return "", -1
	}
	return oneLine(number[1]+" "+rest[:end], maxLabelBytes), level
}

// titleEnd returns the length of the title at the start of a numbered clause, or -1. A title is short and capitalised,
// and ends with a full stop, a colon or the end of the paragraph.
func titleEnd(text string) int {
	end := strings.IndexAny(text[:min(len(text), maxRunInBytes)], ".:\n")
	if end < 0 {
		if len(text) > maxRunInBytes {
			return -1
		}
		end = len(text)
	}
	words := strings.Fields(text[:end])
	if len(words) == 0 || len(words) > 9 {
		return -1
	}
	for i, word := range words {
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(word, "(“\"„«"))
		if unicode.IsLower(first) && (i == 0 || utf8.RuneCountInString(word) > 4) {
			return -1
		}
	}
	if strings.IndexFunc(text[:end], unicode.IsLetter) < 0 {
		return -1
	}
	return end
}

func endsSentence(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.Is(unicode.STerm, last) || strings.ContainsRune(":;,", last)
}

// isCapitals reports whether a text is in capitals, as titles often are.
func isCapitals(text string) bool {
	upper := 0
	for _, r := range text {
		switch {
		case unicode.IsLower(r):
			return false
		case unicode.IsUpper(r):
			upper++
		}
	}
	return upper >= 5 && upper*2 > utf8.RuneCountInString(text)
}

// definingVerbs come between a quoted term and its definition.
var definingVerbs = []string{"means", "shall mean", "has the meaning", "have the meaning", "shall have the meaning", "refers to", "is defined", "bedeutet", "bezeichnet", "meint",
	"désigne", "signifie", "s'entend", "significa", "se refiere", "indica", "betekent", "oznacza", "означает", "指", "是指"}

// definition matches a quoted term and the verb that starts its definition.
var definition = lazyregexp.New(`[“"„«「]\s?([^“”"„«»「」\n]{2,60}?)\s?[”"“»」]\s?(?:\([^()]{1,60}\)\s)?(?:` + strings.Join(definingVerbs, "|") + `)`)

// Maximum number of defined terms in a chunk's context.
const maxDefinitions = 4

// definedTerms returns up to maxDefinitions terms that a text defines.
func definedTerms(text string) []string {
	if !strings.ContainsAny(text, "“\"„«「") || !slices.ContainsFunc(definingVerbs, func(verb string) bool { return strings.Contains(text, verb) }) {
		return nil
	}
	var terms []string
	for _, m := range definition().FindAllStringSubmatch(text, maxDefinitions) {
		terms = append(terms, m[1])
	}
	return terms
}
