package main

import (
	"regexp"
	"strings"
	"unicode"
)

// containsAnswer reports whether a text contains one of the answers, ignoring case and punctuation. Unless the script
// is written without spaces, only whole words match.
func containsAnswer(text string, answers []string) bool {
	words := normalizeWords(text)
	for _, a := range answers {
		a = normalizeWords(a)
		if a == "" {
			continue
		}
		if strings.ContainsFunc(a, unspaced) {
			if strings.Contains(strings.ReplaceAll(words, " ", ""), strings.ReplaceAll(a, " ", "")) {
				return true
			}
		} else if strings.Contains(" "+words+" ", " "+a+" ") {
			return true
		}
	}
	return false
}

// normalizeWords returns a text's words in lower case, separated by single spaces.
func normalizeWords(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// mark matches a citation, such as [1].
var mark = regexp.MustCompile(`\[\d{1,3}\]`)

// quoted returns an answer without its introductory sentence and citations, i.e. the text taken from the documents.
func quoted(answer string) string {
	if _, after, ok := strings.Cut(answer, "\n\n"); ok {
		answer = after
	}
	return mark.ReplaceAllString(answer, "")
}
