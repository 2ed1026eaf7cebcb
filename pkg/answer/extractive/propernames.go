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

// properName is a name of the question: Munich, New York. It goes by its rarest word, since "new" is in any text.
type properName struct {
	term int    // index in question.terms
	word string // in lower case
}

// properNames are the names that a question has of places, people and things: words with a capital inside it that are not
// measures, months or days, nor abbreviations, which texts often write out. Those that follow one another are one name.
func (q question) properNames(asked string) []properName {
	var out []properName
	for sentence := range strings.FieldsFuncSeq(asked, func(r rune) bool { return strings.ContainsRune(".!?:\n", r) }) {
		capital := make(map[string]bool)
		for _, w := range language.Names(sentence) {
			lower := strings.ToLower(w)
			capital[w] = strings.ContainsFunc(w, unicode.IsLower) && !strings.ContainsFunc(w, unicode.IsDigit) &&
				!language.Framing[lower] && conceptsOf[lower] == nil && !date.MatchString(w)
		}
		var name []string
		for _, w := range append(strings.FieldsFunc(sentence, func(r rune) bool { return !language.PartOfWord(r) && !unicode.IsMark(r) }), "") {
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

// rarestOf is the name that goes by the rarest of words, the last of several; there is none where none of them is a term of the question.
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

// strangers tells which fragments have none of the question's names, nor stand under one, nor are of a datasource that was found to
// have one elsewhere: they speak of another city, person or thing. A text in another language than the question may spell
// names otherwise, and where the question's is not known, capitals may be those of all nouns.
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

// named reports whether a text has one of the question's names.
func (q question) named(t wording) bool {
	return slices.ContainsFunc(q.proper, func(n properName) bool {
		return q.holds(t, n.term) > 0 || t.resembles(append(slices.Clip(q.terms[n.term].Forms), n.word))
	})
}

const (
	minNameStem   = 5 // characters that a name and a word made of it have in common at least
	maxNameEnding = 3 // characters that one of them has beyond the other at most
	minMisspelt   = 6 // characters of a name that is known with one of them wrong, missing or too many
)

// resembles reports whether a text has a word that is likely to be one of a name's forms spelt otherwise: California for
// Californian, or with a slip of the finger.
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

// oneApart reports whether words differ by one character that is another, missing or too many.
func oneApart(long, short []rune) bool {
	for len(short) > 0 && long[0] == short[0] {
		long, short = long[1:], short[1:]
	}
	for len(short) > 0 && long[len(long)-1] == short[len(short)-1] {
		long, short = long[:len(long)-1], short[:len(short)-1]
	}
	return len(long) <= 1
}
