package answer

import (
	"math"
	"regexp"
	"strings"

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

// Shares of a sentence's score beside the weight of the question's words that it holds itself.
const (
	fragmentShare  = 0.3  // words held by the fragment or its heading
	rankShare      = 0.3  // the fragment's score in retrieval
	nearShare      = 0.2  // words that stand together in the question and here
	beforeShare    = 0.25 // words of the sentence before: an answer often follows the sentence that names the subject
	askedDiscount  = 0.5  // for a sentence that asks itself
	scrapDiscount  = 0.6  // for a scrap of a few words: a heading, a label
	scrapTokens    = 5
	nearDistance   = 3 // terms
	borrowedWeight = 0.6
)

// question is what is asked, as terms with weights.
type question struct {
	terms   []analysis.QueryTerm
	weights []float64
	total   float64
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
	own := make(map[string]bool)
	for _, t := range analysis.Query(p.Question, langs) {
		own[t.Name] = true
	}
	search := p.Search
	if search == "" {
		search = p.Question
	}
	q := question{terms: analysis.Query(search, langs)}
	rare := 0.0
	for _, w := range p.TermWeights {
		rare = max(rare, w)
	}
	for _, t := range q.terms {
		w := termWeight(p.TermWeights, t, rare)
		if !own[t.Name] {
			w *= borrowedWeight
		}
		q.weights = append(q.weights, w)
		q.total += w
	}
	return q
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

// readFragment scores the sentences of a fragment and returns the share of the question that the fragment covers.
func (q question) readFragment(i int, f domain.Fragment) (covered float64, out []sentence) {
	if q.total == 0 {
		return 0, nil
	}
	lang := analysis.Detect(f.Text)
	all := positions(analysis.Terms(f.Text+"\n"+titleOf(f), lang))
	covered = q.share(all)
	before := 0.0
	for n, text := range sentencesOf(f.Text) {
		text = quotation(text)
		at := positions(analysis.Terms(text, lang))
		own := q.share(at)
		score := own + beforeShare*before
		if score > 0 {
			score += fragmentShare*covered + rankShare*f.Score + nearShare*q.near(at)
		}
		if isQuestion(text) {
			score *= askedDiscount
		} else if chunk.Tokens(text) <= scrapTokens {
			score *= scrapDiscount
		}
		before = own
		if score > 0 && text != "" {
			out = append(out, sentence{fragment: i, position: n, text: text, terms: keys(at), score: score})
		}
	}
	return covered, out
}

// share is the weight of the question's terms found, over the weight of all.
func (q question) share(at map[string][]int) float64 {
	sum := 0.0
	for i, t := range q.terms {
		if len(occurrences(at, t)) > 0 {
			sum += q.weights[i]
		}
	}
	return sum / q.total
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

// imagesInText are Markdown images.
var imagesInText = regexp.MustCompile(`!\[([^\]\n]{0,200})\]\([^)\n]{0,1000}\)`)

// sentencesOf divides a fragment's text; the rows of a table count as sentences. Images are left out, for a reader's
// browser would fetch them from wherever the document says.
func sentencesOf(text string) []string {
	var out []string
	text = imagesInText.ReplaceAllString(text, "$1")
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.Contains(part, "\t") {
			out = append(out, strings.Split(part, "\n")...)
			continue
		}
		for _, s := range chunk.Sentences(part) {
			out = append(out, part[s.Start:s.End])
		}
	}
	return out
}
