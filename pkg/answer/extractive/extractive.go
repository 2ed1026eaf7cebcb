// Package extractive is a chat provider without a language model: it quotes the document sentences that answer the
// question. Only pkg/app imports it; it imports no other provider.
package extractive

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/lists"
	syntax "github.com/sluice/sluice/pkg/question"
)

// Provider answers without a language model. It quotes and cites the sentences that answer the question. It ranks
// sentences by the words they share with the question, weighted by rarity, and by their fragments' scores.
type Provider struct {
	words WordVectors
}

// New returns the built-in provider. With word vectors, related words match as well; if words is nil, only the
// question's own words match.
func New(words WordVectors) *Provider { return &Provider{words: words} }

// Limits on an extractive answer.
const (
	maxQuotes          = 3
	maxQuoteCharacters = 600
	maxReadFragments   = 10
)

const (
	// Maximum amount by which a quoted sentence's score may be lower than the best sentence's.
	nearBest = 2.5
	// A sentence that shares more than this fraction of its words with another sentence repeats it.
	sameTerms = 0.7
	// If the best quotation is a row or entry, another row or entry is quoted only if its share of the question's words
	// is at least this fraction of the best one's.
	sameThing = 0.95
)

// Complete implements chat.Provider. It reports no token counts. MaxTokens limits the quotations, but the first
// sentence is always quoted.
func (e *Provider) Complete(ctx context.Context, p chat.Prompt, emit func(text string) error) (chat.Completion, error) {
	p.Question = language.WithoutClientText(p.Question)
	say := phrases(language.PhrasesFor(p.Question, p.Earlier, p.Fragments))
	if p.NoDatastores {
		return chat.Completion{NoAnswer: true}, emit(say.Empty)
	}
	found, err := e.find(ctx, p, say)
	if err != nil {
		return chat.Completion{}, err
	}
	if len(found.pieces) == 0 {
		return chat.Completion{NoAnswer: true}, emit(say.NoAnswer)
	}
	say = phrases(language.PhrasesFor(p.Question, p.Earlier, found.fragments))
	if err := emit(say.Quotes); err != nil {
		return chat.Completion{}, err
	}
	for _, piece := range found.pieces {
		if err := ctx.Err(); err != nil {
			return chat.Completion{}, err
		}
		if err := emit(piece(say)); err != nil {
			return chat.Completion{}, err
		}
	}
	return chat.Completion{}, nil
}

// finding is an answer's content, together with the fragments it quotes. Each element of pieces is a function that
// formats one piece using a language's phrases.
type finding struct {
	pieces    []func(phrases) string
	fragments []domain.Fragment
}

// find selects what to quote. If the question has several parts, it tries to answer each of them and says which ones
// remain unanswered.
func (e *Provider) find(ctx context.Context, p chat.Prompt, say phrases) (out finding, err error) {
	p.Fragments = p.Fragments[:min(len(p.Fragments), maxReadFragments)]
	pages := pagesOf(p.Fragments)
	tokens := math.MaxInt
	if p.Params.MaxTokens != nil {
		tokens = *p.Params.MaxTokens - chunk.Tokens(say.Quotes)
	}
	parts := syntax.Parts(p.Question)
	if parts == nil {
		answer, err := e.findAnswer(ctx, p, pages, tokens, wholeQuestion)
		return findingOf([]selection{answer}, pages), err
	}
	answers, read := make([]selection, len(parts)), make([]bool, len(parts))
	answered := 0
	// Once one part is answered, the documents are probably about the question, so the other parts are retried with
	// less strict checks.
	for _, state := range []partState{firstPart, furtherPart} {
		if state == furtherPart && answered == 0 {
			break
		}
		for i, part := range parts {
			if !answers[i].isEmpty() || tokens < 0 {
				continue
			}
			read[i] = true
			answers[i], err = e.findAnswer(ctx, partPrompt(p, part, i, len(parts)), pages, tokens, state)
			if err != nil {
				return out, err
			}
			if !answers[i].isEmpty() {
				answered++
				tokens -= answers[i].tokens(pages)
			}
		}
	}
	var unanswered []string
	for i, s := range answers {
		if s.isEmpty() && read[i] { // the token limit may be reached before a part is read
			unanswered = append(unanswered, parts[i].Text)
		}
	}
	withoutRepetitions(answers, pages)
	if out = findingOf(answers, pages); len(out.pieces) > 0 {
		out.pieces = append(out.pieces, unansweredNotes(unanswered)...)
	}
	return out, nil
}

// partPrompt returns the prompt for the i-th of n parts of a question. If words from earlier questions were added to
// the whole question's search query, they are added to the part's query, too. If the part was searched for separately,
// the fragments get their scores from that search.
func partPrompt(p chat.Prompt, part syntax.Part, i, n int) chat.Prompt {
	earlier, ok := strings.CutSuffix(p.Search, p.Question)
	if !ok {
		earlier = ""
	}
	p.Question, p.Search = part.Text, earlier+part.Query
	if len(p.Scores) == 0 || len(p.Scores[0].Parts) != n {
		return p
	}
	scores := p.Scores
	p.Fragments, p.Scores = slices.Clone(p.Fragments), make([]chat.FragmentScores, len(p.Fragments))
	for j := range p.Fragments {
		p.Fragments[j].Score, p.Scores[j].Relevance = scores[j].Parts[i], scores[j].PartRelevances[i]
	}
	return p
}

// unansweredNotes returns one piece per unanswered part, saying that the documents do not answer it.
func unansweredNotes(unanswered []string) []func(phrases) string {
	var out []func(phrases) string
	for _, part := range unanswered {
		out = append(out, func(say phrases) string {
			return "\n\n" + say.Unanswered + " " + say.Open + quotation(part) + say.Close
		})
	}
	return out
}

// selection holds the passages and sentences to quote for a question or a part of one.
type selection struct {
	passages []passage
	quotes   []sentence
}

func (s selection) isEmpty() bool { return len(s.passages)+len(s.quotes) == 0 }

// tokens estimates the length of the selection in tokens.
func (s selection) tokens(pages []page) (n int) {
	for _, p := range s.passages {
		n += pages[p.fragment].tokens(p)
	}
	for _, quote := range s.quotes {
		n += chunk.Tokens(quote.shown)
	}
	return n
}

// partState says whether a question is part of a larger one.
type partState int

const (
	wholeQuestion partState = iota
	firstPart               // no other part is answered yet
	furtherPart             // another part is answered
)

// findAnswer selects what to quote for a question with a single part, or for one part. It selects nothing if the
// fragments are unlikely to contain the answer. It selects sentences that are likely to be the answer, with their
// context if they are short. If there are none, it selects the passage that contains the largest fraction of the
// question's topics.
func (e *Provider) findAnswer(ctx context.Context, p chat.Prompt, pages []page, tokens int, state partState) (out selection, err error) {
	q, err := e.analyse(ctx, p, p.Fragments)
	if err != nil || len(pages) == 0 {
		return out, err
	}
	pages = withScores(pages, p.Fragments)
	quotes := pick(q.sentences(pages), p.Fragments, tokens)
	certain := slices.ContainsFunc(quotes, func(s sentence) bool { return s.evidence.certain })
	if !certain && !q.isAnswered(pages, quotes, leadOf(p.Fragments, p.Scores), state) {
		return out, nil
	}
	characters := min(formCharacters, max(min(tokens, formCharacters), 1)*charactersPerToken)
	if q.unspaced { // topics cannot be determined
		out.quotes = quotes
		return out, nil
	}
	if q.quotesAnswer(quotes, pages, q.topicsOf(p.Question)) {
		return q.inContext(quotes, pages, min(characters, contextCharacters)), nil
	}
	passage, found := q.passageFor(pages, state != wholeQuestion, characters)
	if found {
		out.passages = append(out.passages, passage)
		out.quotes = q.quotesOutside(quotes, passage, pages, tokens-pages[passage.fragment].tokens(passage))
	}
	return out, nil
}

// inContext returns a selection with the quotes. If the quotes are short and the best one is prose that lacks some
// topics, the selection contains the passage around the best quote instead, up to `characters` characters.
func (q question) inContext(quotes []sentence, pages []page, characters int) selection {
	best := slices.MaxFunc(quotes, func(a, b sentence) int { return cmp.Compare(a.score, b.score) })
	length := 0
	for _, s := range quotes {
		length += utf8.RuneCountInString(s.text)
	}
	if best.evidence.certain || best.kind == partRow || best.kind == partCode || q.coverageOf(q.topicsOf(""), best.said) >= titledShare || length >= shortQuotes {
		return selection{quotes: quotes}
	}
	p, found := pages[best.fragment].around(best, characters)
	if !found {
		return selection{quotes: quotes}
	}
	return selection{passages: []passage{p}, quotes: slices.DeleteFunc(quotes, func(s sentence) bool {
		return s.fragment == p.fragment && pages[p.fragment].contains(p, s.text)
	})}
}

// Estimated characters per token, for converting a token limit to a passage length.
const charactersPerToken = 3

// withoutRepetitions merges passages that overlap between parts into the first one and removes sentences that are
// already quoted.
func withoutRepetitions(parts []selection, pages []page) {
	var sentences []sentence
	for merged := true; merged; { // a merged passage may adjoin further ones
		merged = false
		for i := range parts {
			parts[i].passages = slices.DeleteFunc(parts[i].passages, func(p passage) bool {
				return slices.ContainsFunc(parts[:i], func(earlier selection) bool {
					n := slices.IndexFunc(earlier.passages, p.adjoins)
					if n >= 0 {
						earlier.passages[n], merged = earlier.passages[n].joined(p), true
					}
					return n >= 0
				})
			})
		}
	}
	for i := range parts {
		parts[i].quotes = slices.DeleteFunc(parts[i].quotes, func(s sentence) bool {
			if slices.ContainsFunc(sentences, s.isSame) || slices.ContainsFunc(parts, func(other selection) bool {
				return slices.ContainsFunc(other.passages, func(p passage) bool { return p.fragment == s.fragment && pages[p.fragment].contains(p, s.text) })
			}) {
				return true
			}
			sentences = append(sentences, s)
			return false
		})
	}
}

// findingOf formats the selections for the parts of a question.
func findingOf(parts []selection, pages []page) (out finding) {
	fragments := lists.Map(pages, func(p page) domain.Fragment { return p.fragment })
	var quotes []sentence // of one or more parts, without a passage in between
	flush := func() {
		if together := quotes; len(together) > 0 {
			out.pieces = append(out.pieces, func(say phrases) string { return strings.Join(say.quotations(together, fragments), "") })
		}
		quotes = nil
	}
	for _, s := range parts {
		for _, p := range s.passages {
			flush()
			out.pieces = append(out.pieces, func(say phrases) string { return say.formatPassage(p, pages) })
			out.fragments = append(out.fragments, fragments[p.fragment])
		}
		for _, quote := range s.quotes {
			quotes = append(quotes, quote)
			out.fragments = append(out.fragments, fragments[quote.fragment])
		}
	}
	flush()
	return out
}

// quotesAnswer reports whether the quotations answer the question even without their context. A single quotation is
// enough if it contains most of the topics, is a block of code, or is a table row about the thing named in the
// question.
func (q question) quotesAnswer(quotes []sentence, pages []page, about topics) bool {
	for _, s := range quotes {
		if s.kind == partRow && isForm(strings.Split(columnsOf(s.text), "\n")) {
			continue
		}
		if s.kind == partCode || s.evidence.certain {
			return true
		}
		if s.evidence.scrap || !q.hasDistinctiveTopic(s, pages, about) || !q.isEligible(pages[s.fragment], about) {
			continue
		}
		own := q.coverageOf(about, s.said)
		if !pages[s.fragment].isProse() {
			own = min(own, q.coverageOf(q.withoutNames(about), s.said))
		}
		whole := s.isRowOrEntry() || endsSentence(s.text)
		if own >= sureShare || whole && own >= ownShare && q.coverageOf(about, s.said, pages[s.fragment].title) >= titledShare {
			return true
		}
	}
	return false
}

// quotesOutside returns quotes to show along with a passage: those that lie outside it and may also answer the
// question. tokens limits their total length.
func (q question) quotesOutside(quotes []sentence, in passage, pages []page, tokens int) []sentence {
	about := q.topicsOf("")
	return slices.DeleteFunc(quotes, func(s sentence) bool {
		if s.kind != partProse || !endsSentence(s.text) || !q.hasDistinctiveTopic(s, pages, about) {
			return true
		}
		if in.fragment == s.fragment && pages[in.fragment].contains(in, s.text) {
			return true
		}
		tokens -= chunk.Tokens(s.text)
		return tokens < 0
	})
}

// hasDistinctiveTopic reports whether a sentence contains a topic that is neither a name nor in the headings. For
// example, a sentence that just repeats a company's name answers nothing. If the question has no such topics, any topic
// is enough.
func (q question) hasDistinctiveTopic(s sentence, pages []page, about topics) bool {
	return q.coverageOf(q.distinctive(pages[s.fragment], about), s.said) > 0
}

// analyse analyses the question and adds related words to its terms.
func (e *Provider) analyse(ctx context.Context, p chat.Prompt, fragments []domain.Fragment) (question, error) {
	q := newQuestion(p, fragments)
	if e.words != nil {
		if err := q.addKin(ctx, e.words, p.Question, fragments); err != nil {
			return q, fmt.Errorf("looking up related words: %w", err)
		}
	}
	return q, nil
}

// bestScore returns the best page's score. For the whole question, the best page is the first one, but for a part of
// the question, it may be another page.
func bestScore(pages []page) (best float64) {
	for _, p := range pages {
		best = max(best, p.fragment.Score)
	}
	return best
}

// sentences returns the pages' sentences that may answer the question, with scores. If a document lacks the topics,
// only rows identified by the question are included.
func (q question) sentences(pages []page) []sentence {
	var out []sentence
	about, best := q.topicsOf(""), bestScore(pages)
	for i, p := range pages {
		if !q.isEligible(p, about) {
			continue
		}
		found := q.readFragment(i, p.fragment, best)
		if q.lacksSubject(pages, i, about) {
			found = slices.DeleteFunc(found, func(s sentence) bool { return !s.evidence.certain })
		}
		out = append(out, found...)
	}
	return out
}

func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "؟")
}

// titleOf returns the headings and the datasource name, which may name a fragment's subject.
func titleOf(f domain.Fragment) string {
	return rowRange().ReplaceAllString(f.Heading, "") + "\n" + f.DatasourceName
}

// rowRange matches the row numbers in a partial table's heading, which are not in the document itself.
var rowRange = lazyregexp.New(`\brows \d+ to \d+$`)
