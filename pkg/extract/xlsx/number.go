package xlsx

import (
	"math"
	"strconv"
	"strings"
)

// number formats a number in a section that isn't for dates. `signed` means that the section shows the minus sign
// itself.
func (s *codeSection) number(n float64, signed bool) string {
	var b strings.Builder
	if n < 0 && !signed {
		b.WriteByte('-')
	}
	n = math.Abs(n)
	at := s.exponentAt()
	if at >= 0 {
		s.scientific(&b, n, at)
		return b.String()
	}
	whole, rest := decimalDigits(n, s.shift, s.places)
	s.digits(&b, s.tokens, n, whole, rest)
	return b.String()
}

// exponentAt returns the index of the exponent token, or -1 if there is none.
func (s *codeSection) exponentAt() int {
	for i, t := range s.tokens {
		if t.part == codeExponent {
			return i
		}
	}
	return -1
}

// scientific formats a number in scientific notation. The exponent is a multiple of the number of digit placeholders
// before the point. In "##0.0E+0", for example, it is a multiple of three.
func (s *codeSection) scientific(b *strings.Builder, n float64, at int) {
	step := 0
	for _, t := range s.tokens[:at] {
		if t.part == codePoint {
			break
		}
		if t.part == codeDigit {
			step++
		}
	}
	step = max(step, 1)
	power := func(n float64) int {
		if n == 0 {
			return 0
		}
		_, exp := significantDigits(n)
		return int(math.Floor(float64(exp)/float64(step))) * step
	}
	exp := power(n)
	whole, rest := decimalDigits(n, -exp, s.places)
	if len(whole) > step { // rounding added a digit
		exp += step
		whole, rest = decimalDigits(n, -exp, s.places)
	}
	s.digits(b, s.tokens[:at], n, whole, rest)
	b.WriteByte(s.tokens[at].text[0])
	switch {
	case exp < 0:
		b.WriteByte('-')
	case s.tokens[at].text[1] == '+':
		b.WriteByte('+')
	}
	s.digits(b, s.tokens[at+1:], n, strings.TrimLeft(strconv.Itoa(max(exp, -exp)), "0"), "")
}

// digits writes the tokens with digits in the placeholders. `whole` holds the digits before the point, and `rest` the
// digits after it. If there are more digits than placeholders before the point, the first placeholder receives the
// extra digits.
func (s *codeSection) digits(b *strings.Builder, tokens []codeToken, n float64, whole, rest string) {
	places := 0
	for _, t := range tokens {
		if t.part == codePoint {
			break
		}
		if t.part == codeDigit {
			places++
		}
	}
	before, behind, first := max(places, len(whole)), 0, true
	point := false
	put := func(to int) { // writes digits before the point until only `to` of them are left
		for ; before > to; before-- {
			if at := len(whole) - before; at >= 0 {
				b.WriteByte(whole[at])
				if s.thousands && before > 1 && before%3 == 1 {
					b.WriteByte(',')
				}
			}
		}
	}
	for _, t := range tokens {
		switch {
		case t.part == codeGeneral:
			b.WriteString(generalNumber(n))
		case t.part == codePoint:
			if first {
				put(0)
			}
			point, first = true, false
			b.WriteByte('.')
		case t.part == codeDigit && point:
			switch {
			case behind < len(rest) && strings.Trim(rest[behind:], "0") != "":
				b.WriteByte(rest[behind])
			case behind < maxDigits:
				b.WriteString(emptyPlaceholder(t.text))
			}
			behind++
		case t.part == codeDigit:
			if first {
				put(places)
			}
			first = false
			if places--; before > len(whole) {
				if b.WriteString(emptyPlaceholder(t.text)); t.text == "0" && s.thousands && before > 1 && before%3 == 1 {
					b.WriteByte(',')
				}
				before--
			} else {
				put(places)
			}
		case t.part == codeLiteral:
			b.WriteString(t.text)
		}
	}
}

// emptyPlaceholder returns what a placeholder without a digit shows.
func emptyPlaceholder(place string) string {
	switch place {
	case "0":
		return "0"
	case "?":
		return " "
	}
	return ""
}

// significantDigits returns a positive number's 15 significant digits and the power of ten of the first digit.
func significantDigits(n float64) (digits string, exp int) {
	mantissa, power, _ := strings.Cut(strconv.FormatFloat(n, 'e', 14, 64), "e")
	exp, err := strconv.Atoi(power)
	if err != nil {
		return "", 0 // not a number
	}
	return strings.Replace(mantissa, ".", "", 1), exp
}

// decimalDigits rounds n·10^shift to the given number of decimal places and returns the digits before and after the
// point. Like spreadsheets, it rounds decimal digits, half up: 1.005 becomes 1.01, although its binary value is
// smaller.
func decimalDigits(n float64, shift, places int) (whole, rest string) {
	digits, exp := significantDigits(n)
	if n == 0 {
		return "", strings.Repeat("0", places)
	}
	exp += shift
	// digits[exp+1:] are the decimal places; show `keep` digits.
	keep := exp + 1 + places
	switch {
	case keep < 0:
		return "", strings.Repeat("0", places)
	case keep < len(digits):
		up := digits[keep] >= '5'
		kept := []byte("0" + digits[:keep])
		for i := len(kept) - 1; up; i-- {
			if up = kept[i] == '9'; up {
				kept[i] = '0'
			} else {
				kept[i]++
			}
		}
		digits = string(kept)
		exp++
	}
	if exp < 0 {
		digits, exp = strings.Repeat("0", -exp)+digits, 0
	}
	if short := exp + 1 + places - len(digits); short > 0 {
		digits += strings.Repeat("0", short)
	}
	return strings.TrimLeft(digits[:exp+1], "0"), digits[exp+1 : exp+1+places]
}
