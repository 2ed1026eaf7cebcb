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

// pick chooses the sentences to quote, within a number of tokens beyond the first, and puts them into reading order: by
// fragment as ranked, then as they stand. It chooses none when the best one is not likely to answer. What speaks to a
// language model is no answer, nor is what follows it in the same fragment.
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

// codeAfter is the code that follows a sentence at once, and shows what it says; not where a value is asked for, which code
// does not show.
func codeAfter(s sentence, all []sentence) (sentence, bool) {
	i := slices.IndexFunc(all, func(o sentence) bool {
		return o.kind == partCode && o.fragment == s.fragment && o.position == s.position+1
	})
	if i < 0 || s.kind != partProse || s.evidence.value != 0 {
		return sentence{}, false
	}
	return all[i], true
}

// is reports whether two are the same part.
func (s sentence) is(other sentence) bool {
	return s.fragment == other.fragment && s.position == other.position
}

// listOf is the list that an entry is of, as far as the bounds and a number of tokens beyond the entry's let it; the entry alone
// where it stands too far down.
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

// sameList reports whether two entries are of the same list.
func (s sentence) sameList(other sentence) bool {
	return s.fragment == other.fragment && s.under == other.under && s.kind == other.kind
}

// inReadingOrder sorts sentences, best first, as they are to be read: those of the best one's fragment, then those of the others
// as ranked, each as they stand.
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

// candidates are the sentences that come near the best one, best first. Where some of them hold the rarest word of the
// question, those of fragments that have none of them drop out: they speak of the same subject, but of another matter. So do
// those without a value of the kind that is asked for where the best one has it, and rows and entries that hold less of the question than
// the best one, if that is one itself: they are about another thing.
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

// single reports whether a part is about one thing of several.
func (p part) single() bool { return p.kind == partRow || p.kind == partEntry }

// afterOrders tells the sentences that speak to a language model, and those after them in the same fragment.
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

// speaksToModel is the position of the first part of a fragment that speaks to a language model; beyond all of them
// when none does.
func speaksToModel(f domain.Fragment) int {
	for n, p := range partsOf(f) {
		if fence.AddressesModel(p.words()) {
			return n
		}
	}
	return math.MaxInt
}
