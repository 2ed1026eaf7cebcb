package answer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// Extractive answers without a language model: it quotes the sentences that answer, says that it quotes, and cites
// each. It knows sentences by the words they share with the question, rare words counting most, and by how well
// their fragment was found.
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

const (
	// nearBest is how far below the best sentence's score another one may be that is quoted beside it.
	nearBest = 2.5
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
	quotes := pick(sentences, p.Fragments, room)
	if len(quotes) == 0 {
		return Completion{Unanswered: true}, emit(say.nothing)
	}
	if err := emit(say.quotes); err != nil {
		return Completion{}, err
	}
	for _, q := range joined(quotes, p.Fragments) {
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
// fragment as ranked, then as they stand. It chooses none when the best one is not likely to answer. What speaks to a
// language model is no answer, nor is what follows it in the same fragment.
func pick(sentences []sentence, fragments []domain.Fragment, tokens int) []sentence {
	sentences = candidates(sentences)
	var out []sentence
	length := 0
	spoken := make(map[int]int) // where a fragment begins to speak to a model
	for _, s := range sentences {
		n := utf8.RuneCountInString(s.text)
		if len(out) == maxQuotes || len(out) > 0 && s.evidence.asks {
			break
		}
		if len(out) > 0 && length+n > maxQuoteCharacters || slices.ContainsFunc(out, s.repeats) {
			continue
		}
		from, known := spoken[s.fragment]
		if !known {
			from = speaksToModel(fragments[s.fragment])
			spoken[s.fragment] = from
		}
		if s.position >= from {
			continue
		}
		if len(out) == 0 && !s.evidence.answered(fragments) {
			return nil
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

// candidates are the sentences that come near the best one, best first. Where some of them hold the rarest word of the
// question, those of fragments that have none of them drop out: they speak of the same subject, but of another matter.
func candidates(sentences []sentence) []sentence {
	slices.SortStableFunc(sentences, func(a, b sentence) int { return cmp.Compare(b.score, a.score) })
	near := slices.IndexFunc(sentences, func(s sentence) bool { return s.score < sentences[0].score-nearBest })
	if near < 0 {
		near = len(sentences)
	}
	speaking := make(map[int]bool)
	for _, s := range sentences[:near] {
		speaking[s.fragment] = speaking[s.fragment] || s.rare
	}
	if !slices.ContainsFunc(sentences[:near], func(s sentence) bool { return s.rare }) {
		return sentences[:near]
	}
	return slices.DeleteFunc(sentences[:near], func(s sentence) bool { return !speaking[s.fragment] })
}

// speaksToModel is the position of the first sentence of a fragment that speaks to a language model; beyond all of them
// when none does.
func speaksToModel(f domain.Fragment) int {
	for n, text := range sentencesOf(f.Text) {
		if addressesModel(text) {
			return n
		}
	}
	return math.MaxInt
}

// excerpt is what is quoted of a fragment in one piece.
type excerpt struct {
	fragment int
	text     string
}

// joined makes quotations of sentences in reading order: those that follow one another become one. A sentence whose
// beginning or end the fragment does not have is marked.
func joined(sentences []sentence, fragments []domain.Fragment) []excerpt {
	var out []excerpt
	for i, s := range sentences {
		text := s.text
		if first, _ := utf8.DecodeRuneInString(text); s.position == 0 && fragments[s.fragment].Offset > 0 && unicode.IsLower(first) {
			text = "… " + text
		}
		if s.last && cutOff(text) {
			text += " …"
		}
		if i > 0 && sentences[i-1].fragment == s.fragment && sentences[i-1].position == s.position-1 {
			before := &out[len(out)-1].text
			*before += between(*before, text) + text
			continue
		}
		out = append(out, excerpt{s.fragment, text})
	}
	return out
}

// cutOff reports whether a text of several words breaks off: prose that ends in a letter, a comma or the like.
func cutOff(text string) bool {
	if strings.ContainsAny(text, "\n·") || recordLine.MatchString(text) || itemLine.MatchString(text) || chunk.Tokens(text) <= 2*scrapTokens {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(last) || last == ',' || last == ';'
}

// between is what stands between two sentences that follow one another.
func between(a, b string) string {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	switch {
	case strings.Contains(a, "\n") || recordLine.MatchString(b) || itemLine.MatchString(b) || strings.Contains(b, " · ") || !ends(a):
		return "\n"
	case wide(first) || strings.ContainsRune("。！？」』", last):
		return ""
	}
	return " "
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
		out = append(out, q.readFragment(i, f, fragments[0].Score)...)
	}
	return out, nil
}

// spacedMarks are a document's own reference marks with the space before them.
var spacedMarks = regexp.MustCompile(`[ \t]?` + marksInText.String())

// codeFence opens or closes a block of code, with the name of its language.
var codeFence = regexp.MustCompile("```+[a-zA-Z0-9_+-]*[ \\t]*\\n?")

// quotation makes a sentence fit to be quoted: each of its lines without superfluous space, and without the document's
// own reference marks, which would be taken for ours.
func quotation(text string) string {
	text = spacedMarks.ReplaceAllString(text, "")
	text = marksInText.ReplaceAllString(text, "($1)") // what taking out a mark has brought together
	text = codeFence.ReplaceAllString(text, "")
	if strings.Count(text, "`")%2 != 0 || strings.Contains(text, "``") {
		text = strings.ReplaceAll(text, "`", "") // one that stays open would make code of our citation
	}
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
