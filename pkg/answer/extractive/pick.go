package extractive

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/fence"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
)

// pick selects the sentences to quote, in reading order: fragments by rank, then by position. tokens limits the
// sentences' total length, not counting the first sentence. Sentences that address a language model are excluded, along
// with all sentences after them in the same fragment.
func pick(sentences []sentence, fragments []domain.Fragment, tokens int) []sentence {
	sentences = slices.DeleteFunc(sentences, afterOrders(fragments))
	sentences = candidates(sentences)
	var out []sentence
	length := 0
	for _, s := range sentences {
		n := utf8.RuneCountInString(s.shown)
		if len(out) == maxQuotes {
			break
		}
		if len(out) > 0 && length+n > maxQuoteCharacters || slices.ContainsFunc(out, s.repeats) {
			continue
		}
		if tokens -= chunk.Tokens(s.shown); tokens < 0 && len(out) > 0 {
			break
		}
		out = append(out, s)
		length += n
	}
	if len(out) > 0 {
		inReadingOrder(out)
	}
	return out
}

// inReadingOrder sorts sentences by fragment and position. The fragment that contains sentences[0], which must be the
// best sentence, comes first. The other fragments follow by rank.
func inReadingOrder(sentences []sentence) {
	best := sentences[0].fragment
	rank := func(s sentence) int {
		if s.fragment == best {
			return -1
		}
		return s.fragment
	}
	slices.SortFunc(sentences, func(a, b sentence) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.position, b.position))
	})
}

// candidates returns the sentences that score nearly as high as the best one, best first. It drops:
//
//   - sentences from fragments that lack the question's rarest word, if another fragment contains it;
//   - if the best sentence is a row or an entry, other rows and entries that contain fewer of the question's words,
//     because those describe something else.
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
	rare := slices.ContainsFunc(sentences[:near], func(s sentence) bool { return s.rare })
	out := slices.DeleteFunc(sentences[:near], func(s sentence) bool { return rare && !speaking[s.fragment] })
	if len(out) == 0 {
		return nil
	}
	best := out[0]
	return slices.DeleteFunc(out, func(s sentence) bool {
		return best.isRowOrEntry() && s.isRowOrEntry() && s.evidence.own < sameThing*best.evidence.own
	})
}

// isRowOrEntry reports whether a part is a row or an entry, and thus one of several items of the same kind.
func (p part) isRowOrEntry() bool { return p.kind == partRow || p.kind == partEntry }

// afterOrders returns a function that reports whether a sentence, or one before it in the same fragment, addresses a
// language model.
func afterOrders(fragments []domain.Fragment) func(sentence) bool {
	from := make(map[int]int) // by fragment
	return func(s sentence) bool {
		n, known := from[s.fragment]
		if !known {
			n = speaksToModel(fragments[s.fragment])
			from[s.fragment] = n
		}
		return s.position >= n
	}
}

// speaksToModel returns the position of a fragment's first part that addresses a language model, or one after the last
// part.
func speaksToModel(f domain.Fragment) int {
	for n, p := range partsOf(f) {
		if fence.AddressesModel(p.words()) {
			return n
		}
	}
	return math.MaxInt
}
