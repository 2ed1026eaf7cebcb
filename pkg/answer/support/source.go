package support

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// source is a fragment prepared for comparison.
type source struct {
	fragment domain.Fragment
	text     string // text to compare
	lang     analysis.Language
	units    []unit
	words    []word          // words in the text, in order
	byTerm   map[string][]at // words by term
	byPrefix map[string][]at // words by their beginning; see prefixOf
	byNumber map[string][]at // figures by possible value
	context  map[string]bool // terms in the headings and the document's name
	plain    condensed
}

// unit is a part of a source that is compared as a whole: a sentence or a line.
type unit struct {
	start, end int // in bytes
	from, to   int // range in source.words
}

// at locates a word in a source.
type at struct{ unit, word int }

// Maximum number of occurrences compared per term and source. More would hardly change the result.
const maxPlaces = 64

// Maximum number of words compared per source.
const maxSourceWords = 12_000

// newSource prepares up to `limit` bytes of a fragment's text for comparison.
func newSource(f domain.Fragment, r *reader, limit int) *source {
	s := &source{
		fragment: f, text: validPrefix(f.Text, limit), byTerm: make(map[string][]at), byPrefix: make(map[string][]at), byNumber: make(map[string][]at), context: make(map[string]bool),
	}
	for _, span := range unitsOf(s.text) {
		u := unit{start: span.Start, end: span.End, from: len(s.words)}
		s.words = append(s.words, r.read(s.text, span.Start, span.End, max(0, maxSourceWords-len(s.words)))...)
		u.to = len(s.words)
		n := len(s.units)
		for i := u.from; i < u.to; i++ {
			w := &s.words[i]
			for k, t := range w.terms {
				s.byTerm[t] = appendPlace(s.byTerm[t], at{n, i})
				if k == 0 && !w.function {
					if p := prefixOf(w.lower); p != "" {
						s.byPrefix[p] = appendPlace(s.byPrefix[p], at{n, i})
					}
				}
			}
			for _, v := range w.numbers {
				s.byNumber[v] = appendPlace(s.byNumber[v], at{n, i})
			}
		}
		s.units = append(s.units, u)
	}
	heading := validPrefix(rowRange().ReplaceAllString(f.Heading, "")+"\n"+f.DatasourceName, 2000)
	for _, w := range r.read(heading, 0, len(heading), maxSentenceWords) {
		for _, t := range w.terms {
			s.context[t] = true
		}
		for _, v := range w.numbers {
			s.context["#"+v] = true
		}
	}
	s.plain = condense(s.text)
	return s
}

// rowRange matches the row numbers in the heading of a partial table, such as "rows 1 to 20".
var rowRange = lazyregexp.New(`\brows? \d+(?: to \d+)?$`)

func appendPlace(list []at, p at) []at {
	if len(list) == maxPlaces {
		return list
	}
	return append(list, p)
}

// validPrefix returns at most n bytes of a text and never splits a character.
func validPrefix(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// unitsOf splits a source's text into sentences and table rows.
func unitsOf(text string) []analysis.Span {
	var out []analysis.Span
	flush := func(from, to int) {
		for _, s := range chunk.Sentences(text[from:to]) {
			out = append(out, analysis.Span{Start: from + s.Start, End: from + s.End})
		}
	}
	open := 0
	for start := 0; start < len(text); {
		end, next := len(text), len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end, next = start+i, start+i+1
		}
		if l := text[start:end]; strings.ContainsAny(l, "\t|") {
			flush(open, start)
			out = append(out, analysis.Span{Start: start, End: end})
			open = next
		}
		start = next
	}
	flush(open, len(text))
	return out
}

// condensed is a text's letters and digits, in lower case. at maps each byte to its position in the original.
type condensed struct {
	text string
	at   []int32
}

func condense(text string) condensed {
	var b strings.Builder
	at := make([]int32, 0, len(text))
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			continue
		}
		n := b.Len()
		b.WriteRune(unicode.ToLower(r))
		for range b.Len() - n {
			at = append(at, int32(i))
		}
	}
	return condensed{b.String(), at}
}

// find returns the range of the source that contains the condensed sentence word for word, or false.
func (s *source) find(sentence string) (domain.TextRange, bool) {
	for from := 0; ; {
		i := strings.Index(s.plain.text[from:], sentence)
		if i < 0 {
			return domain.TextRange{}, false
		}
		i += from
		start, last := int(s.plain.at[i]), int(s.plain.at[i+len(sentence)-1])
		_, size := utf8.DecodeRuneInString(s.text[last:])
		end := last + size
		before, _ := utf8.DecodeLastRuneInString(s.text[:start])
		after, _ := utf8.DecodeRuneInString(s.text[end:])
		if !isSameWord(before, s.text[start:]) && !isSameWord(after, s.text[last:]) {
			return domain.TextRange{Start: start, End: end}, true
		}
		_, size = utf8.DecodeRuneInString(s.plain.text[i:])
		from = i + size
	}
}

// isSameWord reports whether beside, the character next to text, belongs to the same word as text's first character. In
// scripts without spaces, isSameWord returns false.
func isSameWord(beside rune, text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return (unicode.IsLetter(beside) || unicode.IsDigit(beside)) && !unspaced(beside) && !unspaced(first)
}

// widen extends a range to symbols that belong to its words: a currency symbol before it, or a percent sign or full
// stop after it.
func (s *source) widen(r domain.TextRange) domain.TextRange {
	const most = 3 // characters
	for range most {
		c, size := utf8.DecodeLastRuneInString(s.text[:r.Start])
		if size == 0 || !strings.ContainsRune("$€£¥+−-±<>≥≤–“„«\"'(「", c) {
			break
		}
		r.Start -= size
	}
	for range most {
		c, size := utf8.DecodeRuneInString(s.text[r.End:])
		if size == 0 || unicode.IsSpace(c) || unicode.IsLetter(c) || unicode.IsDigit(c) || c == '|' || c == '[' {
			break
		}
		r.End += size
	}
	return r
}
