package xlsx

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDigits   = 30 // maximum number of decimal places in a format, as in Excel
	maxFraction = 6  // maximum number of digits in a fraction of a second, the precision of times in a sheet
)

// codePart is the kind of a token in a number format.
type codePart int

const (
	codeLiteral  codePart = iota // literal text
	codeDigit                    // "0" always shows a digit; for an insignificant digit, "#" shows nothing and "?" a space
	codePoint                    // the decimal point
	codeExponent                 // "E+" or "E-"
	codeGeneral                  // the number in General format
	codeDate                     // a run of y, m, d, h or s
	codeElapsed                  // a run of h, m or s that counts past a day, an hour or a minute
	codeFraction                 // a fraction of a second, including the decimal point
	codeAMPM                     // "AM/PM" or "A/P"
)

// codeToken is a token in a section of a number format.
type codeToken struct {
	part codePart
	text string
}

// codeSection is one of up to four sections in a number format, each for certain numbers, such as negative ones.
type codeSection struct {
	tokens        []codeToken
	condition     string // "<", ">=" …; "" if there is none
	bound         float64
	thousands     bool // digits are grouped by thousands
	shift         int  // how many places percent signs and commas move the decimal point to the right
	places        int  // number of decimal places, or of digits in a fraction of a second
	dated         bool // the section formats a date or time
	needsExcelize bool // only excelize can format it: fractions, eras, names in other languages
}

// numberCode is a parsed number format ("format code" in Excel).
type numberCode []codeSection

// parseCode parses a format code, treating invalid parts as literal text.
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

// parseSection parses the first section in `code`. `rest` starts at the semicolon after this section.
func parseSection(code string) (s codeSection, rest string) {
	literal := func(text string) { s.tokens = append(s.tokens, codeToken{codeLiteral, text}) }
	digits, commas := false, 0 // whether the last token was a digit, and the number of commas after it
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
		case c == '_', c == '*': // "_x" is a space as wide as x; "*x" fills the cell with x
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
		case c == ',' && (was || commas > 0): // between digits: groups them; after digits: divides by 1,000
			commas++
		case c == '.':
			s.tokens = append(s.tokens, codeToken{codePoint, "."})
			s.shift -= 3 * commas
			commas = 0
		case c == '%':
			s.shift += 2
			literal("%")
		case c == '/' && was:
			s.needsExcelize = true
		default:
			size = s.word(code, size)
		}
		code = code[size:]
	}
	s.shift -= 3 * commas
	s.finish()
	return s, code
}

// word parses a keyword or a run of letters at the start of the code. If the code starts with neither, its first
// character, which takes `size` bytes, is literal text. word returns the number of bytes parsed.
func (s *codeSection) word(code string, size int) int {
	for _, w := range []struct {
		word string
		part codePart
	}{{"general", codeGeneral}, {"am/pm", codeAMPM}, {"a/p", codeAMPM}, {"e+", codeExponent}, {"e-", codeExponent}} {
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
	case c == 'e', c == 'g', c == 'b', c == 'a': // era years, day names in other languages
		s.needsExcelize = true
	default:
		s.tokens = append(s.tokens, codeToken{codeLiteral, code[:size]})
	}
	return size
}

// bracket parses the content of square brackets: a condition, a currency and language, an elapsed time, or a colour.
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
		s.needsExcelize = s.needsExcelize || !isEnglish(language)
	case strings.HasPrefix(lower, "dbnum"):
		s.needsExcelize = true
	}
}

// isEnglish reports whether a language ("409", "en-GB") has English month names. In a numeric code, the lower ten bits
// are the language. The codes for the system's own date and time formats name no language and count as English.
func isEnglish(language string) bool {
	if id, err := strconv.ParseUint(language, 16, 64); err == nil {
		return id&0x3ff == 9 || id == 0 || id&0xffff == 0xf800 || id&0xffff == 0xf400
	}
	lower := strings.ToLower(language)
	return lower == "" || strings.HasPrefix(lower, "en") || strings.HasPrefix(lower, "x-sys")
}

// finish decides whether the section formats dates or numbers. The meaning of a point depends on this decision.
func (s *codeSection) finish() {
	for _, t := range s.tokens {
		s.dated = s.dated || t.part == codeDate || t.part == codeElapsed || t.part == codeAMPM
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

// datedTokens turns a point and zeros after seconds into fractional seconds. Other points and digits become literals.
func (s *codeSection) datedTokens() {
	var kept []codeToken
	seconds := false // whether the last date or time token stands for seconds
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
			s.needsExcelize = true
		}
		kept = append(kept, t)
	}
	s.tokens = kept
}

// sectionFor returns the section for n, or nil. `signed` reports whether the section shows the minus sign itself.
func (c numberCode) sectionFor(n float64) (s *codeSection, signed bool) {
	sections := c[:min(len(c), 3)] // the fourth section is for text
	if last := len(sections) - 1; last > 0 && sections[last].isText() {
		sections = sections[:last]
	}
	for i := range sections {
		s, last := &sections[i], i == len(sections)-1
		var takes bool
		switch {
		case s.condition != "":
			takes, signed = s.matches(n), s.bound <= 0 && s.condition == "<" || s.bound < 0 && (s.condition == "<=" || s.condition == "=")
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

// isText reports whether the section formats text.
func (s *codeSection) isText() bool {
	return slices.ContainsFunc(s.tokens, func(t codeToken) bool { return t.part == codeGeneral && t.text == "@" })
}

// matches reports whether the number meets the section's condition.
func (s *codeSection) matches(n float64) bool {
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
