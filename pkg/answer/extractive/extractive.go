// Package extractive is a chat provider without a language model: it quotes the document sentences that answer the
// question. Only pkg/app imports it; it imports no other provider.
package extractive

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	syntax "github.com/sluice/sluice/pkg/question"
)

// Provider answers without a language model: it quotes the sentences that answer the question, marks them as
// quotations, and cites their sources. It ranks sentences by the words they share with the question, weighted by
// rarity, and by their fragment's score.
type Provider struct {
	words WordVectors
}

// New returns the built-in provider. If `words` is nil, a text matches only if it contains the question's own words;
// otherwise words with related meanings match, too.
func New(words WordVectors) *Provider { return &Provider{words: words} }

// Limits on an extractive answer.
const (
	maxQuotes          = 3
	maxQuoteCharacters = 600
	maxReadFragments   = 10
)

const (
	// How much less than the best sentence a quoted sentence may score.
	nearBest = 2.5
	// Sentences sharing more than this fraction of their words count as repetitions.
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

// finding is an answer's content. Each of its pieces is a function that formats one piece using a language's phrases.
// fragments are the quoted fragments.
type finding struct {
	pieces    []func(phrases) string
	fragments []domain.Fragment

	unanswered []string // parts of a compound question that no passage answers
}

// find selects what to quote. It first looks for an answer to the whole question. Then it tries each part of the
// question that this answer leaves open, and notes which parts remain unanswered.
func (e *Provider) find(ctx context.Context, p chat.Prompt, say phrases) (finding, error) {
	out, err := e.findAnswer(ctx, p, say)
	parts := syntax.Parts(p.Question)
	if err != nil || parts == nil {
		return out, err
	}
	whole := len(out.pieces) > 0
	var unanswered []string
	for _, part := range parts {
		if whole && !slices.Contains(out.unanswered, part.Text) {
			continue
		}
		alone := p
		alone.Question, alone.Search = part.Query, part.Query
		found, err := e.findAnswer(ctx, alone, say)
		if err != nil {
			return out, err
		}
		if len(found.pieces) == 0 {
			unanswered = append(unanswered, part.Text)
			continue
		}
		if !slices.ContainsFunc(found.fragments, func(f domain.Fragment) bool { return containsFragment(out.fragments, f) }) {
			out.pieces = append(out.pieces, found.pieces...)
			out.fragments = append(out.fragments, found.fragments...)
		}
	}
	if len(out.pieces) > 0 {
		out.pieces = append(out.pieces, unansweredNotes(unanswered)...)
	}
	return out, nil
}

func containsFragment(fragments []domain.Fragment, f domain.Fragment) bool {
	return slices.ContainsFunc(fragments, func(other domain.Fragment) bool { return other.ChunkID == f.ChunkID && other.Text == f.Text })
}

// unansweredNotes returns a piece for each unanswered part of the question. In the given language's phrases, it says
// that the documents do not answer this part.
func unansweredNotes(unanswered []string) []func(phrases) string {
	var out []func(phrases) string
	for _, part := range unanswered {
		out = append(out, func(say phrases) string {
			return "\n\n" + say.Unanswered + " " + say.Open + quotation(part) + say.Close
		})
	}
	return out
}

// findAnswer selects what to quote. If some sentences are probably the answer, it quotes only those. Otherwise it
// quotes, for each clause of the question, the passage with the largest share of the clause's topics.
func (e *Provider) findAnswer(ctx context.Context, p chat.Prompt, say phrases) (out finding, err error) {
	fragments := p.Fragments[:min(len(p.Fragments), maxReadFragments)]
	q, err := e.analyse(ctx, p, fragments)
	if err != nil || len(fragments) == 0 {
		return out, err
	}
	room := math.MaxInt
	if p.Params.MaxTokens != nil {
		room = *p.Params.MaxTokens - chunk.Tokens(say.Quotes)
	}
	clauses := clausesOf(p.Question)
	pages := pagesOf(fragments)
	quotes := pick(q.sentences(pages), p.Fragments, room)
	certain := slices.ContainsFunc(quotes, func(s sentence) bool { return s.evidence.certain })
	if about := q.topicsOf(""); len(clauses) == 1 && !certain {
		if at, _ := q.best(pages, about); at >= 0 && q.lacksSubject(pages, at, about) {
			return out, nil
		}
	}
	if !q.quotesAnswerAll(quotes, pages, clauses) {
		most := min(formCharacters, max(min(room, formCharacters), 1)*charactersPerToken)
		passages, unanswered := q.passagesFor(clauses, pages, len(quotes) > 0, most)
		if len(passages) == 0 && len(clauses) > 1 {
			passages, unanswered = q.passagesFor([]string{p.Question}, pages, len(quotes) > 0, most)
		}
		if len(passages) > 0 || !q.isSupported(quotes, pages) {
			for i, passage := range passages {
				if room -= pages[passage.fragment].tokens(passage); i > 0 && room < 0 {
					break
				}
				out.pieces = append(out.pieces, func(say phrases) string { return say.formatPassage(passage, pages) })
				out.fragments = append(out.fragments, fragments[passage.fragment])
			}
			out.unanswered = unanswered
			if len(clauses) > 1 || len(passages) == 0 {
				return out, nil
			}
			quotes = q.quotesOutside(quotes, passages, pages, room)
		}
	}
	if len(quotes) == 0 {
		return out, nil
	}
	for _, s := range quotes {
		out.fragments = append(out.fragments, fragments[s.fragment])
	}
	out.pieces = append(out.pieces, func(say phrases) string { return strings.Join(say.quotations(quotes, fragments), "") })
	return out, nil
}

// Estimated characters per token, for converting a token limit into a passage length.
const charactersPerToken = 3

// quotesAnswerAll reports whether the quotations alone answer every clause of the question, without the text around
// them. It returns true for scripts without spaces, because topics cannot be determined for these.
func (q question) quotesAnswerAll(quotes []sentence, pages []page, clauses []string) bool {
	if q.unspaced {
		return true
	}
	for _, clause := range clauses {
		if !q.quotesAnswer(quotes, pages, q.topicsOf(clause)) {
			return false
		}
	}
	return true
}

// quotesAnswer reports whether the quotations answer the question without the text around them. Any of these is enough:
// a quotation with most of the topics, a block of program code, or a table row about the thing named in the question.
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

// quotesOutside returns the quotes to show in addition to the passages: those outside the passages that may also answer
// the question. `tokens` limits their total length.
func (q question) quotesOutside(quotes []sentence, passages []passage, pages []page, tokens int) []sentence {
	about := q.topicsOf("")
	return slices.DeleteFunc(quotes, func(s sentence) bool {
		if s.kind != partProse || !endsSentence(s.text) || !q.hasDistinctiveTopic(s, pages, about) {
			return true
		}
		if slices.ContainsFunc(passages, func(p passage) bool { return p.fragment == s.fragment && pages[p.fragment].contains(p, s.text) }) {
			return true
		}
		tokens -= chunk.Tokens(s.text)
		return tokens < 0
	})
}

// hasDistinctiveTopic reports whether a sentence contains a topic that is neither a name nor in the headings. A
// sentence that only repeats a company's name, for example, answers nothing. If all topics are names or in the
// headings, any topic is enough.
func (q question) hasDistinctiveTopic(s sentence, pages []page, about topics) bool {
	return q.coverageOf(q.distinctive(pages[s.fragment], about), s.said) > 0
}

// isSupported reports whether a quotation is probably an answer even though no passage contains enough of the topics.
// The quotation must be a whole sentence, and its fragment must contain some of the topics. Neither is required if the
// datastore has too few chunks for meaningful word frequencies.
func (q question) isSupported(quotes []sentence, pages []page) bool {
	about := q.topicsOf("")
	return slices.ContainsFunc(quotes, func(s sentence) bool {
		p := pages[s.fragment]
		return q.isEligible(p, about) && (q.few ||
			q.hasDistinctiveTopic(s, pages, about) && s.kind == partProse && endsSentence(s.text) && q.coverageOf(about, p.own, p.title) >= keptCover)
	})
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

// sentences returns the sentences on the pages that may answer the question, with their scores. If a document lacks the
// question's topics, it returns only rows identified by the question.
func (q question) sentences(pages []page) []sentence {
	var out []sentence
	about := q.topicsOf("")
	for i, p := range pages {
		if !q.isEligible(p, about) {
			continue
		}
		found := q.readFragment(i, p.fragment, pages[0].fragment.Score)
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

// titleOf returns the headings and the datasource name, because they may name a fragment's subject.
func titleOf(f domain.Fragment) string {
	return rowRange.ReplaceAllString(f.Heading, "") + "\n" + f.DatasourceName
}

// rowRange matches the row numbers in the heading of a partial table. They are not in the document itself.
var rowRange = regexp.MustCompile(`\brows \d+ to \d+$`)
