package answer

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
)

// Extractive answers without a language model: it quotes the sentences that answer, says that it quotes, and cites
// each. It knows sentences by the words they share with the question, rare words counting most.
type Extractive struct{}

// NewExtractive returns the built-in provider.
func NewExtractive() *Extractive { return &Extractive{} }

// Bounds of an extractive answer.
const (
	maxQuotes          = 3
	maxQuoteCharacters = 600
	maxReadFragments   = 10
)

// Thresholds of an extractive answer, as shares of the weight of the question's words.
const (
	// minCoverage is what the best fragment must hold; below it the documents do not speak of the question. In scripts
	// without spaces a question's words become many overlapping pairs of characters, of which fewer are found.
	minCoverage         = 0.3
	minCoverageUnspaced = 0.2
	// nearBest is the share of the best sentence's score that another one needs to be quoted beside it.
	nearBest = 0.8
	// sameTerms is the overlap of two sentences' words from which they say the same.
	sameTerms = 0.7
)

// Complete implements Provider. It counts no tokens, for it has none.
func (*Extractive) Complete(ctx context.Context, p Prompt, emit func(text string) error) (Completion, error) {
	say := phrasesFor(p.Question)
	quotes := pick(read(p))
	if len(quotes) == 0 {
		return Completion{}, emit(say.nothing)
	}
	if err := emit(say.quotes); err != nil {
		return Completion{}, err
	}
	for _, q := range quotes {
		if err := ctx.Err(); err != nil {
			return Completion{}, err
		}
		if err := emit("\n\n" + say.open + q.text + say.close + " [" + strconv.Itoa(q.fragment+1) + "]"); err != nil {
			return Completion{}, err
		}
	}
	return Completion{}, nil
}

// pick chooses the sentences to quote and puts them into reading order: by fragment as ranked, then as they stand.
func pick(sentences []sentence) []sentence {
	slices.SortStableFunc(sentences, func(a, b sentence) int { return cmp.Compare(b.score, a.score) })
	var out []sentence
	length := 0
	for _, s := range sentences {
		n := utf8.RuneCountInString(s.text)
		if len(out) == maxQuotes || len(out) > 0 && (s.score < nearBest*out[0].score || length+n > maxQuoteCharacters) {
			break
		}
		if slices.ContainsFunc(out, s.repeats) {
			continue
		}
		out = append(out, s)
		length += n
	}
	slices.SortFunc(out, func(a, b sentence) int {
		return cmp.Or(cmp.Compare(a.fragment, b.fragment), cmp.Compare(a.position, b.position))
	})
	return out
}

// read scores every sentence of the prompt's fragments; none when no fragment speaks of the question.
func read(p Prompt) []sentence {
	fragments := p.Fragments[:min(len(p.Fragments), maxReadFragments)]
	q := newQuestion(p, fragments)
	var out []sentence
	best := 0.0
	for i, f := range fragments {
		covered, found := q.readFragment(i, f)
		best = max(best, covered)
		out = append(out, found...)
	}
	enough := minCoverage
	switch languageOf(p.Question) {
	case "zh", "ja", "ko", "th":
		enough = minCoverageUnspaced
	}
	if best < enough {
		return nil
	}
	return out
}

// quotation makes a sentence fit to be quoted: on one line, and without the document's own reference marks, which would
// be taken for ours.
func quotation(text string) string {
	text = marksInText.ReplaceAllString(text, "")
	text = marksInText.ReplaceAllString(text, "($1)") // what taking out a mark has brought together
	text = strings.ReplaceAll(strings.TrimSpace(text), "\t", " · ")
	return oneLine(text, maxQuoteCharacters)
}

// isQuestion reports whether a sentence asks rather than answers.
func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
}

// titleOf is what places a fragment that does not name its subject itself.
func titleOf(f domain.Fragment) string { return f.Heading + "\n" + f.DatasourceName }
