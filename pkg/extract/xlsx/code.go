package xlsx

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDigits   = 30 // that a format may ask for behind the point, as many as Excel allows
	maxFraction = 6  // digits of a second; what a sheet stores of a time is not finer
)

// codePart is what one piece of a number format writes.
type codePart int

const (
	codeLiteral  codePart = iota // its text, as it stands
	codeDigit                    // a digit: "0" always, "#" where there is one, "?" or a space in its place
	codePoint                    // the decimal point
	codeExponent                 // "E+" or "E-"
	codeGeneral                  // the number as it is
	codeDate                     // a run of y, m, d, h or s
	codeElapsed                  // a run of h, m or s that does not begin anew after a day, an hour, a minute
	codeFraction                 // digits of a second, with the point before them
	codeHalf                     // "AM/PM" or "A/P"
)

// codeToken is a piece of a section of a number format.
type codeToken struct {
	part codePart
	text string
}

// codeSection is one of the up to four parts of a number format, for numbers of its own.
type codeSection struct {
	tokens    []codeToken
	condition string // "<", ">=" …; "" for none
	bound     float64
	thousands bool // digits are grouped
	shift     int  // powers of ten by which percent signs and commas move the point
	places    int  // digits behind the point, or of a second
	dated     bool // it shows a date or time
	foreign   bool // it asks for what is not written here: fractions, eras, names in other languages
}

// numberCode is a number format: what Excel calls a format code.
type numberCode []codeSection

// parseCode reads a format code. What Excel would refuse is read as literal text.
func parseCode(code string) numberCode {
	var sections numberCode
	for {
		section, rest := parseSection(code)
		sections = append(sections, section)
		if rest == "" || len(sections) == 4 {
			return sections
		}
		code = rest[1:]
	}
}

// parseSection reads a section; rest begins with the semicolon after it.
func parseSection(code string) (s codeSection, rest string) {
	literal := func(text string) { s.tokens = append(s.tokens, codeToken{codeLiteral, text}) }
	digits, commas := false, 0 // the last piece was a digit, and how many commas have followed it
	for code != "" && code[0] != ';' {
		c, size := utf8.DecodeRuneInString(code)
		was := digits
		digits = false
		switch {
		case c == '"':
			text, after, _ := strings.Cut(code[1:], `"`)
			literal(text)
			code = after
			continue
		case c == '\\' || c == '!' && len(code) > 1 && code[1] != ';':
			_, n := utf8.DecodeRuneInString(code[1:])
			literal(code[1 : 1+n])
			size = 1 + n
		case c == '_', c == '*': // room as wide as a character, and what fills the cell
			_, n := utf8.DecodeRuneInString(code[1:])
			if c == '_' {
				literal(" ")
			}
			size = 1 + n
		case c == '[':
			inside, after, closed := strings.Cut(code[1:], "]")
			if closed {
				s.bracket(inside)
				code = after
				continue
			}
			literal("[")
		case c == '0', c == '#', c == '?':
			if commas > 0 {
				s.thousands = true
			}
			s.tokens = append(s.tokens, codeToken{codeDigit, string(c)})
			digits, commas = true, 0
		case c == ',' && (was || commas > 0): // between digits it groups them, behind them it divides by a thousand
			commas++
		case c == '.':
			s.tokens = append(s.tokens, codeToken{codePoint, "."})
			s.shift -= 3 * commas
			commas = 0
		case c == '%':
			s.shift += 2
			literal("%")
		case c == '/' && was:
			s.foreign = true
		default:
			size = s.word(code, size)
		}
		code = code[size:]
	}
	s.shift -= 3 * commas
	s.finish()
	return s, code
}

// word reads the keyword or run of letters that the code begins with, or else a character of size bytes that stands for
// itself. It returns how many bytes it took.
func (s *codeSection) word(code string, size int) int {
	for _, w := range []struct {
		word string
		part codePart
	}{{"general", codeGeneral}, {"am/pm", codeHalf}, {"a/p", codeHalf}, {"e+", codeExponent}, {"e-", codeExponent}} {
		if len(code) >= len(w.word) && strings.EqualFold(code[:len(w.word)], w.word) {
			s.tokens = append(s.tokens, codeToken{w.part, code[:len(w.word)]})
			return len(w.word)
		}
	}
	switch c := code[0] | 0x20; {
	case code[0] == '@':
		s.tokens = append(s.tokens, codeToken{codeGeneral, "@"})
	case strings.IndexByte("ymdhs", c) >= 0:
		n := 1
		for n < len(code) && code[n]|0x20 == c {
			n++
		}
		s.tokens = append(s.tokens, codeToken{codeDate, strings.ToLower(code[:n])})
		return n
	case c == 'e', c == 'g', c == 'b', c == 'a': // years of eras, names of days in other languages
		s.foreign = true
	default:
		s.tokens = append(s.tokens, codeToken{codeLiteral, code[:size]})
	}
	return size
}

// bracket reads what stands in square brackets: a condition, a currency and language, an elapsed time, or a colour.
func (s *codeSection) bracket(inside string) {
	lower := strings.ToLower(inside)
	switch {
	case inside == "":
	case strings.Trim(lower, "h") == "", strings.Trim(lower, "m") == "", strings.Trim(lower, "s") == "":
		s.tokens = append(s.tokens, codeToken{codeElapsed, lower})
	case strings.ContainsRune("<>=", rune(inside[0])):
		sign := inside[:len(inside)-len(strings.TrimLeft(inside, "<>="))]
		if bound, err := strconv.ParseFloat(strings.TrimSpace(inside[len(sign):]), 64); err == nil {
			s.condition, s.bound = sign, bound
		}
	case inside[0] == '$':
		currency, language, _ := strings.Cut(inside[1:], "-")
		s.tokens = append(s.tokens, codeToken{codeLiteral, currency})
		s.foreign = s.foreign || !isEnglish(language)
	case strings.HasPrefix(lower, "dbnum"):
		s.foreign = true
	}
}

// isEnglish reports whether a language, as a format code names it, has English names of months: "409", "en-GB". The
// lower ten bits of a number are the language, and those for the system's own format say nothing of it.
func isEnglish(language string) bool {
	if id, err := strconv.ParseUint(language, 16, 64); err == nil {
		return id&0x3ff == 9 || id == 0 || id&0xffff == 0xf800 || id&0xffff == 0xf400
	}
	lower := strings.ToLower(language)
	return lower == "" || strings.HasPrefix(lower, "en") || strings.HasPrefix(lower, "x-sys")
}

// finish tells dates from numbers, and the points of one from those of the other. Names of a language matter in dates
// alone.
func (s *codeSection) finish() {
	for _, t := range s.tokens {
		s.dated = s.dated || t.part == codeDate || t.part == codeElapsed || t.part == codeHalf
	}
	if s.dated {
		s.datedTokens()
		return
	}
	behind := false
	for i, t := range s.tokens {
		switch {
		case t.part == codePoint && behind:
			s.tokens[i].part = codeLiteral
		case t.part == codePoint:
			behind = true
		case t.part == codeExponent:
			behind = false
		case t.part == codeDigit && behind:
			s.places++
		}
	}
	s.places = min(s.places, maxDigits)
}

// datedTokens makes the zeros behind seconds digits of a second, and other digits and points text.
func (s *codeSection) datedTokens() {
	var kept []codeToken
	seconds := false // since the last date or time
	for i := 0; i < len(s.tokens); i++ {
		t := s.tokens[i]
		switch t.part {
		case codeDate, codeElapsed:
			seconds = t.text[0] == 's'
		case codePoint:
			zeros := 0
			for i+1+zeros < len(s.tokens) && s.tokens[i+1+zeros].text == "0" {
				zeros++
			}
			if t.part = codeLiteral; seconds && zeros > 0 {
				t = codeToken{codeFraction, "." + strings.Repeat("0", min(zeros, maxFraction))}
				s.places = max(s.places, min(zeros, maxFraction))
				i += zeros
			}
		case codeDigit, codeExponent:
			t.part = codeLiteral
		case codeGeneral:
			s.foreign = true
		}
		kept = append(kept, t)
	}
	s.tokens = kept
}

// of chooses the section for a number, and reports whether that says by itself that the number is below zero. It returns
// nil where no section is for the number.
func (c numberCode) of(n float64) (s *codeSection, signed bool) {
	sections := c[:min(len(c), 3)] // the fourth is for texts
	if last := len(sections) - 1; last > 0 && sections[last].isText() {
		sections = sections[:last]
	}
	for i := range sections {
		s, last := &sections[i], i == len(sections)-1
		var takes bool
		switch {
		case s.condition != "":
			takes, signed = s.holds(n), s.bound <= 0 && s.condition == "<" || s.bound < 0 && (s.condition == "<=" || s.condition == "=")
		case i == 0 && !last:
			takes = n > 0 || n == 0 && len(sections) == 2
		default:
			takes, signed = last || n < 0, i == 1 && n < 0 && sections[0].condition == ""
		}
		if takes {
			return s, signed
		}
	}
	return nil, false
}

// isText reports whether the section is for texts.
func (s *codeSection) isText() bool {
	return slices.ContainsFunc(s.tokens, func(t codeToken) bool { return t.part == codeGeneral && t.text == "@" })
}

// holds reports whether the section's condition does.
func (s *codeSection) holds(n float64) bool {
	switch c := cmp.Compare(n, s.bound); s.condition {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "=":
		return c == 0
	default: // "<>"
		return c != 0
	}
}
