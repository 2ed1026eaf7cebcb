package extractive

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// asked returns the topics that are not names, or all topics if all are names.
func (q question) asked(about topics) topics {
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

// A document that lacks this share of the topics, by weight and not counting names, does not answer the question.
const (
	unheardShare = 0.3 // of one topic that is nowhere in the datastore
	missingShare = 0.6 // of all topics that the document lacks
)

// lacks reports whether the document that contains pages[at] lacks what the question is about. It does if one of these
// is true:
//
//   - The document does not mention the month that the question names.
//   - It mentions none of the names in the question.
//   - It lacks at least missingShare of the other topics.
//   - No page contains a topic that has at least unheardShare of the weight of the other topics.
//
// For prose, only the month is checked, because prose often says the same in other words. If the question asks for a
// price or the like, prose is checked in full, too.
func (q question) lacks(pages []page, at int, about topics) bool {
	if q.few || q.unspaced || len(q.options) > 0 {
		return false
	}
	strict := !pages[at].prose() || q.wants.plain() || q.wants.kind == wantMass
	document := func(p page) bool {
		return p.fragment.ChunkID == pages[at].fragment.ChunkID || p.fragment.DatasourceID != "" && p.fragment.DatasourceID == pages[at].fragment.DatasourceID
	}
	within := func(i int, in func(page) bool) bool {
		return slices.ContainsFunc(pages, func(p page) bool { return in(p) && q.holds(p.own, i)+q.holds(p.title, i) > 0 })
	}
	everywhere := func(page) bool { return true }
	valued := q.wants.heldBy(pages[at].fragment.Text)
	total, missing, unheard := 0.0, 0.0, 0.0
	for i, w := range q.weights {
		if !about[i] || q.names[i] || valued && q.implied[i] {
			continue
		}
		total += w
		if !within(i, document) {
			missing += w
			if w >= q.rare && q.own[i] && !within(i, everywhere) {
				unheard = max(unheard, w)
			}
		}
	}
	if strict {
		named, held := false, false
		for i := range about {
			if about[i] && q.own[i] && q.names[i] && !strings.ContainsFunc(q.terms[i].Name, unicode.IsDigit) && monthOf[q.terms[i].Name] == 0 {
				named = true
				held = held || within(i, document) || slices.ContainsFunc(pages, func(p page) bool {
					return document(p) && (p.own.resembles(q.terms[i].Forms) || p.title.resembles(q.terms[i].Forms))
				})
			}
		}
		if named && !held {
			return true
		}
	}
	if total > 0 && strict && (unheard >= unheardShare*total || missing >= missingShare*total) {
		return true
	}
	return slices.ContainsFunc(q.months, func(m int) bool {
		return !slices.ContainsFunc(pages, func(p page) bool { return document(p) && mentionsMonth(titleOf(p.fragment)+"\n"+p.fragment.Text, m) })
	})
}

// eligible reports whether a page contains the numbers, codes and options of the topics. If values of the requested
// kind are recognisable by their form, as e-mail addresses are, the page must also contain such a value.
func (q question) eligible(p page, about topics) bool {
	if !holdsOptions(p.fragment, q.options) || !holdsCodes(p.fragment, q.codes) {
		return false
	}
	if (q.wants.plain() || q.wants.kind == wantMass) && !q.wants.heldBy(p.fragment.Text) &&
		(q.wants.kind != wantMoney || !amount.MatchString(p.fragment.Text)) {
		return false
	}
	if _, coded := q.lacksNames(p.own, p.title); coded {
		return false
	}
	for _, pair := range q.numbered {
		word, number := q.terms[pair[0]], q.terms[pair[1]]
		apart := func(t wording) bool { return distance(occurrences(t.at, word), occurrences(t.at, number)) > 1 }
		said := len(occurrences(p.own.at, word)) > 0 || len(occurrences(p.title.at, word)) > 0
		if about[pair[1]] && said && apart(p.own) && apart(p.title) && !p.lists(number.Name) {
			return false
		}
	}
	return true
}

// amount matches a number with two decimals, which in receipts and invoices is a price.
var amount = regexp.MustCompile(`\d[.,]\d{2}(?:\D|$)`)

// lists reports whether a line, or an entry within a line, begins with the given number.
func (p page) lists(number string) bool {
	return slices.ContainsFunc(p.lines, func(l line) bool {
		return strings.HasPrefix(l.text, number) || strings.Contains(l.text, ", "+number+" ")
	})
}
