package extractive

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// withoutNames returns the topics except names, or all topics if all of them are names.
func (q question) withoutNames(about topics) topics {
	out := make(topics, len(about))
	any := false
	for i := range about {
		out[i] = about[i] && !q.names[i]
		any = any || out[i]
	}
	if !any {
		return about
	}
	return out
}

// If the topics that no page contains make up at least this fraction of the total topic weight, the documents do not
// answer the question. Names and dispensable words don't count.
const unheardShare = 0.25

// lacksSubject reports whether the document with pages[at] lacks what the question is about. Any of these is enough:
//
//   - The document does not mention the month named in the question.
//   - The document mentions none of the names in the question.
//   - No page contains one of the names in the question.
//   - The page contains only names from the question.
//   - The topics that no page contains make up at least unheardShare of the total topic weight, not counting names and
//     dispensable words.
//
// For prose, only the month is checked, because prose often says the same thing in other words. But if the question
// asks for a value such as a price, prose is checked in full, too.
func (q question) lacksSubject(pages []page, at int, about topics) bool {
	if q.few || q.unspaced || len(q.options) > 0 {
		return false
	}
	var document []page
	for _, p := range pages {
		if p.fragment.ChunkID == pages[at].fragment.ChunkID || p.fragment.DatasourceID != "" && p.fragment.DatasourceID == pages[at].fragment.DatasourceID {
			document = append(document, p)
		}
	}
	if !pages[at].isProse() || q.wants != wantAny {
		valued := q.hasValue(pages[at])
		total, unheard, named, held := 0.0, 0.0, false, false
		required, found := false, false // topics other than names that an answer must contain
		dispensable := q.dispensable(pages)
		for i, w := range q.weights {
			switch {
			case !about[i], !q.names[i] && valued && q.implied[i]:
			case !q.names[i]:
				total += w
				required = required || q.own[i] && !dispensable[i]
				found = found || q.isMentioned(i, pages[at:at+1])
				if q.own[i] && !dispensable[i] && !q.isMentioned(i, pages) {
					unheard += w
				}
			case q.own[i] && !strings.ContainsFunc(q.terms[i].Name, unicode.IsDigit) && monthOf[q.terms[i].Name] == 0:
				if !q.isMentioned(i, pages) {
					return true
				}
				named = true
				held = held || q.isMentioned(i, document)
			}
		}
		if named && !held || required && !found || total > 0 && unheard >= unheardShare*total {
			return true
		}
	}
	return slices.ContainsFunc(q.months, func(m int) bool {
		return !slices.ContainsFunc(document, func(p page) bool { return mentionsMonth(titleOf(p.fragment)+"\n"+p.fragment.Text, m) })
	})
}

// namesShareRow reports whether some line on the page, together with its headings, contains all of the question's
// names. A page without table rows passes.
func (q question) namesShareRow(p page, about topics) bool {
	named := make([]bool, len(about))
	for i := range about {
		named[i] = about[i] && q.names[i] && q.own[i]
	}
	return !slices.ContainsFunc(p.lines, func(l line) bool { return recordLine().MatchString(l.text) }) ||
		slices.ContainsFunc(p.lines, func(l line) bool { return q.containsAll(named, l.own, p.title) })
}

// dispensable marks the terms that an answer may lack: those outside the question's noun phrases, which are mostly
// verbs, and nouns with a modifier that the pages contain. In "When do I have to settle the bar bill?", "settle" is
// dispensable, and so is "bill" if the pages mention a bar. If the noun phrases are unknown, no term is dispensable.
func (q question) dispensable(pages []page) []bool {
	out := make([]bool, len(q.terms))
	phrases, known := language.NounPhrases(q.text)
	if !known {
		return out
	}
	for i := range out {
		out[i] = true
	}
	for _, p := range phrases {
		modified := false
		for i, is := range termsIn(q.terms, p.Modifiers) {
			if is {
				out[i] = false
				modified = modified || !q.framing[i] && q.isMentioned(i, pages)
			}
		}
		for i, is := range termsIn(q.terms, []string{p.Head}) {
			if is && (!modified || utf8.RuneCountInString(p.Head) == 1) { // a letter is a name: class G
				out[i] = false
			}
		}
	}
	return out
}

// isMentioned reports whether the question's i-th term occurs in any of the pages or their headings.
func (q question) isMentioned(i int, pages []page) bool {
	return slices.ContainsFunc(pages, func(p page) bool { return q.matchDegree(p.own, i)+q.matchDegree(p.title, i) > 0 })
}

// isEligible reports whether a page may answer the question. It must contain the question's numbers, codes and options,
// and a value of the requested kind.
func (q question) isEligible(p page, about topics) bool {
	if !containsOption(p.fragment, q.options) || !containsCodes(p.fragment, q.codes) {
		return false
	}
	if q.wants != wantAny && !q.hasValue(p) {
		return false
	}
	if _, coded := q.lacksNames(p.own, p.title); coded {
		return false
	}
	for _, pair := range q.numbered {
		word, number := q.terms[pair[0]], q.terms[pair[1]]
		apart := func(t wording) bool { return distance(occurrences(t.at, word), occurrences(t.at, number)) > 1 }
		said := len(occurrences(p.own.at, word)) > 0 || len(occurrences(p.title.at, word)) > 0
		if about[pair[1]] && said && apart(p.own) && apart(p.title) && !p.hasNumberedLine(number.Name) {
			return false
		}
	}
	return true
}

// hasValue reports whether a page contains a value of the requested kind. Receipts often omit the currency, so a number
// with two decimals counts as a price.
func (q question) hasValue(p page) bool {
	return q.wants.isIn(p.fragment.Text) || q.wants == wantMoney && amount().MatchString(p.fragment.Text)
}

// amount matches a number with two decimals. In receipts and invoices, such a number is a price.
var amount = lazyregexp.New(`\d[.,]\d{2}(?:\D|$)`)

// hasNumberedLine reports whether a line, or an entry within a line, starts with the given number.
func (p page) hasNumberedLine(number string) bool {
	return slices.ContainsFunc(p.lines, func(l line) bool {
		return strings.HasPrefix(l.text, number) || strings.Contains(l.text, ", "+number+" ")
	})
}
