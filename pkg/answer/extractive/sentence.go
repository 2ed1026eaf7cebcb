package extractive

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// sentence is a part of a fragment, with evidence for how well it answers the question.
type sentence struct {
	part
	fragment int    // index in Prompt.Fragments
	position int    // position within the fragment
	last     bool   // whether it is the fragment's last part
	rare     bool   // whether the text or its heading contains the question's rarest word, not counting names
	shown    string // text as quoted
	terms    map[string]bool
	said     wording // wording including the question it answers
	evidence evidence
	score    float64
}

// isSame reports whether two sentences are the same part of the same fragment.
func (s sentence) isSame(other sentence) bool {
	return s.fragment == other.fragment && s.position == other.position
}

// repeats reports whether two sentences share most of their words. If their numbers differ, the reader must see both,
// so neither repeats the other.
func (s sentence) repeats(other sentence) bool {
	small, large := s.terms, other.terms
	if !maps.Equal(withDigits(small), withDigits(large)) {
		return false
	}
	if len(small) > len(large) {
		small, large = large, small
	}
	shared := 0
	for t := range small {
		if large[t] {
			shared++
		}
	}
	return float64(shared) >= sameTerms*float64(len(small))
}

func withDigits(terms map[string]bool) map[string]bool {
	out := make(map[string]bool)
	for t := range terms {
		if strings.ContainsFunc(t, unicode.IsDigit) {
			out[t] = true
		}
	}
	return out
}

// wording is text prepared for matching.
type wording struct {
	at    map[string][]int // positions of its terms
	value bool             // whether it has a value of the requested kind
	lone  bool             // whether the value belongs to the text's subject: a row or entry, or text that names the owner
}

// readFragment returns the i-th fragment's parts with their evidence. best is the best fragment's score.
func (q question) readFragment(i int, f domain.Fragment, best float64) []sentence {
	if q.total == 0 {
		return nil
	}
	lang := analysis.Detect(f.Text)
	var analyzer analysis.Analyzer // caches stems
	read := func(s string) wording { return wording{at: positions(analyzer.Terms(s, lang))} }
	names, _ := q.lacksNames(read(f.Text), read(titleOf(f)))
	parts := partsOf(f)
	titles := titlesOf(f, parts)
	headings := make(map[string]wording)
	readOnce := func(s string) wording {
		t, known := headings[s]
		if !known {
			t = read(s)
			headings[s] = t
		}
		return t
	}
	var before wording
	var out []sentence
	for n, p := range parts {
		if p.kind == partHeading {
			before = wording{}
			continue
		}
		heading := readOnce(titles(p))
		own := read(p.words())
		own.value, own.lone = q.wants.isIn(p.words()), p.isRowOrEntry() || q.wants.isSelfExplanatory() && q.containsAll(q.names, own)
		said := own // including the question it answers
		if p.asked != "" {
			said = read(p.asked + "\n" + p.words())
			said.value, said.lone = own.value, own.lone
		}
		if p.kind != partProse && p.kind != partCode {
			before = wording{} // rows and entries have no context
		}
		e := q.evidenceOf(said, before, heading)
		e.names, e.score, e.rank = names, f.Score, f.Score/max(best, minScore)
		e.scrap = p.kind == partProse && !endsSentence(p.text) && (isScrap(p.text) || q.unspaced && n == 0) || q.addsNothing(own)
		e.certain = q.identifies(p, own, lang)
		tells := p.kind == partProse || p.kind == partEntry && endsSentence(p.text) && !isQuestion(p.text) && !itemLine().MatchString(p.text) || q.isAboutSubject(said, before, heading) || e.certain
		if before = own; p.isRowOrEntry() {
			before = wording{}
		}
		if p.kind == partProse && isQuestion(p.text) || e.own == 0 && (p.kind != partCode || e.before == 0) || !tells || q.wants != wantAny && !own.value {
			continue
		}
		out = append(out, sentence{
			part: p, fragment: i, position: n, last: n == len(parts)-1, rare: q.containsAll(q.rarest, said, heading),
			shown: quotation(p.text), terms: keys(own.at), said: said, evidence: e, score: e.total(),
		})
	}
	return out
}

// addsNothing reports whether t contains no words other than the question's.
func (q question) addsNothing(t wording) bool {
	held := 0
	for i := range q.terms {
		if len(occurrences(t.at, q.terms[i])) > 0 {
			held++
		}
	}
	return !q.unspaced && held >= len(t.at)
}

// titlesOf returns a function that returns the titles above a part: the datasource's name, the section's headings, and
// the nearest heading above the part in the fragment's text. If the text itself contains the section's last heading,
// that heading is a title only for the parts directly below it.
func titlesOf(f domain.Fragment, parts []part) func(part) string {
	title, above := lastHeading(f.Heading), ""
	if i := strings.LastIndex(f.Heading, headingSeparator); i >= 0 {
		above = f.Heading[:i]
	}
	within := slices.ContainsFunc(parts, func(p part) bool { return p.kind == partHeading && p.text == title })
	return func(p part) string {
		out := f.DatasourceName + "\n" + above
		if !within || p.under == title {
			out += "\n" + title
		}
		if p.under != title {
			out += "\n" + p.under
		}
		return out
	}
}

// isScrap reports whether text without a full stop is just a heading or label: it is short and has no digits.
func isScrap(text string) bool {
	return chunk.Tokens(text) <= 2*scrapTokens && !strings.ContainsFunc(text, unicode.IsDigit)
}

// Lower bound on scores, which avoids division by zero.
const minScore = 0.01

// endsSentence reports whether text ends with a sentence terminator, such as a full stop.
func endsSentence(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.Is(unicode.STerm, last)
}
