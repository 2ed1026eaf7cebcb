package extractive

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// option matches a program option's name.
var option = lazyregexp.New(`(?:^|[\s("'“«„` + "`" + `])(--[\pL\d][\pL\d_-]*)`)

// optionsIn returns the program options named in a question, such as --verbose. Text about another option does not
// answer the question.
func optionsIn(question string) []string {
	var out []string
	for _, m := range option().FindAllStringSubmatch(question, -1) {
		out = append(out, m[1])
	}
	return out
}

// containsOption reports whether a fragment contains one of the program options as a whole word. If there are no
// options, it returns true.
func containsOption(f domain.Fragment, options []string) bool {
	if len(options) == 0 {
		return true
	}
	return slices.ContainsFunc(options, func(name string) bool {
		for rest := f.Heading + "\n" + f.Text; ; {
			i := strings.Index(rest, name)
			if i < 0 {
				return false
			}
			before, after := rest[:i], rest[i+len(name):]
			if !strings.HasSuffix(before, "-") && (after == "" || !language.IsWordRune([]rune(after)[0]) && after[0] != '-' && after[0] != '_') {
				return true
			}
			rest = after
		}
	})
}

// normalisedCode returns text in lower case without the separators used in codes, so that VD-1040 and vd1040 become
// equal.
func normalisedCode(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_./ \u2010\u2011\u00a0", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// containsCodes reports whether a fragment or its title contains all of the normalised codes.
func containsCodes(f domain.Fragment, codes []string) bool {
	if len(codes) == 0 {
		return true
	}
	text := normalisedCode(titleOf(f) + "\n" + f.Text)
	return !slices.ContainsFunc(codes, func(c string) bool { return !strings.Contains(text, c) })
}

// Maximum length in digits of a number that means nothing without the word before it: version 2, article 14.
const maxOrdinalDigits = 2

// numberedTerms returns the short numbers in a question, each with the word before it or the unit after it: "version
// 2", "22 kW". Each pair holds the indices of two terms, the second being the number.
func (q question) numberedTerms(asked string) [][2]int {
	var out [][2]int
	words := strings.FieldsFunc(strings.ToLower(asked), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("?!,;:()", r) })
	for i := 1; i < len(words); i++ {
		n := strings.Trim(words[i], ".")
		if n == "" || len(n) > maxOrdinalDigits || strings.ContainsFunc(n, func(r rune) bool { return !unicode.IsDigit(r) }) {
			continue
		}
		if i+1 < len(words) && utf8.RuneCountInString(words[i+1]) <= maxUnitLetters && !language.IsFunctionWord(words[i+1]) {
			out = append(out, q.termPairs(words[i+1], n)...)
		}
		if !language.IsFunctionWord(words[i-1]) && !language.FramingWords[words[i-1]] {
			out = append(out, q.termPairs(words[i-1], n)...)
		}
	}
	return out
}

// Maximum length of a unit after a number in characters.
const maxUnitLetters = 3

// termPairs returns all pairs of question terms in which the first term matches `word` and the second matches `number`.
func (q question) termPairs(word, number string) [][2]int {
	var out [][2]int
	for a, first := range termsIn(q.terms, []string{word}) {
		for b, second := range termsIn(q.terms, []string{number}) {
			if first && second && a != b {
				out = append(out, [2]int{a, b})
			}
		}
	}
	return out
}
