package answer

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// sentence is a sentence of a fragment, scored against the question.
type sentence struct {
	fragment int // index in Prompt.Fragments
	position int // within the fragment
	text     string
	terms    map[string]bool
	score    float64
	placed   float64 // share of the question's weight in it, its heading or the prose before it
	leans    bool    // the prose before it holds the rarest word, and neither it nor its heading does
	held     []bool  // terms of the question in it or its heading; nil where words are not parted
}

// adds reports whether s holds terms of the question that none of the others holds.
func (s sentence) adds(others []sentence) bool {
	for i, held := range s.held {
		if held && !slices.ContainsFunc(others, func(o sentence) bool { return o.held[i] }) {
			return true
		}
	}
	return false
}

// repeats reports whether s says what other says, by the overlap of their words.
func (s sentence) repeats(other sentence) bool {
	small, large := s.terms, other.terms
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

// Shares of a sentence's score beside the weight of the question's words that it holds itself or its heading holds.
const (
	headingShare   = 0.6  // of the weight of a word that only the heading or the title holds
	earlierShare   = 0.4  // of the weight of a word that only the fragment holds
	rankShare      = 0.3  // the fragment's score in retrieval
	nearShare      = 0.2  // words that stand together in the question and here
	beforeShare    = 0.25 // words of the sentence before: an answer often follows the sentence that names the subject
	askedDiscount  = 0.5  // for a sentence that asks itself
	scrapDiscount  = 0.6  // for a scrap of a few words: a heading, a label
	scrapTokens    = 5
	nearDistance   = 3    // terms
	borrowedWeight = 0.3  // of a word from the question before
	framingWeight  = 0.15 // of a word that only shapes the question
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

// rarestTerms marks the own terms of the greatest weight.
func (q question) rarestTerms() []bool {
	most := 0.0
	for i, w := range q.weights {
		if q.own[i] && !q.names[i] && !q.framing[i] {
			most = max(most, w)
		}
	}
	out := make([]bool, len(q.terms))
	for i, w := range q.weights {
		out[i] = q.own[i] && !q.names[i] && !q.framing[i] && w >= most
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

// readFragment scores the sentences of a fragment that may answer.
func (q question) readFragment(i int, f domain.Fragment) []sentence {
	if q.total == 0 {
		return nil
	}
	lang := analysis.Detect(f.Text)
	var analyzer analysis.Analyzer // remembers stems
	heading := positions(analyzer.Terms(titleOf(f), lang))
	whole := positions(analyzer.Terms(f.Text, lang))
	earlier := make(map[string][]int) // of the prose up to here
	before := 0.0
	var out []sentence
	for n, text := range sentencesOf(f.Text) {
		text = quotation(text)
		at := positions(analyzer.Terms(text, lang))
		record := recordLine.MatchString(text) || itemLine.MatchString(text) || strings.Contains(text, " · ")
		c := q.cover(at, heading, earlier, whole, record)
		score := c.score + beforeShare*before + rankShare*f.Score + nearShare*q.near(at)
		if isQuestion(text) {
			score *= askedDiscount
		} else if chunk.Tokens(text) <= scrapTokens || q.unspaced && n == 0 && !ends(text) {
			score *= scrapDiscount
		}
		before = c.own
		if !record {
			for t := range at {
				earlier[t] = at[t]
			}
		}
		if text != "" && c.answers {
			out = append(out, sentence{fragment: i, position: n, text: text, terms: keys(at), score: score, placed: c.placed, leans: c.leans, held: c.held})
		}
	}
	return out
}

// ends reports whether a text ends as a sentence does.
func ends(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.Is(unicode.STerm, last)
}

// coverage is what a sentence holds of the question.
type coverage struct {
	own     float64 // share of the question's weight in the sentence itself
	score   float64 // the same, with shares for heading and fragment
	placed  float64 // share in the sentence, its heading or the prose before it
	leans   bool    // only the prose before holds the rarest word
	held    []bool  // terms in the sentence or its heading
	answers bool    // enough for an answer
}

// cover looks the question's terms up in a sentence, then in its heading, then in the prose before it, then in the
// fragment. A sentence may answer when it or its heading holds the names of the question, or the prose before it does,
// and the rarest other word, or nearly all words.
func (q question) cover(at, heading, earlier, whole map[string][]int, record bool) coverage {
	c := coverage{held: make([]bool, len(q.terms))}
	named, rare := true, true
	for i, w := range q.weights {
		w /= q.total
		here, above := q.holds(at, i), q.holds(heading, i)
		c.held[i] = here+above > 0
		c.own += w * here
		soon := 0.0
		if !record {
			soon = q.holds(earlier, i)
		}
		switch {
		case here > 0:
			c.score += w * here
			c.placed += w
		case above > 0:
			c.score += w * above * headingShare
			c.placed += w
		case q.holds(whole, i) > 0:
			c.score += w * earlierShare
			if soon > 0 {
				c.placed += w
			}
		}
		present := c.held[i] || soon > 0
		named = named && (present || !q.names[i])
		rare = rare && (present || !q.rarest[i])
		c.leans = c.leans || q.rarest[i] && !c.held[i] && soon > 0
	}
	if q.unspaced { // pairs of characters: many are no words, none can be demanded
		c.answers = c.own >= minCoverageUnspaced
		c.leans, c.held = false, nil
		return c
	}
	c.answers = c.own > 0 && named && (rare && c.placed >= minCoverage || c.placed >= nearlyAll)
	if c.leans { // "it" must at least speak of something asked in the question's own words
		c.answers = c.answers && slices.ContainsFunc(q.terms, func(t analysis.QueryTerm) bool { return len(occurrences(at, t)) > 0 })
	}
	return c
}

// holds tells how far a text holds a term: 1 when it does, kinShare when it has a kindred word, else 0.
func (q question) holds(at map[string][]int, i int) float64 {
	if len(occurrences(at, q.terms[i])) > 0 {
		return 1
	}
	for _, k := range q.kin[i] {
		if len(at[k]) > 0 {
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
