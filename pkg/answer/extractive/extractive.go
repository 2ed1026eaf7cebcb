// Package extractive answers without a language model: it quotes the sentences of the documents that answer. Only the wiring imports
// it; it imports no other provider.
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

// Provider answers without a language model: it quotes the sentences that answer, says that it quotes, and cites
// each. It knows sentences by the words they share with the question, rare words counting most, and by how well
// their fragment was found.
type Provider struct {
	words WordVectors
}

// New returns the built-in provider. With words it takes kindred words for those of the question; nil goes by
// the words alone.
func New(words WordVectors) *Provider { return &Provider{words: words} }

// Bounds of an extractive answer.
const (
	maxQuotes          = 3
	maxQuoteCharacters = 600
	maxListed          = 12 // entries of a list that is quoted as a whole
	maxListCharacters  = 1200
	maxReadFragments   = 10
)

const (
	// nearBest is how far below the best sentence's score another one may be that is quoted beside it.
	nearBest = 2.5
	// sameTerms is the overlap of two sentences' words from which they say the same.
	sameTerms = 0.7
	// sameThing is how much of the question a row or an entry holds, of what the best one holds, to be quoted beside it.
	sameThing = 0.95
)

// Complete implements Provider. It counts no tokens, for it has none; MaxTokens bounds what is quoted, of which there is
// at least one sentence.
func (e *Provider) Complete(ctx context.Context, p chat.Prompt, emit func(text string) error) (chat.Completion, error) {
	say := phrases(language.PhrasesFor(p.Question, p.Earlier, p.Fragments))
	if p.NoDatastores {
		return chat.Completion{Unanswered: true}, emit(say.Empty)
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
		return chat.Completion{Unanswered: true}, emit(say.Nothing)
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

// read scores the sentences of the prompt's fragments that may answer.
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

// isQuestion reports whether a sentence asks rather than answers.
func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
}

// titleOf is what places a fragment that does not name its subject itself.
func titleOf(f domain.Fragment) string { return f.Heading + "\n" + f.DatasourceName }
