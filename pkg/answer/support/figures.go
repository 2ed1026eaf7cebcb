package support

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Maximum length of a figure in bytes. Longer runs of digits are truncated for comparison.
const maxFigureBytes = 40

// readFigure reads a figure and its unit: "1,500.00", "1 900 W", "81,5 cm", "30d". If the letters after it are not a
// unit, it reads a code: "4471-K". It returns the offset after what it has read.
func (r *reader) readFigure(out *[]word, text string, i, to int) int {
	end := i
	for end < to {
		c, size := utf8.DecodeRuneInString(text[end:to])
		if unicode.IsDigit(c) {
			end += size
			continue
		}
		next, _ := utf8.DecodeRuneInString(text[end+size : to])
		groups := isThinSpace(c) && beginsWithThreeDigits(text[end+size:to]) && leadingDigits(text[i:end]) <= 3
		if !unicode.IsDigit(next) || !groups && !strings.ContainsRune(".,'’٫٬", c) {
			break
		}
		end += size
	}
	rest := text[end:to]
	c, _ := utf8.DecodeRuneInString(rest)
	if unicode.IsLetter(c) && !unspaced(c) || (c == '-' || c == '_') && startsWithLetter(rest[1:]) {
		unit, n := unitOf(rest)
		if unit == "" {
			return r.readWord(out, text, i, to, false)
		}
		*out = append(*out, word{start: i, end: end + n, lower: strings.ToLower(text[i : end+n]), numbers: values(text[i:end]), unit: unit})
		return end + n
	}
	w := word{start: i, end: end, lower: text[i:end], numbers: values(text[i:end]), unit: unitAt(rest)}
	if w.unit == "" && i > 0 {
		before, size := utf8.DecodeLastRuneInString(text[:i])
		if before == ' ' {
			before, _ = utf8.DecodeLastRuneInString(text[:i-size])
		}
		w.unit = symbolUnits[before]
	}
	*out = append(*out, w)
	return end
}

func startsWithLetter(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(c) && !unspaced(c)
}

// isThinSpace reports whether a character may be a thousands separator.
func isThinSpace(r rune) bool { return r == ' ' || r == '\u00a0' || r == '\u202f' || r == '\u2009' }

func beginsWithThreeDigits(s string) bool { return leadingDigits(s) == 3 }

// leadingDigits returns the number of digits at the start of a text.
func leadingDigits(s string) int {
	n := 0
	for _, r := range s {
		if !unicode.IsDigit(r) {
			break
		}
		n++
	}
	return n
}

// values returns a figure's possible values in canonical form: with a decimal point, but without thousands separators,
// leading zeros, or trailing zeros in the fraction. "1,500" has two values, because its comma may be a thousands
// separator or a decimal comma.
func values(figure string) []string {
	figure = figure[:min(len(figure), maxFigureBytes)]
	var parts []string // groups of digits
	var marks []rune   // separators between them
	var digits strings.Builder
	for _, r := range figure {
		switch {
		case unicode.IsDigit(r):
			digits.WriteByte('0' + byte(digitValue(r)))
		case r == utf8.RuneError:
		default:
			parts, marks = append(parts, digits.String()), append(marks, r)
			digits.Reset()
		}
	}
	parts = append(parts, digits.String())
	last := len(marks) - 1
	if last < 0 {
		return []string{canonical(parts[0], "")}
	}
	whole := canonical(strings.Join(parts, ""), "")
	decimal := canonical(strings.Join(parts[:last+1], ""), parts[last+1])
	grouped := len(parts[0]) <= 3
	for _, p := range parts[1:] {
		grouped = grouped && len(p) == 3
	}
	same := true // whether all separators are the same
	for _, m := range marks {
		same = same && m == marks[0]
	}
	switch {
	case isThinSpace(marks[last]) || marks[last] == '\'' || marks[last] == '’':
		return []string{whole}
	case same && len(marks) > 1 && grouped:
		return []string{whole} // 1.234.567
	case same && len(marks) > 1: // a version, date or section: 1.2.3
		for i, p := range parts {
			parts[i] = canonical(p, "")
		}
		return []string{strings.Join(parts, ".")}
	case same && grouped && parts[0] != "0" && strings.Trim(parts[1], "0") == "":
		return []string{whole} // nobody writes 5.000 for 5
	case same && grouped && parts[0] != "0":
		return []string{whole, decimal}
	}
	return []string{decimal}
}

// digitValue returns the value of a decimal digit in any script.
func digitValue(r rune) int {
	for zero := r; ; zero-- {
		if !unicode.IsDigit(zero-1) || r-zero == 9 {
			return int(r-zero) % 10
		}
	}
}

// canonical returns a number without leading zeros and without trailing zeros in the fraction.
func canonical(whole, fraction string) string {
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// hanDigits are the values of Chinese numerals.
var hanDigits = map[rune]int{'〇': 0, '零': 0, '一': 1, '二': 2, '两': 2, '兩': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}

var hanPowers = map[rune]int{'十': 10, '百': 100, '千': 1000, '万': 10_000, '萬': 10_000}

// counters are Chinese and Japanese characters that follow numerals. Without one, a numeral is probably part of a word.
const counters = "年月日時时分秒天週周円元块個个人名台台回次件枚本冊割歳岁度号號条條章階层層倍間间ヶか箇点"

// hanNumber parses a Chinese numeral followed by a counter. It returns the numeral's length in bytes and its value, or
// 0 and nil if there is none at the start of the text.
func hanNumber(text string) (length int, numbers []string) {
	total, section, digit, n := 0, 0, 0, 0
	for i, r := range text {
		d, isDigit := hanDigits[r]
		p, isPower := hanPowers[r]
		if !isDigit && !isPower || n == 10 {
			if n == 0 || !strings.ContainsRune(counters, r) {
				return 0, nil
			}
			length = i
			break
		}
		n++
		switch {
		case isDigit:
			digit = digit*10 + d
		case p == 10_000:
			total, section, digit = (total+section+digit)*p, 0, 0
		default:
			section, digit = section+max(digit, 1)*p, 0
		}
	}
	if length == 0 {
		return 0, nil
	}
	return length, []string{itoa(total + section + digit)}
}
