package answer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Extractive answers without a language model: it quotes the sentences that answer, says that it quotes, and cites
// each. It knows sentences by the words they share with the question, rare words counting most. A sentence that lacks
// what the question names, or its rarest word, is no answer.
type Extractive struct {
	words WordVectors
}

// NewExtractive returns the built-in provider. With words it takes kindred words for those of the question; nil goes by
// the words alone.
func NewExtractive(words WordVectors) *Extractive { return &Extractive{words: words} }

// Bounds of an extractive answer.
const (
	maxQuotes          = 3
	maxQuoteCharacters = 600
	maxReadFragments   = 10
)

// Thresholds of an extractive answer, as shares of the weight of the question's words.
const (
	// minCoverage is what a sentence must hold together with its heading and the prose before it. In scripts without
	// spaces a question's words become many overlapping pairs of characters, of which fewer are found.
	minCoverage         = 0.5
	minCoverageUnspaced = 0.2
	// nearlyAll is the coverage that makes good for the rarest word.
	nearlyAll = 0.75
	// nearBest is the share of the best sentence's score that another one needs to be quoted beside it.
	nearBest = 0.8
	// nearCoverage is the share of the best sentence's coverage that it needs as well.
	nearCoverage = 0.9
	// addsBest is the same for one that holds words of the question which no sentence chosen so far has.
	addsBest = 0.65
	// sameTerms is the overlap of two sentences' words from which they say the same.
	sameTerms = 0.7
)

// Complete implements Provider. It counts no tokens, for it has none; MaxTokens bounds what is quoted, of which there is
// at least one sentence.
func (e *Extractive) Complete(ctx context.Context, p Prompt, emit func(text string) error) (Completion, error) {
	say := phrasesFor(p.Question, p.Fragments)
	if p.NoDatastores {
		return Completion{Unanswered: true}, emit(say.empty)
	}
	sentences, err := e.read(ctx, p)
	if err != nil {
		return Completion{}, err
	}
	room := math.MaxInt
	if p.Params.MaxTokens != nil {
		room = *p.Params.MaxTokens - chunk.Tokens(say.quotes)
	}
	quotes := pick(sentences, room)
	if len(quotes) == 0 {
		return Completion{Unanswered: true}, emit(say.nothing)
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

// pick chooses the sentences to quote, within a number of tokens beyond the first, and puts them into reading order: by
// fragment as ranked, then as they stand.
func pick(sentences []sentence, tokens int) []sentence {
	slices.SortStableFunc(sentences, func(a, b sentence) int { return cmp.Compare(b.score, a.score) })
	var out []sentence
	length := 0
	for _, s := range sentences {
		n := utf8.RuneCountInString(s.text)
		if len(out) == maxQuotes || len(out) > 0 && (s.score < addsBest*out[0].score || length+n > maxQuoteCharacters) {
			break
		}
		near := len(out) == 0 || s.score >= nearBest*out[0].score && s.placed >= nearCoverage*out[0].placed
		if !near && !s.adds(out) || slices.ContainsFunc(out, s.repeats) {
			continue
		}
		if tokens -= chunk.Tokens(s.text); tokens < 0 && len(out) > 0 {
			break
		}
		out = append(out, s)
		length += n
	}
	slices.SortFunc(out, func(a, b sentence) int {
		return cmp.Or(cmp.Compare(a.fragment, b.fragment), cmp.Compare(a.position, b.position))
	})
	return out
}

// read scores the sentences of the prompt's fragments that may answer.
func (e *Extractive) read(ctx context.Context, p Prompt) ([]sentence, error) {
	fragments := p.Fragments[:min(len(p.Fragments), maxReadFragments)]
	q := newQuestion(p, fragments)
	if e.words != nil {
		if err := q.addKin(ctx, e.words, p.Question, fragments); err != nil {
			return nil, fmt.Errorf("looking for kindred words: %w", err)
		}
	}
	var out []sentence
	for i, f := range fragments {
		out = append(out, q.readFragment(i, f)...)
	}
	// A sentence that leans on the prose before it for the rarest word is needed only where none holds that word itself.
	if slices.ContainsFunc(out, func(s sentence) bool { return !s.leans && !isQuestion(s.text) }) {
		out = slices.DeleteFunc(out, func(s sentence) bool { return s.leans })
	}
	return out, nil
}

// quotation makes a sentence fit to be quoted: each of its lines without superfluous space, and without the document's
// own reference marks, which would be taken for ours.
func quotation(text string) string {
	text = marksInText.ReplaceAllString(text, "")
	text = marksInText.ReplaceAllString(text, "($1)") // what taking out a mark has brought together
	text = strings.ReplaceAll(strings.TrimSpace(text), "\t", " · ")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = oneLine(line, maxQuoteCharacters); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// isQuestion reports whether a sentence asks rather than answers.
func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
}

// titleOf is what places a fragment that does not name its subject itself.
func titleOf(f domain.Fragment) string { return f.Heading + "\n" + f.DatasourceName }
