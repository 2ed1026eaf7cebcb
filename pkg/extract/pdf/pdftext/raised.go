package pdftext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds for recognising superscripts, as multiples of the line's font size.
const (
	minRise    = 0.15 // minimum height of a superscript above the baseline
	maxRise    = 0.8
	smallRaise = 0.9 // maximum font size of a superscript no higher than clearRise
	clearRise  = 0.25
	nearRaised = 0.25 // maximum gap between a superscript and the word before it
)

// isSuperscript reports whether a glyph is a superscript on the current line.
func (c *cellMaker) isSuperscript(p piece) bool {
	rise := p.base - c.base
	return c.size > 0 && rise > minRise*c.size && rise < maxRise*c.size && p.size < 1.05*c.size &&
		(p.size <= smallRaise*c.size || rise > clearRise*c.size)
}

// raise turns superscripts directly after a word into Unicode superscript characters. Otherwise 10⁶ would become 106.
func (c *cellMaker) raise(pieces []piece) {
	for i := 0; i < len(pieces); {
		if pieces[i].blank || !c.isSuperscript(pieces[i]) {
			i++
			continue
		}
		from := i
		var run strings.Builder
		for ; i < len(pieces) && !pieces[i].blank && c.isSuperscript(pieces[i]); i++ {
			run.WriteString(pieces[i].text)
		}
		next := ""
		if i < len(pieces) {
			next = pieces[i].text
		}
		if from == 0 || pieces[from-1].blank || pieces[from].x0-pieces[from-1].x1 > nearRaised*c.size {
			switch {
			case from > 0 && isDegree(run.String(), next):
				pieces[from].text = "°"
			case i < len(pieces) && isDigits(run.String()) && isotopes[c.wordFrom(pieces[i:])] && pieces[i].x0-pieces[i-1].x1 < nearRaised*c.size:
				raiseAll(pieces[from:i], raisedDigits)
			}
			continue
		}
		table, sign := raisedForms(wordBefore(pieces[:from]), run.String(), next)
		if sign != "" {
			pieces[from].text = sign
			for k := from + 1; k < i; k++ {
				pieces[k].text = wordJoiner
			}
		}
		raiseAll(pieces[from:i], table)
	}
}

func raiseAll(pieces []piece, table map[rune]rune) {
	for k := range pieces {
		pieces[k].text = strings.Map(func(r rune) rune {
			if s, ok := table[r]; ok {
				return s
			}
			return r
		}, pieces[k].text)
	}
}

// isotopes are the symbols of chemical elements that can follow a raised mass number, as in ¹⁴C.
var isotopes = func() map[string]bool {
	all := map[string]bool{}
	for sign := range strings.FieldsSeq("H He Li Be B C N O F Na Mg Al Si P S Cl Ar K Ca Cr Mn Fe Co Ni Cu Zn Ga Kr Rb Sr Y Zr Mo Tc Ru In Xe Cs Ba Sm Lu Re Ir Tl Pb Bi Po Rn Ra Ac Th Pa U Np Pu Am Cm") {
		all[sign] = true
	}
	return all
}()

// wordFrom returns the word at the start of `pieces` if it has at most two letters, all on the baseline. Otherwise it
// returns "".
func (c *cellMaker) wordFrom(pieces []piece) string {
	const longest = 2
	word := ""
	for _, p := range pieces {
		if p.blank || c.isSuperscript(p) || !startsLetter(p.text) {
			break
		}
		if word += p.text; len(word) > longest {
			return ""
		}
	}
	return word
}

// wordJoiner is a placeholder for the text of a glyph that was merged into the sign before it. It never appears in the
// result.
const wordJoiner = "\u2060"

// wordBefore returns the word at the end of `pieces`.
func wordBefore(pieces []piece) string {
	from := len(pieces)
	for from > 0 && !pieces[from-1].blank && len(pieces)-from < 32 {
		from--
	}
	var b strings.Builder
	for _, p := range pieces[from:] {
		b.WriteString(p.text)
	}
	return b.String()
}

var (
	raisedDigits  = raisedTable("0123456789+-−–=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻–⁼⁽⁾ⁿⁱ")
	raisedSigns   = raisedTable("+-−–=", "⁺⁻⁻⁻⁼")
	raisedAny     = raisedTable("0123456789+-−–=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
	raisedLetters = raisedTable("abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVW", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ")
)

func raisedTable(plain, raised string) map[rune]rune {
	to := []rune(raised)
	table := map[rune]rune{}
	for i, r := range []rune(plain) {
		table[r] = to[i]
	}
	return table
}

// raisedForms returns the replacement for a superscript after a word. The replacement is either a table of raised
// characters or one sign for the whole superscript, such as "™". If both results are empty, the superscript stays as it
// is, as in ordinals (1st, XIXe) and abbreviations (Mme).
func raisedForms(word, run, next string) (table map[rune]rune, sign string) {
	digits, letters := strings.ContainsFunc(run, unicode.IsDigit), strings.ContainsFunc(run, unicode.IsLetter)
	last, _ := utf8.DecodeLastRuneInString(word)
	switch {
	case strings.ContainsAny(run, "[]{}"), strings.HasPrefix(run, "("):
		return nil, ""
	case run == "TM":
		return nil, "™"
	case run == "SM":
		return nil, "℠"
	case isDegree(run, next) && unicode.IsDigit(last):
		return nil, "°"
	case digits && letters:
		if strings.ContainsFunc(run, func(r rune) bool { return unicode.IsLetter(r) && raisedAny[r] == 0 }) {
			return raisedDigits, ""
		}
		return raisedAny, ""
	case digits:
		return raisedDigits, ""
	case !letters:
		return raisedSigns, ""
	case isMarkList(run) && isNoteMark(word, run):
		return raisedLetters, ""
	}
	return nil, ""
}

// isDegree reports whether a raised letter or digit is a degree sign, i.e. a temperature scale follows.
func isDegree(run, next string) bool {
	return (run == "o" || run == "O" || run == "0") && (next == "C" || next == "F")
}

// isMarkList reports whether a superscript is a comma-separated list of single letters, such as note marks or
// exponents.
func isMarkList(run string) bool {
	for mark := range strings.SplitSeq(run, ",") {
		if r := []rune(strings.TrimSpace(mark)); len(r) != 1 || raisedLetters[r[0]] == 0 {
			return false
		}
	}
	return true
}

// isNoteMark reports whether a raised letter after a word is a note mark or exponent, not the end of an ordinal or
// abbreviation.
func isNoteMark(word, run string) bool {
	const ordinals, shortened, fewest = "eaodrhAO", "MNDSCJV", 3
	last, _ := utf8.DecodeLastRuneInString(word)
	switch letters := strings.TrimRightFunc(word, unicode.IsLetter); {
	case unicode.IsDigit(last):
		return !strings.Contains(ordinals, run)
	case !unicode.IsLetter(last):
		return true
	case strings.Trim(word[len(letters):], "IVXLCDM") == "":
		return run != "e" && run != "o" && run != "a" && len(word) > len(letters) && !strings.Contains(shortened, word[len(letters):])
	case utf8.RuneCountInString(word[len(letters):]) < fewest:
		return !strings.ContainsAny(shortened, word[len(letters):]) || !strings.Contains("eort", run)
	}
	return true
}
