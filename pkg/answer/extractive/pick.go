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

// pick selects the sentences to quote and sorts them into reading order: fragments by rank, then by position. tokens
// limits the total length of all sentences except the first. pick selects none if the best sentence is not likely to be
// an answer. Sentences that address a language model, and all later ones in the same fragment, are excluded.
func pick(sentences []sentence, fragments []domain.Fragment, tokens int) []sentence {
	sentences = slices.DeleteFunc(sentences, afterOrders(fragments))
	all := slices.Clone(sentences)
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
		if len(out) == 0 && !s.evidence.answered(fragments) {
			return nil
		}
		if tokens -= chunk.Tokens(s.shown); tokens < 0 && len(out) > 0 {
			break
		}
		out = append(out, s)
		length += n
		if code, ok := codeAfter(s, all); ok && len(out) < maxQuotes && chunk.Tokens(code.text) <= tokens && !slices.ContainsFunc(out, code.is) {
			out = append(out, code)
			tokens -= chunk.Tokens(code.text)
		}
		if s.listed {
			list := listOf(s, all, tokens)
			out = append(slices.DeleteFunc(out, func(o sentence) bool { return o.sameList(s) }), list...)
			break
		}
	}
	if len(out) > 0 {
		inReadingOrder(out)
	}
	return out
}

// codeAfter returns the code directly after a sentence, because such code usually illustrates the sentence. It returns
// none if the question asks for a value, which code does not show.
func codeAfter(s sentence, all []sentence) (sentence, bool) {
	i := slices.IndexFunc(all, func(o sentence) bool {
		return o.kind == partCode && o.fragment == s.fragment && o.position == s.position+1
	})
	if i < 0 || s.kind != partProse || s.evidence.value != 0 {
		return sentence{}, false
	}
	return all[i], true
}

// is reports whether s and other are the same part.
func (s sentence) is(other sentence) bool {
	return s.fragment == other.fragment && s.position == other.position
}

// listOf returns the list that contains the given entry, cut at the maximum length. tokens limits the total length of
// the other entries. If the cut would remove the given entry, listOf returns that entry alone.
func listOf(entry sentence, all []sentence, tokens int) []sentence {
	list := slices.DeleteFunc(slices.Clone(all), func(s sentence) bool { return !s.sameList(entry) })
	slices.SortFunc(list, func(a, b sentence) int { return cmp.Compare(a.position, b.position) })
	var out []sentence
	held, length := false, 0
	for _, s := range list {
		length += utf8.RuneCountInString(s.shown)
		if s.position != entry.position {
			tokens -= chunk.Tokens(s.shown)
		}
		if len(out) == maxListed || length > maxListCharacters || tokens < 0 {
			break
		}
		held = held || s.position == entry.position
		out = append(out, s)
	}
	if !held {
		return []sentence{entry}
	}
	return out
}

// sameList reports whether two entries belong to the same list.
func (s sentence) sameList(other sentence) bool {
	return s.fragment == other.fragment && s.under == other.under && s.kind == other.kind
}

// inReadingOrder sorts sentences by fragment and position. The fragment of the first sentence, which is the best, comes
// first, then the other fragments by rank.
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

// candidates returns the sentences with a score near the best, best first. It drops:
//
//   - sentences of fragments that lack the rarest word of the question, if another fragment contains it;
//   - sentences without a value of the requested kind, if the best sentence contains one;
//   - mere headings and labels, if the best is a full sentence;
//   - if the best is a row or an entry, other rows and entries that contain fewer of the question's words, because they
//     describe other things.
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
		return best.evidence.value > s.evidence.value || s.evidence.scrap && !best.evidence.scrap ||
			best.single() && s.single() && s.evidence.own < sameThing*best.evidence.own
	})
}

// single reports whether a part is a row or an entry, and so describes one of several similar things.
func (p part) single() bool { return p.kind == partRow || p.kind == partEntry }

// afterOrders returns a function that reports whether a sentence addresses a language model or follows such a sentence
// in the same fragment.
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

// speaksToModel returns the position of the first part of a fragment that addresses a language model, or a position
// after all parts if there is none.
func speaksToModel(f domain.Fragment) int {
	for n, p := range partsOf(f) {
		if fence.AddressesModel(p.words()) {
			return n
		}
	}
	return math.MaxInt
}
