package table

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Maximum lengths of a property name and of a question, in characters.
const (
	MaxLabel    = 60
	maxQuestion = 200
)

// PairColumns holds the indexes of a property table's two columns. Each row in such a table is a property and its
// value.
type PairColumns struct {
	label, value int
}

// PairsOf returns the label and value columns of rows that look like pairs. In such rows, the labels are short and
// distinct, and most labels have a value next to them. `ok` is false for other rows.
func PairsOf(rows [][]string) (c PairColumns, ok bool) {
	c = PairColumns{-1, -1}
	for _, r := range rows {
		for i, cell := range r {
			switch {
			case cell == "" || i == c.label || i == c.value:
			case c.label < 0:
				c.label = i
			case c.value < 0:
				c.value = i
			default:
				return c, false
			}
		}
	}
	if c.label < 0 || c.label > c.value { // no row has a cell, or the first row has only a value
		return c, false
	}
	seen, pairs := make(map[string]bool, len(rows)), 0
	for _, r := range rows {
		label, value := c.cells(r)
		if !isLabel(label) || seen[label] {
			return c, false
		}
		seen[label] = true
		if value != "" {
			pairs++
		}
	}
	return c, pairs >= 2 && pairs*2 >= len(rows)
}

// FindPairColumns returns the label and value columns of a table without a marked header. It returns nil if there are
// none, or if numbers below a word make the first row look like a header.
func FindPairColumns(rows [][]string) *PairColumns {
	c, ok := PairsOf(rows)
	if !ok || valuesBelow(rows) && !c.HasMixedKinds(rows) && !c.hasKnownLabels(rows) {
		return nil
	}
	return &c
}

// cells returns a row's label and value. Either may be "".
func (c PairColumns) cells(row []string) (label, value string) {
	if c.label < len(row) {
		label = row[c.label]
	}
	if c.value < len(row) {
		value = row[c.value]
	}
	return label, value
}

// Line formats a row as "label: value". `ok` is false if either is missing or other cells contain text.
func (c PairColumns) Line(row []string) (text string, ok bool) {
	label, value := c.cells(row)
	if label == "" || value == "" || Filled(row) != 2 {
		return "", false
	}
	return PairLine(label, value), true
}

// PairLine formats a property and its value, or a question and its answer.
func PairLine(label, value string) string {
	if isQuestion(label) || endsAsQuestion(label) {
		return label + " " + value
	}
	return strings.TrimRight(label, ":： ") + ": " + value
}

// colons reports whether most labels with a value end in a colon.
func (c PairColumns) colons(rows [][]string) bool {
	with, all := 0, 0
	for _, r := range rows {
		label, value := c.cells(r)
		if value == "" {
			continue
		}
		if all++; strings.HasSuffix(label, ":") || strings.HasSuffix(label, "：") {
			with++
		}
	}
	return with*2 > all
}

// HasMixedKinds reports whether the kind of value changes from row to row, as in a list of properties but not in a
// column. It ignores the first pair, which may be a header.
func (c PairColumns) HasMixedKinds(rows [][]string) bool {
	at := slices.IndexFunc(rows, func(r []string) bool { return c.label < len(r) && c.value < len(r) && r[c.value] != "" })
	if at < 0 || namesValues(rows[at][c.value]) {
		return false
	}
	kinds, limit, all := map[string]int{}, 0, 0
	for _, r := range rows[at+1:] {
		if _, value := c.cells(r); value != "" {
			kind := valueKind(value)
			kinds[kind]++
			limit, all = max(limit, kinds[kind]), all+1
		}
	}
	if len(kinds) == 2 && kinds["text"] > 0 && kinds["figures"] > 0 { // only texts and figures such as dates
		return kinds["figures"]*2 <= all
	}
	// An ordinary column may have two kinds: numbers and remarks such as "n/a".
	return len(kinds) > 2 && limit*3 <= all*2 && kinds["number"]*2 <= all
}

// namesValues reports whether a string is a common name for a column with mixed kinds of values, such as "Value".
func namesValues(s string) bool {
	return slices.Contains([]string{"value", "values", "description", "details", "content", "answer", "wert", "beschreibung", "inhalt", "valeur", "valor", "valore", "descripción", "значение", "值", "値"}, strings.ToLower(s))
}

// shortDate matches a date of three numbers, which would pass for an amount with thousands separators.
var shortDate = lazyregexp.New(`^\d{1,4}([./-])\d{1,2}[./-]\d{1,4}$`)

// valueKind returns a value's kind. The kind of an amount includes its unit, because all amounts in a column have the
// same unit.
func valueKind(s string) string {
	if shortDate().MatchString(s) {
		return "figures"
	}
	if unit, ok := amountUnit(s); ok {
		return "number" + unit
	}
	switch {
	case strings.Contains(s, "@"), strings.HasPrefix(s, "http"), strings.HasPrefix(s, "www."):
		return "address"
	case IsYear(s):
		return "year"
	case LooksNumeric(s) && format.CountLetters(s) < 5:
		return "number"
	case LooksNumeric(s): // dates, times, telephone numbers
		return "figures"
	}
	return "text"
}

// amountUnit returns an amount's unit: the letters after the number, or the currency before or after it, or "" for a
// bare number. `ok` is false if the text is not an amount.
func amountUnit(s string) (unit string, ok bool) {
	if IsYear(s) {
		return "", false
	}
	first := strings.IndexFunc(s, unicode.IsDigit)
	last := strings.LastIndexFunc(s, unicode.IsDigit)
	if first < 0 {
		return "", false
	}
	_, size := utf8.DecodeRuneInString(s[last:])
	before, number, after := s[:first], s[first:last+size], s[last+size:]
	if strings.Trim(number, "0123456789.,'’ ") != "" || strings.Count(number, " ") > 3 {
		return "", false
	}
	before = strings.TrimRight(strings.Trim(before, "+-−(±~≈<>≤≥ "), " ")
	spaced := strings.HasPrefix(after, " ")
	after = strings.Trim(after, ") ")
	switch {
	case before != "" && after != "":
		return "", false
	case before != "":
		return before, isUnit(before) && !isWord(before)
	case after == "":
		return "", true
	case len(number) == 1 && !spaced && utf8.RuneCountInString(after) == 1 && isWord(after): // "3D"
		return "", false
	case slices.Contains([]string{"st", "nd", "rd", "th"}, strings.ToLower(after)):
		return "", false
	}
	return after, isUnit(after)
}

// isUnit reports whether a string can be a unit or a currency.
func isUnit(s string) bool {
	return utf8.RuneCountInString(s) <= 3 && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsDigit(r) || r == '.' || r == ',' || r == ':' || r == ';' || r == '"'
	})
}

// isWord reports whether a string consists only of letters.
func isWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}

// isLabel reports whether a string can name a property. One that looks like a whole row can't.
func isLabel(s string) bool {
	limit := MaxLabel
	if isQuestion(s) {
		limit = maxQuestion
	}
	return !strings.Contains(s, ": ") && !strings.Contains(s, "; ") && strings.ContainsFunc(s, unicode.IsLetter) && utf8.RuneCountInString(s) <= limit && !LooksNumeric(s)
}
