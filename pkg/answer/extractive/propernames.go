package extractive

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
)

// properName is a name in the question: Munich, New York. It is represented by its rarest word, because "new" is in
// many texts.
type properName struct {
	term int    // index in question.terms
	word string // in lower case
}

// properNames returns the names of places, people and things in a question: capitalised words, except the first word of
// a sentence, units, months, days, and abbreviations, which documents often spell out. Consecutive words form one name.
func (q question) properNames(asked string) []properName {
	var out []properName
	for sentence := range strings.FieldsFuncSeq(asked, func(r rune) bool { return strings.ContainsRune(".!?:\n", r) }) {
		capital := make(map[string]bool)
		for _, w := range language.Names(sentence) {
			lower := strings.ToLower(w)
			capital[w] = strings.ContainsFunc(w, unicode.IsLower) && !strings.ContainsFunc(w, unicode.IsDigit) &&
				!language.FramingWords[lower] && conceptsOf[lower] == nil && !date.MatchString(w)
		}
		var name []string
		for _, w := range append(strings.FieldsFunc(sentence, func(r rune) bool { return !language.IsWordRune(r) && !unicode.IsMark(r) }), "") {
			if capital[w] {
				name = append(name, strings.ToLower(w))
				continue
			}
			if n, ok := q.rarestOf(name); ok {
				out = append(out, n)
			}
			name = nil
		}
	}
	return out
}

// rarestOf returns the name that consists of the given words. The rarest word represents it, or the last of several
// equally rare ones. ok is false if none of the words is a term of the question.
func (q question) rarestOf(words []string) (name properName, ok bool) {
	for _, w := range words {
		for i, is := range termsIn(q.terms, []string{w}) {
			if is && (!ok || q.weights[i] >= q.weights[name.term]) {
				name, ok = properName{i, w}, true
			}
		}
	}
	return name, ok
}

// strangers reports for each fragment whether it is a stranger: about a city, person or thing that the question does
// not name. A fragment is a stranger if no name in the question occurs in the fragment, its headings, or another result
// from its datasource. Fragments in another language are never strangers, because they may spell names differently. If
// the question's language is unknown, no fragment is a stranger, because capitalised words in the question may be
// ordinary nouns.
func (q question) strangers(fragments []domain.Fragment) []bool {
	out := make([]bool, len(fragments))
	if len(q.proper) == 0 || q.lang == analysis.Unknown {
		return out
	}
	named := make(map[string]bool) // by datasource
	var analyzer analysis.Analyzer
	for i, f := range fragments {
		lang := analysis.Detect(f.Text)
		out[i] = lang == q.lang && !q.named(wording{at: positions(analyzer.Terms(titleOf(f)+"\n"+f.Text, lang))})
		named[f.DatasourceID] = named[f.DatasourceID] || !out[i]
	}
	for i, f := range fragments {
		out[i] = out[i] && (f.DatasourceID == "" || !named[f.DatasourceID])
	}
	return out
}

// named reports whether t contains one of the proper names in the question.
func (q question) named(t wording) bool {
	return slices.ContainsFunc(q.proper, func(n properName) bool {
		return q.holds(t, n.term) > 0 || t.resembles(append(slices.Clip(q.terms[n.term].Forms), n.word))
	})
}

const (
	minNameStem   = 5 // minimum common prefix of a name and a word derived from it, in characters
	maxNameEnding = 3 // maximum number of additional characters in the longer word
	minMisspelt   = 6 // minimum length of a name in which one character may be wrong, in characters
)

// resembles reports whether t contains a word that is likely to be a misspelling or variant of one of the forms, such
// as "California" for "Californian".
func (t wording) resembles(forms []string) bool {
	for term := range t.at {
		for _, name := range forms {
			long, short := name, term
			if len(long) < len(short) {
				long, short = short, long
			}
			n, more := utf8.RuneCountInString(short), utf8.RuneCountInString(long)-utf8.RuneCountInString(short)
			if n >= minNameStem && more <= maxNameEnding && strings.HasPrefix(long, short) || n >= minMisspelt-1 && n+more >= minMisspelt && oneApart([]rune(long), []rune(short)) {
				return true
			}
		}
	}
	return false
}

// oneApart reports whether two words differ by one replaced, missing or additional character.
func oneApart(long, short []rune) bool {
	for len(short) > 0 && long[0] == short[0] {
		long, short = long[1:], short[1:]
	}
	for len(short) > 0 && long[len(long)-1] == short[len(short)-1] {
		long, short = long[:len(long)-1], short[:len(short)-1]
	}
	return len(long) <= 1
}
