package table

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/format"
)

// ProseRow reports whether a table's first row is a record, not a header. It is a record if one of its cells, and at
// least half of the cells below that cell, are whole sentences. In a survey with questions above short answers, the
// first row is still a header.
func ProseRow(row []string, below [][]string) bool {
	for i, cell := range row {
		long := len(row) == 2 && i == 1 && format.DisplayWidth(cell) >= longName
		if !long && !isSentence(cell) {
			continue
		}
		alike, all := 0, 0
		for _, r := range below {
			if i >= len(r) || r[i] == "" {
				continue
			}
			all++
			if isSentence(r[i]) || endsAsQuestion(r[i]) || long && format.DisplayWidth(r[i]) >= longText {
				alike++
			}
		}
		if all > 0 && alike*2 >= all {
			return true
		}
	}
	return false
}

// Minimum display widths. At longName, a cell in the first row is too long for a column name. At longText, a cell below
// it is too long for a value.
const (
	longName = 40
	longText = 30
)

// isSentence reports whether a string is a whole sentence.
func isSentence(s string) bool {
	if isQuestion(s) {
		return true
	}
	last, size := utf8.DecodeLastRuneInString(strings.TrimRight(s, `"'”’»)`))
	if !strings.ContainsRune(".!。！…।။", last) || size == 0 {
		return false
	}
	return len(strings.Fields(s)) >= 3 || format.DisplayWidth(s) >= 14 && strings.ContainsFunc(s, format.Spaceless)
}

// questionEnds are words that end questions in languages that often omit the question mark.
var questionEnds = []string{"吗", "嗎", "呢", "ですか", "ますか", "니까", "나요", "ไหม", "หรือไม่", "อย่างไร", "เท่าไร", "เท่าไหร่", "ไหน", "อะไร", "ทำไม", "เมื่อไร", "เมื่อไหร่"}

// isQuestion reports whether a string is a question. A single word with a question mark, such as "Paid?", is a column
// name.
func isQuestion(s string) bool {
	s = strings.TrimSpace(s)
	if endsAsQuestion(s) {
		return strings.Contains(s, " ") || format.DisplayWidth(s) >= 8 && strings.ContainsFunc(s, format.Spaceless)
	}
	return slices.ContainsFunc(questionEnds, func(end string) bool { return len(s) > len(end) && strings.HasSuffix(s, end) })
}

// endsAsQuestion reports whether a string ends with a question mark.
func endsAsQuestion(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, `"'”’») `))
	return strings.ContainsRune("?？؟⁇", last) || last == ';' && strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Greek, r) })
}
