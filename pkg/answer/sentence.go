package answer

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// sentence is a part of a fragment, with what speaks for its being the answer.
type sentence struct {
	part
	fragment int    // index in Prompt.Fragments
	position int    // within the fragment
	last     bool   // of the fragment
	rare     bool   // it or its heading holds the question's rarest word, names apart
	listed   bool   // it is an entry of a list whose heading is what is asked for
	shown    string // the text, fit to be quoted
	terms    map[string]bool
	evidence evidence
	score    float64
}

// repeats reports whether s says what other says, by the overlap of their words. Where figures differ they say different
// things, and whoever asks must see both.
func (s sentence) repeats(other sentence) bool {
	small, large := s.terms, other.terms
	if !maps.Equal(figures(small), figures(large)) {
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

// figures are the terms with a digit.
func figures(terms map[string]bool) map[string]bool {
	out := make(map[string]bool)
	for t := range terms {
		if strings.ContainsFunc(t, unicode.IsDigit) {
			out[t] = true
		}
	}
	return out
}

const (
	ownHeadingShare = 0.9  // of a word that a heading holds which has nearly all words of the question
	headingShare    = 0.6  // of the weight of a word that only the heading or the title holds
	borrowedWeight  = 0.3  // of a word from the question before
	framingWeight   = 0.15 // of a word that only shapes the question
	nearDistance    = 3    // terms
	scrapTokens     = 5
)

// question is what is asked, as terms with weights.
type question struct {
	terms    []analysis.QueryTerm
	weights  []float64
	names    []bool     // terms that name something
	own      []bool     // terms of the question itself, not of one before
	framing  []bool     // terms that only shape the question
	rarest   []bool     // the terms of the question itself that are rarest, names apart
	kin      [][]string // index terms of words kindred to each term
	total    float64
	unspaced bool // words are not parted, so that terms are pairs of characters
	wants    want
	implied  []bool // terms that a value of the kind that is asked for makes good for
	lang     analysis.Language
}

// newQuestion analyses the question for the languages of the fragments. Words that a follow-up borrowed from the
// question before count less than its own.
func newQuestion(p Prompt, fragments []domain.Fragment) question {
	var langs []analysis.Language
	seen := make(map[analysis.Language]bool)
	for _, f := range fragments {
		if l := analysis.Detect(f.Text); l != analysis.Unknown && !seen[l] {
			seen[l] = true
			langs = append(langs, l)
		}
	}
	search := p.Search
	if search == "" {
		search = p.Question
	}
	q := question{terms: analysis.Query(search, langs)}
	q.names = termsIn(q.terms, append(namesIn(p.Question), borrowedNames(search, p.Question)...))
	q.own = termsIn(q.terms, wordsOf(p.Question))
	q.kin = make([][]string, len(q.terms))
	q.wants, q.lang = wantIn(p.Question), languageOf(p.Question)
	q.implied = termsIn(q.terms, slices.DeleteFunc(wordsOf(p.Question), func(w string) bool { return !q.wants.covers(w) }))
	q.unspaced = strings.ContainsFunc(p.Question, wide)
	rare := 0.0
	for _, w := range p.TermWeights {
		rare = max(rare, w)
	}
	for i, t := range q.terms {
		w := termWeight(p.TermWeights, t, rare)
		frames := slices.ContainsFunc(t.Forms, func(f string) bool { return framing[f] || questionWords[f] != nil })
		q.framing = append(q.framing, frames)
		switch {
		case frames:
			w *= framingWeight
		case !q.own[i]:
			w *= borrowedWeight
		}
		q.weights = append(q.weights, w)
		q.total += w
	}
	q.rarest = q.rarestTerms()
	q.addConcepts(p.Question, langs)
	return q
}

// borrowedNames are the names that the search has from the question before.
func borrowedNames(search, asked string) []string {
	before, ok := strings.CutSuffix(search, asked)
	if !ok || strings.TrimSpace(before) == "" {
		return nil
	}
	return namesIn("… " + before) // so that a name may come first
}

// rarestTerms marks the own terms of the greatest weight; where there are but names, the measure that is asked for, as in "how
// old is Tom".
func (q question) rarestTerms() []bool {
	most := 0.0
	for i, w := range q.weights {
		if q.own[i] && !q.names[i] && !q.framing[i] {
			most = max(most, w)
		}
	}
	out := make([]bool, len(q.terms))
	for i, w := range q.weights {
		out[i] = q.own[i] && !q.names[i] && (!q.framing[i] && w >= most || most == 0 && conceptsOf[q.terms[i].Name] != nil)
	}
	return out
}

// termWeight looks a term's weight up under its name or any of its forms; a term that retrieval does not know is rare.
func termWeight(weights map[string]float64, t analysis.QueryTerm, rare float64) float64 {
	if w, ok := weights[t.Name]; ok {
		return w
	}
	for _, f := range t.Forms {
		if w, ok := weights[f]; ok {
			return w
		}
	}
	return max(rare, 1)
}

// text is what is looked for words in.
type text struct {
	at    map[string][]int // the positions of its terms
	value bool             // it has a value of the kind that is asked for
}

// readFragment looks at the parts of a fragment. best is the score of the best fragment.
func (q question) readFragment(i int, f domain.Fragment, best float64) []sentence {
	if q.total == 0 {
		return nil
	}
	lang := analysis.Detect(f.Text)
	var analyzer analysis.Analyzer // remembers stems
	read := func(s string) text { return text{at: positions(analyzer.Terms(s, lang))} }
	names, coded := q.lacksNames(read(f.Text), read(titleOf(f)))
	if coded {
		return nil
	}
	parts := partsOf(f)
	titles := titlesOf(f, parts)
	headings := make(map[string]text)
	var before text
	var out []sentence
	for n, p := range parts {
		if p.kind == partHeading {
			before = text{}
			continue
		}
		title := titles(p)
		heading, known := headings[title]
		if !known {
			heading = read(title)
			headings[title] = heading
		}
		under := read(p.under)
		own := read(p.words())
		own.value = q.wants.heldBy(p.words())
		said := own // with the question that it answers
		if p.asked != "" {
			said = read(p.asked + "\n" + p.words())
			said.value = own.value
		}
		if p.kind != partProse && p.kind != partCode {
			before = text{} // rows and entries stand by themselves
		}
		e := q.look(said, before, heading, under)
		e.names, e.score, e.rank = names, f.Score, f.Score/max(best, minScore)
		e.value = q.value(own)
		e.scrap = p.kind == partProse && !ends(p.text) && (isScrap(p.text) || q.unspaced && n == 0) || q.saysNoMore(own)
		e.certain = q.identifies(p, own, lang)
		tells := (p.kind == partProse || p.kind == partEntry && ends(p.text) && !itemLine.MatchString(p.text)) && !isQuestion(p.text) || q.tells(said, before, heading) || e.certain
		if before = own; p.single() {
			before = text{}
		}
		if e.own == 0 && (p.kind != partCode || e.before == 0) || !tells || e.value < 0 && q.wants.plain() {
			continue
		}
		e.told = p.single() && q.holdsAll(q.rarest, own)
		out = append(out, sentence{
			part: p, fragment: i, position: n, last: n == len(parts)-1, rare: q.holdsAll(q.rarest, said, heading), listed: p.single() && q.lists(p.kind, own, under),
			shown: quotation(p.text), terms: keys(own.at), evidence: e, score: e.total(),
		})
	}
	return out
}

// saysNoMore reports whether all words of a text are those of the question.
func (q question) saysNoMore(t text) bool {
	held := 0
	for i := range q.terms {
		if len(occurrences(t.at, q.terms[i])) > 0 {
			held++
		}
	}
	return !q.unspaced && held >= len(t.at)
}

// titlesOf says what a fragment's parts stand under: its datasource and headings. The heading of its section is not that of
// parts that stand under another one.
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

// value is the evidence of a value of the kind that is asked for: 1 where a text has one, -1 where it has none, 0 where none is
// asked for.
func (q question) value(t text) float64 {
	switch {
	case q.wants.kind == wantAny:
		return 0
	case t.value:
		return 1
	}
	return -1
}

// lists reports whether an entry is of a list that the question asks for as a whole: its heading holds what is asked, and not
// the entry by itself.
func (q question) lists(kind partKind, own, heading text) bool {
	itself, above := 0.0, 0.0
	for i, w := range q.weights {
		if q.framing[i] {
			continue
		}
		if q.holds(own, i) > 0 {
			itself += w
		}
		if q.holds(heading, i) > 0 {
			above += w
		}
	}
	return above > 0 && (itself == 0 || kind == partEntry && above >= nearlyAll*q.total)
}

// isScrap reports whether a text without an end is a heading or a label: a few words without a figure.
func isScrap(text string) bool {
	return chunk.Tokens(text) <= 2*scrapTokens && !strings.ContainsFunc(text, unicode.IsDigit)
}

// minScore keeps shares of scores finite.
const minScore = 0.01

// ends reports whether a text ends as a sentence does.
func ends(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.Is(unicode.STerm, last)
}

// look finds the question's words in a text, its heading and the sentence before it.
func (q question) look(own, before, heading, under text) (e evidence) {
	share := headingShare
	if near := q.near(under.at); near > 0 && q.share(under, text{}) >= nearlyAll {
		share, e.near = ownHeadingShare, ownHeadingShare*near
	}
	for i, w := range q.weights {
		w /= q.total
		here, above, earlier := q.holds(own, i), q.holds(heading, i), q.holds(before, i)
		switch {
		case here > 0:
			e.own += w * here
		case above > 0:
			e.own += w * above * share
		case earlier > 0:
			e.before += w * earlier
		}
	}
	e.near = max(e.near, q.near(own.at))
	return e
}

// lacksNames is the share of the question's names that a fragment lacks, negative; and whether a number or a code is among
// them: another model, year or version is not the one that was asked for.
func (q question) lacksNames(whole, heading text) (share float64, coded bool) {
	names, lacking := 0.0, 0.0
	for i, name := range q.names {
		if !name {
			continue
		}
		names++
		if q.holds(whole, i)+q.holds(heading, i) == 0 {
			lacking++
			coded = coded || q.own[i] && strings.ContainsFunc(q.terms[i].Name, unicode.IsDigit)
		}
	}
	if names == 0 {
		return 0, false
	}
	return -lacking / names, coded
}

// nearlyAll is the share of the question's words that makes good for the rarest one.
const nearlyAll = 0.75

// tells reports whether a row, an entry or a block of code speaks of what is asked. It is about one thing: it or its heading
// must hold all names of the question and its rarest other word, or nearly all words; the sentence before code may hold them.
func (q question) tells(own, before, heading text) bool {
	if q.unspaced { // pairs of characters: many are no words, none can be demanded
		return true
	}
	return q.holdsAll(q.names, own, before, heading) && (q.holdsAll(q.rarest, own, before, heading) || q.share(own, heading) >= nearlyAll)
}

// share is how much of the question, names apart, a text and its heading hold.
func (q question) share(own, heading text) float64 {
	held, total := 0.0, 0.0
	for i, w := range q.weights {
		if q.names[i] {
			continue
		}
		total += w
		held += w * max(q.holds(own, i), headingShare*q.holds(heading, i))
	}
	if total == 0 {
		return 1
	}
	return held / total
}

// identifies reports whether a row is that of the name or code which the question has, and tells what is asked of it: one
// of its columns is called so. For a code another word of the question will do, or the value that is asked for; in another
// language the code alone, for words are not held there, but the value may not be missing.
func (q question) identifies(p part, own text, lang analysis.Language) bool {
	if p.kind != partRow || !q.holdsAll(q.names, own) {
		return false
	}
	columns := text{at: positions(analysis.Terms(columnsOf(p.text), lang))}
	named, coded, column, other, asked := false, false, false, false, false
	for i := range q.terms {
		switch {
		case q.names[i]:
			named = true
			coded = coded || strings.ContainsFunc(q.terms[i].Name, unicode.IsDigit)
		case !q.framing[i] && q.own[i]:
			asked = true
			other = other || q.holds(own, i) > 0
			column = column || q.holds(columns, i) > 0
		}
	}
	if !coded {
		return named && column
	}
	foreign := q.lang != analysis.Unknown && lang != q.lang
	return other || !asked || foreign && q.value(own) >= 0
}

// holdsAll reports whether texts hold all terms that are marked, one or another.
func (q question) holdsAll(marked []bool, texts ...text) bool {
	for i, is := range marked {
		if is && !slices.ContainsFunc(texts, func(t text) bool { return q.holds(t, i) > 0 }) {
			return false
		}
	}
	return true
}

// holds tells how far a text holds a term: 1 when it does, kinShare when it has a kindred word or the value that the term
// asks for, else 0.
func (q question) holds(t text, i int) float64 {
	if len(occurrences(t.at, q.terms[i])) > 0 {
		return 1
	}
	if t.value && q.implied[i] {
		return kinShare
	}
	for _, k := range q.kin[i] {
		if len(t.at[k]) > 0 {
			return kinShare
		}
	}
	return 0
}

// near is the weight of the question's pairs of neighbouring terms that stand near each other here, over that of all
// pairs.
func (q question) near(at map[string][]int) float64 {
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

// distance is the least distance between two positions; math.MaxInt when either list is empty.
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

// occurrences returns where the first form of the term that occurs does.
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
