package table

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// JoinAmounts joins amounts that are split over several cells, as reports often do to align numbers. For example, "$",
// "(1,234" and ")" become "$(1,234)" in the number's cell. The other two cells become empty, so that all cells stay in
// their columns. If there is nothing to join, JoinAmounts returns `row` itself.
func JoinAmounts(row []string) []string {
	joined := row
	set := func(i int, text string) {
		if &joined[0] == &row[0] {
			joined = append([]string(nil), row...)
		}
		joined[i] = text
	}
	for i := range row {
		cell := joined[i]
		switch {
		case cell == "":
		case opensAmount(cell):
			if n := nextFilled(joined, i); n > 0 && beginsNumber(joined[n]) {
				set(n, cell+joined[n])
				set(i, "")
			}
		case closesAmount(cell):
			if n := previousFilled(joined, i); n >= 0 && takesEnd(joined[n], cell) {
				set(n, joined[n]+strings.ReplaceAll(cell, " ", ""))
				set(i, "")
			}
		}
	}
	return joined
}

// maxPartGap is the maximum number of empty cells between the parts of an amount.
const maxPartGap = 1

func nextFilled(row []string, i int) int {
	for n := i + 1; n < min(len(row), i+2+maxPartGap); n++ {
		if row[n] != "" {
			return n
		}
	}
	return -1
}

func previousFilled(row []string, i int) int {
	for n := i - 1; n >= max(0, i-1-maxPartGap); n-- {
		if row[n] != "" {
			return n
		}
	}
	return -1
}

// opensAmount reports whether a cell holds just the start of an amount: a currency sign, a sign, or a parenthesis.
func opensAmount(cell string) bool {
	if len(cell) > 8 {
		return false
	}
	sign := false
	for i, r := range cell {
		switch {
		case unicode.Is(unicode.Sc, r), r == '(', r == '-', r == '−', r == '+':
			sign = true
		case r >= 'A' && r <= 'Z' && i < 3 && !sign: // US$, HK$
		case r == ' ':
		default:
			return false
		}
	}
	return sign && cell != "-" && cell != "−" // a dash on its own means zero
}

// closesAmount reports whether a cell holds just the end of an amount: a closing parenthesis or a percent sign.
func closesAmount(cell string) bool {
	switch strings.ReplaceAll(cell, " ", "") {
	case ")", "%", ")%", "%)", "‰":
		return true
	}
	return false
}

func beginsNumber(cell string) bool {
	cell = strings.TrimLeft(cell, "(-−+ ")
	first, _ := utf8.DecodeRuneInString(cell)
	return unicode.IsDigit(first) || (first == '.' || first == ',') && len(cell) > 1 && unicode.IsDigit(rune(cell[1]))
}

// takesEnd reports whether a cell holds a number that `end` can follow. Parentheses must match.
func takesEnd(cell, end string) bool {
	if len(cell) > 40 {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(cell)
	if !unicode.IsDigit(last) && last != ')' && last != '%' {
		return false
	}
	open := strings.Count(cell, "(") > strings.Count(cell, ")")
	return open == strings.Contains(end, ")")
}
