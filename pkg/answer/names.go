package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
)

// framing are words that only shape a question: they say how it is asked, not about what. An answer need not hold them.
var framing = set(`
	long high large big far old tall wide deep often soon late early many much please tell give show shows explain
	describe find need want know say says get gets happen happens mean means exact exactly use uses used using work works look looks like
	lange lang hoch groß weit alt oft viel viele wieviel bitte sag nenne zeige gibt bekomme bekommt verwende verwenden benutze benutzen nutze nutzen sieht aussehen
	combien donne dis montre trouve fait utilise utiliser
	cuánto cuántos cuánta cuántas dime dame muestra
`)

// namesIn returns the words of a question that name something: numbers and codes, and words written with a capital
// letter inside the question. Where nouns are capitalised as well, only those beside a number or a code count.
func namesIn(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`?!.,;:"'()«»“”„’`, r)
	})
	german := languageOf(text) == "de"
	names := make([]bool, len(words))
	capitals, lower := 0, 0
	for i, w := range words {
		first, _ := utf8.DecodeRuneInString(w)
		code := strings.ContainsFunc(w, unicode.IsDigit) && !strings.ContainsFunc(w, wide)
		upper := unicode.IsUpper(first)
		switch {
		case code:
			names[i] = true
		case upper && i > 0 && !function(w):
			capitals++
			names[i] = !german || i+1 < len(words) && strings.ContainsFunc(words[i+1], unicode.IsDigit)
		case i > 0 && utf8.RuneCountInString(w) > 3:
			lower++
		}
	}
	title := capitals > 2 && lower == 0 // Every Word Begins With A Capital
	var out []string
	for i, w := range words {
		if names[i] && (!title || strings.ContainsFunc(w, unicode.IsDigit)) {
			out = append(out, w)
		}
	}
	return out
}

// codesIn returns the words of a question that have letters and figures, which hardly anything is called by chance.
func codesIn(text string) []string {
	return slices.DeleteFunc(namesIn(text), func(w string) bool {
		return utf8.RuneCountInString(w) < minCode || !strings.ContainsFunc(w, unicode.IsLetter) || !strings.ContainsFunc(w, unicode.IsDigit)
	})
}

// minCode is how many characters a code has at least.
const minCode = 4

// holdsCode reports whether a text has one of the codes, as a word.
func holdsCode(text string, codes []string) bool {
	for _, c := range codes {
		for rest := text; ; {
			i := strings.Index(rest, c)
			if i < 0 {
				break
			}
			before, _ := utf8.DecodeLastRuneInString(rest[:i])
			after, _ := utf8.DecodeRuneInString(rest[i+len(c):])
			if !partOfWord(before) && !partOfWord(after) {
				return true
			}
			rest = rest[i+len(c):]
		}
	}
	return false
}

func partOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// function reports whether a capitalised word is one that names nothing.
func function(w string) bool {
	_, ok := questionWords[strings.ToLower(w)]
	return ok || utf8.RuneCountInString(w) == 1
}

// termsIn marks the terms that the words of a text are.
func termsIn(terms []analysis.QueryTerm, words []string) []bool {
	forms := make(map[string]bool)
	for _, w := range words {
		for _, f := range analysis.Terms(w, analysis.Unknown) {
			forms[f] = true
		}
	}
	out := make([]bool, len(terms))
	for i, t := range terms {
		for _, f := range t.Forms {
			out[i] = out[i] || forms[f]
		}
	}
	return out
}
