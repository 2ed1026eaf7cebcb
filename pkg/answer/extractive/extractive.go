// Package extractive is a chat provider without a language model: it quotes the sentences of the documents that answer
// the question. Only the wiring imports it; it imports no other provider.
package extractive

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Provider answers without a language model: it quotes the sentences that answer the question, marks them as
// quotations, and cites each. It ranks sentences by the words they share with the question, weighted by rarity, and by
// the score of their fragment.
type Provider struct {
	words WordVectors
}

// New returns the built-in provider. With word vectors, words related to those of the question match too. If words is
// nil, only the question's own words match.
func New(words WordVectors) *Provider { return &Provider{words: words} }

// Limits of an extractive answer.
const (
	maxQuotes          = 3
	maxQuoteCharacters = 600
	maxListed          = 12 // entries of a list that is quoted whole
	maxListCharacters  = 1200
	maxReadFragments   = 10
)

const (
	// Maximum difference between the best sentence's score and that of another quoted sentence.
	nearBest = 2.5
	// Overlap of two sentences' words above which they count as repetitions.
	sameTerms = 0.7
	// Share of the question's words that a row or entry must contain, relative to the best one, to be quoted too.
	sameThing = 0.95
)

// Complete implements chat.Provider. It reports no token counts. MaxTokens limits the quotations, except that the first
// sentence is always quoted.
func (e *Provider) Complete(ctx context.Context, p chat.Prompt, emit func(text string) error) (chat.Completion, error) {
	say := phrases(language.PhrasesFor(p.Question, p.Earlier, p.Fragments))
	if p.NoDatastores {
		return chat.Completion{NoAnswer: true}, emit(say.Empty)
	}
	sentences, err := e.read(ctx, p)
	if err != nil {
		return chat.Completion{}, err
	}
	room := math.MaxInt
	if p.Params.MaxTokens != nil {
		room = *p.Params.MaxTokens - chunk.Tokens(say.Quotes)
	}
	quotes := pick(sentences, p.Fragments, room)
	if len(quotes) == 0 {
		return chat.Completion{NoAnswer: true}, emit(say.NoAnswer)
	}
	var quoted []domain.Fragment
	for _, q := range quotes {
		quoted = append(quoted, p.Fragments[q.fragment])
	}
	say = phrases(language.PhrasesFor(p.Question, p.Earlier, quoted))
	if err := emit(say.Quotes); err != nil {
		return chat.Completion{}, err
	}
	for _, piece := range say.quotations(quotes, p.Fragments) {
		if err := ctx.Err(); err != nil {
			return chat.Completion{}, err
		}
		if err := emit(piece); err != nil {
			return chat.Completion{}, err
		}
	}
	return chat.Completion{}, nil
}

// read scores the candidate sentences of the prompt's fragments.
func (e *Provider) read(ctx context.Context, p chat.Prompt) ([]sentence, error) {
	fragments := p.Fragments[:min(len(p.Fragments), maxReadFragments)]
	q := newQuestion(p, fragments)
	if e.words != nil {
		if err := q.addKin(ctx, e.words, p.Question, fragments); err != nil {
			return nil, fmt.Errorf("looking for kindred words: %w", err)
		}
	}
	var out []sentence
	for i, f := range fragments {
		out = append(out, q.readFragment(i, f, fragments[0].Score)...)
	}
	return out, nil
}

// isQuestion reports whether a sentence is a question.
func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
}

// titleOf returns the headings and the datasource name, which may name the subject of a fragment.
func titleOf(f domain.Fragment) string { return f.Heading + "\n" + f.DatasourceName }
