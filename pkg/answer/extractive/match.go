package extractive

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
)

// evidenceOf computes how well a part of a fragment matches the question. own is the part's text, before is the
// previous sentence, and heading contains all headings above the part.
func (q question) evidenceOf(own, before, heading wording) (e evidence) {
	for i, w := range q.weights {
		w /= q.total
		here, above, earlier := q.matchDegree(own, i), q.matchDegree(heading, i), q.matchDegree(before, i)
		switch {
		case here > 0:
			e.own += w * here
		case above > 0:
			e.own += w * above * headingShare
		case earlier > 0:
			e.before += w * earlier
		}
	}
	e.near = q.nearShare(own.at)
	return e
}

// lacksNames returns the fraction of the question's names that a fragment lacks, as a negative number. coded means that
// one of the missing names is a number or code. In that case, the fragment is about another model, year or version and
// does not answer the question.
func (q question) lacksNames(whole, heading wording) (share float64, coded bool) {
	names, lacking := 0.0, 0.0
	for i, name := range q.names {
		if !name {
			continue
		}
		names++
		if q.matchDegree(whole, i)+q.matchDegree(heading, i) == 0 {
			lacking++
			coded = coded || q.own[i] && strings.ContainsFunc(q.terms[i].Name, unicode.IsDigit)
		}
	}
	if names == 0 {
		return 0, false
	}
	return -lacking / names, coded
}

// If a row contains all of the question's names, it must also contain this fraction of the question's other words; see
// question.identifies.
const halfHeld = 0.5

// A text that contains this fraction of the question's words, not counting names, doesn't have to contain the rarest
// one; see question.isAboutSubject.
const nearlyAll = 0.75

// isAboutSubject reports whether a row, an entry or a code block is about the question's subject. All of the question's
// names must be in its text, its heading or the previous sentence, which often announces code. The rarest of the
// question's other words must also be in one of these three, unless the text and its heading contain nearly all of the
// other words.
func (q question) isAboutSubject(own, before, heading wording) bool {
	if q.unspaced { // terms are pairs of characters, many of which are not words, so none can be required
		return true
	}
	return q.containsAll(q.names, own, before, heading) && (q.containsAll(q.rarest, own, before, heading) || q.share(own, heading) >= nearlyAll)
}

// share returns the weighted fraction of the question's words, except names, that are in own. Words that are only in
// heading count less.
func (q question) share(own, heading wording) float64 {
	held, total := 0.0, 0.0
	for i, w := range q.weights {
		if q.names[i] {
			continue
		}
		total += w
		held += w * max(q.matchDegree(own, i), headingShare*q.matchDegree(heading, i))
	}
	if total == 0 {
		return 1
	}
	return held / total
}

// identifies reports whether a row is about the thing named in the question and contains the requested information. The
// row must contain all names from the question. What else it must contain depends on the names:
//
//   - If no name is a code, the row must contain half of the question's other words. It must also have a column named
//     by one of these words, or a value of the requested kind.
//   - If a name is a code, half of the other words are enough.
//   - If a name is a code and the row is not in the question's language, the other words can't match. If the question
//     asks for a kind of value, the row must then contain such a value; otherwise, the names are enough.
func (q question) identifies(p part, own wording, lang analysis.Language) bool {
	if p.kind != partRow || !q.containsAll(q.names, own) {
		return false
	}
	columns := wording{at: positions(analysis.Terms(columnsOf(p.text), lang))}
	named, coded, column := false, false, false
	asked, held := 0.0, 0.0
	for i := range q.terms {
		switch {
		case q.names[i]:
			named = true
			coded = coded || strings.ContainsFunc(q.terms[i].Name, unicode.IsDigit)
		case !q.framing[i] && q.own[i]:
			asked++
			held += q.matchDegree(own, i)
			column = column || q.matchDegree(columns, i) > 0 || q.implied[i] && slices.ContainsFunc(strings.Split(p.text, cellSeparator), q.wants.isIn)
		}
	}
	most := held >= halfHeld*asked
	if !coded {
		return named && column && most
	}
	foreign := q.lang != analysis.Unknown && lang != q.lang
	return most || foreign && (q.wants == wantAny || own.value)
}

// containsAll reports whether each marked term occurs in at least one of the texts.
func (q question) containsAll(marked []bool, texts ...wording) bool {
	for i, is := range marked {
		if is && !slices.ContainsFunc(texts, func(t wording) bool { return q.matchDegree(t, i) > 0 }) {
			return false
		}
	}
	return true
}

// matchDegree returns how well t matches the question's i-th term: 1 for the term itself, kinShare for an inflected
// form, a related word or a value of the kind that the term asks for, analysis.SynonymWeight for a synonym from the
// datastore's settings, and 0 otherwise.
func (q question) matchDegree(t wording, i int) float64 {
	if len(occurrences(t.at, q.terms[i])) > 0 {
		return 1
	}
	if t.value && t.lone && q.implied[i] {
		return kinShare
	}
	for _, k := range q.kin[i] {
		if len(t.at[k]) > 0 {
			return kinShare
		}
	}
	if isInflected(q.terms[i].Forms, t.at) {
		return kinShare
	}
	if q.terms[i].HasAlternative(func(term string) bool { return len(t.at[term]) > 0 }) {
		return analysis.SynonymWeight
	}
	return 0
}

// Stems count as forms of the same word if they differ only in a short ending. Stemmers leave some endings, such as
// those of Russian surnames.
const (
	minStem   = 5 // minimum number of characters that the stems have in common
	maxEnding = 2 // maximum number of further characters of the longer stem
)

// isInflected reports whether a term of the text differs from one of the stems only in its ending.
func isInflected(forms []string, at map[string][]int) bool {
	for _, f := range forms {
		if utf8.RuneCountInString(f) < minStem || strings.ContainsFunc(f, unicode.IsDigit) {
			continue
		}
		for term := range at {
			long, short := f, term
			if len(long) < len(short) {
				long, short = short, long
			}
			ending, ok := strings.CutPrefix(long, short)
			if ok && utf8.RuneCountInString(short) >= minStem && utf8.RuneCountInString(ending) <= maxEnding && !strings.ContainsFunc(ending, unicode.IsDigit) {
				return true
			}
		}
	}
	return false
}

// nearShare returns the weighted fraction of the question's pairs of neighbouring terms that are also close together in
// the text. at maps the text's terms to their positions.
func (q question) nearShare(at map[string][]int) float64 {
	sum, total := 0.0, 0.0
	for i := 1; i < len(q.terms); i++ {
		w := q.weights[i-1] + q.weights[i]
		total += w
		if distance(occurrences(at, q.terms[i-1]), occurrences(at, q.terms[i])) <= nearDistance {
			sum += w
		}
	}
	if total == 0 {
		return 0
	}
	return sum / total
}

// distance returns the smallest distance between a position in a and one in b, or math.MaxInt if a or b is empty.
func distance(a, b []int) int {
	least := math.MaxInt
	for i, j := 0, 0; i < len(a) && j < len(b); {
		d := a[i] - b[j]
		if d < 0 {
			d, i = -d, i+1
		} else {
			j++
		}
		least = min(least, d)
	}
	return least
}

// occurrences returns a term's positions in the text. If several of its forms occur, it returns only those of the first
// one.
func occurrences(at map[string][]int, t analysis.QueryTerm) []int {
	for _, f := range t.Forms {
		if found := at[f]; len(found) > 0 {
			return found
		}
	}
	return nil
}

func positions(terms []string) map[string][]int {
	at := make(map[string][]int, len(terms))
	for i, t := range terms {
		at[t] = append(at[t], i)
	}
	return at
}

func keys(at map[string][]int) map[string]bool {
	out := make(map[string]bool, len(at))
	for t := range at {
		out[t] = true
	}
	return out
}
