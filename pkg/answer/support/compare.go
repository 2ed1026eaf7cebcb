package support

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
)

// comparison compares one sentence with its sources.
type comparison struct {
	judger  *Judger
	words   []word
	among   []int
	foreign bool // whether sentence and sources are in different languages, so that only names and figures are comparable
	chosen  []chosenUnit
	covered []bool    // words in the chosen units
	partly  []float64 // credit for words found elsewhere in the sources
	negated bool      // whether only the sentence or only its source contains a negation
}

// chosenUnit is a unit that supports the sentence.
type chosenUnit struct {
	source, unit int
	first, last  int // range of matching words in the source
}

// Maximum number of units that support a sentence.
const maxChosen = 4

// Weights of words for choosing units, and the credit for words that occur in the sources but outside the chosen units.
const (
	figureWeight  = 2.0
	nameWeight    = 1.5
	contextCredit = 1.0 // in the headings or the document's name
	elsewhere     = 0.5 // elsewhere in the cited sources
	minGain       = 0.1 // share of the sentence's words, by weight, that a further unit must add
)

func weightOf(w *word) float64 {
	switch {
	case w.numbers != nil:
		return figureWeight
	case w.name:
		return nameWeight
	case w.isContent():
		return 1
	}
	return 0
}

// compare compares a sentence with the sources whose indexes are in `among`. It chooses the units that contain most of
// the sentence's words.
func (j *Judger) compare(sentence string, words []word, among []int) *comparison {
	c := &comparison{judger: j, words: words, among: among, covered: make([]bool, len(words)), partly: make([]float64, len(words))}
	type key struct{ source, unit int }
	held := make(map[key][]match)
	total := 0.0
	for i := range words {
		w := &words[i]
		if weightOf(w) == 0 {
			continue
		}
		total += weightOf(w)
		for _, n := range among {
			s := j.source(n)
			for _, p := range s.occurrences(w) {
				held[key{n, p.unit}] = append(held[key{n, p.unit}], match{i, p.word})
			}
			switch {
			case s.inContext(w):
				c.partly[i] = max(c.partly[i], contextCredit)
			case len(s.occurrences(w)) > 0:
				c.partly[i] = max(c.partly[i], elsewhere)
			}
		}
	}
	for len(c.chosen) < maxChosen {
		var best key
		most := 0.0
		for k, matches := range held {
			gain := 0.0
			last := -1
			for _, m := range matches {
				if m.word != last && !c.covered[m.word] && c.isPlausible(m, matches) {
					gain += weightOf(&words[m.word])
				}
				last = m.word
			}
			if len(c.chosen) > 0 && k.source != c.chosen[0].source {
				gain *= 0.9
			}
			if gain > most+1e-9 || gain > most-1e-9 && gain > 0 && (k.source < best.source || k.source == best.source && k.unit < best.unit) {
				best, most = k, gain
			}
		}
		if most == 0 || len(c.chosen) > 0 && most < max(minGain*total, 1) {
			break
		}
		u := chosenUnit{source: best.source, unit: best.unit, first: math.MaxInt, last: -1}
		for _, m := range held[best] {
			if !c.isPlausible(m, held[best]) {
				continue
			}
			if !c.covered[m.word] || len(c.chosen) == 0 {
				u.first, u.last = min(u.first, m.at), max(u.last, m.at)
			}
			c.covered[m.word] = true
		}
		delete(held, best)
		c.chosen = append(c.chosen, u)
	}
	c.compareLanguages()
	c.compareNegation(sentence)
	return c
}

// isPlausible reports whether a match is more than a coincidence. A figure's match is plausible only if another word
// from the sentence is near the figure in the source, or if the sentence's content consists only of figures.
func (c *comparison) isPlausible(m match, all []match) bool {
	const reach = 8 // words
	if c.words[m.word].numbers == nil {
		return true
	}
	other := false // whether the unit has another word from the sentence
	for _, n := range all {
		if c.words[n.word].numbers == nil {
			if max(n.at-m.at, m.at-n.at) <= reach {
				return true
			}
			other = true
		}
	}
	return !other && c.onlyFigures()
}

// onlyFigures reports whether the sentence has no content words other than figures.
func (c *comparison) onlyFigures() bool {
	return !slices.ContainsFunc(c.words, func(w word) bool { return w.isContent() })
}

// match pairs equal words: indexes into the sentence and a source.
type match struct{ word, at int }

// occurrences returns where a word from a sentence occurs in a source.
func (s *source) occurrences(w *word) []at {
	if w.numbers != nil {
		var out []at
		for _, v := range w.numbers {
			for _, p := range s.byNumber[v] {
				if unit := s.words[p.word].unit; w.unit == "" || unit == "" || unit == w.unit {
					out = append(out, p)
				}
			}
		}
		return out
	}
	var out []at
	for _, t := range w.terms {
		out = append(out, s.byTerm[t]...)
	}
	if len(out) == 0 && !strings.ContainsFunc(w.lower, unicode.IsDigit) {
		for _, p := range s.byPrefix[prefixOf(w.lower)] {
			if differOnlyInEnding(w.lower, s.words[p.word].lower) {
				out = append(out, p)
			}
		}
	}
	return out
}

// inContext reports whether a word occurs in the source's headings or name.
func (s *source) inContext(w *word) bool {
	for _, v := range w.numbers {
		if s.context["#"+v] {
			return true
		}
	}
	for _, t := range w.terms {
		if s.context[t] {
			return true
		}
	}
	return false
}

// An answer may seem to be in a different language from its sources. In that case, a sentence counts as a translation
// if less than this fraction of its words is also in the sources.
const foreignShare = 0.4

func (c *comparison) compareLanguages() {
	lang := c.judger.lang
	if lang == analysis.Unknown {
		return
	}
	for _, n := range c.among {
		if other := c.judger.source(n).lang; other == lang || other == analysis.Unknown {
			return
		}
	}
	c.foreign = c.share() < foreignShare
}

// share returns the fraction of the sentence's content words that are in the sources.
func (c *comparison) share() float64 {
	held, total := 0.0, 0.0
	for i := range c.words {
		if w := &c.words[i]; w.isContent() {
			total++
			if c.covered[i] {
				held++
			} else {
				held += c.partly[i]
			}
		}
	}
	if total == 0 {
		return 1
	}
	return held / total
}

// compareNegation compares the sentence with the text around the match in the best unit. It sets c.negated if exactly
// one of the two contains a negation. A word like "forbidden" in only one of them isn't enough, because "not" in the
// other may mean the same.
func (c *comparison) compareNegation(sentence string) {
	if len(c.chosen) == 0 {
		return
	}
	u := c.chosen[0]
	s := c.judger.source(u.source)
	part := s.units[u.unit]
	own, ownRestricts := negated(c.words)
	other, otherRestricts := negated(s.words[s.extend(u.first, part.from, -1) : s.extend(u.last, part.to-1, 1)+1])
	if strings.ContainsFunc(sentence, unspaced) {
		own = own || unspacedNegated(sentence)
		other = other || unspacedNegated(s.text[part.start:part.end])
	}
	c.negated = own != other && ownRestricts == otherRestricts
}

// extend returns the index of the word a few words after from (if step is 1) or before it (if step is -1). It stops at
// limit and at the end of the clause.
func (s *source) extend(from, limit, step int) int {
	const around = 4 // words
	for n := 0; n < around && from != limit; n++ {
		left, right := from, from+step
		if step < 0 {
			left, right = right, left
		}
		if strings.ContainsAny(s.text[s.words[left].end:max(s.words[left].end, s.words[right].start)], ",;:()") {
			break
		}
		from += step
	}
	return from
}

// negated reports whether the words contain a negation, such as "not". restricting is the number of words that are
// themselves negative in meaning, such as "forbidden".
func negated(words []word) (negative bool, restricting int) {
	for _, w := range words {
		switch w.negation {
		case negates:
			negative = true
		case restrict:
			restricting++
		}
	}
	return negative, restricting
}

// Constants for a sentence's score: the factors for errors, the exponent for the fraction of content words found, and
// the maximum score of a translation.
const (
	wrongFigure  = 0.3
	wrongName    = 0.4
	wrongNoun    = 0.6 // in German, where a name may just be a noun
	wrongPolar   = 0.35
	shareCurve   = 0.8
	foreignScore = 0.8 // maximum score of a translation, because only its names and figures are compared
)

// score returns the sentence's support, or nil if there is nothing to compare.
func (c *comparison) score() *float64 {
	comparesFacts, states := false, false // whether the sentence has figures or names; whether it has content at all
	figures, names := 1.0, 1.0
	for i := range c.words {
		w := &c.words[i]
		if weightOf(w) == 0 {
			continue
		}
		states = true
		found := c.covered[i]
		switch {
		case w.numbers != nil:
			comparesFacts = true
			if !found && c.partly[i] < contextCredit {
				figures = min(figures, wrongFigure+0.4*c.partly[i])
			}
		case w.name:
			comparesFacts = true
			if !found && c.partly[i] == 0 {
				factor := wrongName
				if c.judger.reader.langs[0] == "de" && !strings.ContainsFunc(w.lower, unicode.IsDigit) {
					factor = wrongNoun
				}
				names = min(names, factor)
			}
		}
	}
	if !states || c.foreign && !comparesFacts {
		return nil
	}
	score := foreignScore
	if !c.foreign {
		score = math.Pow(c.share(), shareCurve)
	}
	score *= figures * names
	if c.negated && !c.foreign {
		score *= wrongPolar
	}
	return &score
}

// places returns the source passages that support the sentence.
func (c *comparison) places() []sourceRange {
	var out []sourceRange
	for _, u := range c.chosen {
		s := c.judger.source(u.source)
		r := s.widen(domain.TextRange{Start: s.words[u.first].start, End: s.words[u.last].end})
		out = append(out, sourceRange{u.source, r})
	}
	return out
}
