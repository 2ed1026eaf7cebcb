package pdftext

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// direction is a character's writing direction.
type direction byte

const (
	neutral direction = iota // also digits and punctuation
	leftToRight
	rightToLeft
)

// directionOf returns the direction of the first letter in `text`.
func directionOf(text string) direction {
	for _, r := range text {
		switch {
		case r < 0x590:
			if unicode.IsLetter(r) {
				return leftToRight
			}
		case r < 0x900, r >= 0xfb1d && r < 0xfe00, r >= 0xfe70 && r < 0xff00, r >= 0x10800 && r < 0x11000, r >= 0x1e800 && r < 0x1f000:
			if unicode.IsLetter(r) {
				return rightToLeft
			}
		case unicode.IsLetter(r):
			return leftToRight
		}
	}
	return neutral
}

// visualOrder sorts a line's glyphs from left to right and attaches combining marks to their letters.
func visualOrder(pieces []piece) []piece {
	var letters, marks []piece
	for _, p := range pieces {
		if r, _ := utf8.DecodeRuneInString(p.text); unicode.Is(unicode.Mn, r) {
			marks = append(marks, p)
		} else {
			letters = append(letters, p)
		}
	}
	if len(letters) == 0 {
		return pieces
	}
	slices.SortStableFunc(letters, func(a, b piece) int {
		switch {
		case a.x0+a.x1 < b.x0+b.x1:
			return -1
		case a.x0+a.x1 > b.x0+b.x1:
			return 1
		}
		return 0
	})
	for _, m := range marks {
		middle := (m.x0 + m.x1) / 2
		i, _ := slices.BinarySearchFunc(letters, middle, func(p piece, x float64) int {
			switch {
			case p.x1 < x:
				return -1
			case p.x0 > x:
				return 1
			}
			return 0
		})
		i = min(i, len(letters)-1)
		if letters[i].blank && i > 0 {
			i--
		}
		letters[i].text += m.text
	}
	return letters
}

// logicalOrder reverses a right-to-left line but keeps the order of numbers and Latin words.
func logicalOrder(units []unit) []unit {
	slices.Reverse(units)
	for i := 0; i < len(units); {
		if !isLeftToRight(units[i].text) {
			i++
			continue
		}
		end := i + 1
		for j := i + 1; j < len(units); j++ {
			if isLeftToRight(units[j].text) {
				end = j + 1
			} else if !joinsLatin(units, i, j) {
				break
			}
		}
		slices.Reverse(units[i:end])
		i = end
	}
	mirrorBrackets(units)
	return units
}

// turnWords reverses right-to-left words inside a left-to-right line.
func turnWords(units []unit) {
	for i := 0; i < len(units); {
		if directionOf(units[i].text) != rightToLeft {
			i++
			continue
		}
		end := i + 1
		for j := i + 1; j < len(units); j++ {
			if way := directionOf(units[j].text); way == rightToLeft {
				end = j + 1
			} else if way == leftToRight || isDigits(units[j].text) {
				break
			}
		}
		slices.Reverse(units[i:end])
		i = end
	}
}

// isLeftToRight reports whether a unit starts with a digit, or its first letter is from a left-to-right script.
func isLeftToRight(unit string) bool {
	r, _ := utf8.DecodeRuneInString(unit)
	return unicode.IsDigit(r) || directionOf(unit) == leftToRight
}

// joinsLatin reports whether the character at j continues a number, or a run of Latin words, that started at i.
func joinsLatin(units []unit, i, j int) bool {
	if j+1 >= len(units) || !isLeftToRight(units[j+1].text) {
		return false
	}
	if strings.ContainsAny(units[j].text, ".,:/-–%_@'’") {
		return true
	}
	return units[j].text == " " && directionOf(units[j-1].text) == leftToRight && directionOf(units[j+1].text) == leftToRight
}

var mirrored = map[string]string{"(": ")", ")": "(", "[": "]", "]": "[", "{": "}", "}": "{", "<": ">", ">": "<", "«": "»", "»": "«"}

// mirrorBrackets corrects brackets in a right-to-left line if the file stores them by shape rather than by meaning. If
// brackets are stored by meaning, an opening bracket has white space before it and text after it. If the white space is
// inconclusive, the first bracket must be an opening one.
func mirrorBrackets(units []unit) {
	const opening, closing = "([{«", ")]}»"
	right := 0 // brackets that face their content minus those that do not
	first := ""
	for i, u := range units {
		opens := u.text != "" && strings.Contains(opening, u.text)
		if !opens && (u.text == "" || !strings.Contains(closing, u.text)) {
			continue
		}
		first = cmp.Or(first, u.text)
		before, after := i > 0 && units[i-1].text != " ", i+1 < len(units) && units[i+1].text != " "
		switch {
		case before == after:
		case after == opens:
			right++
		default:
			right--
		}
	}
	if right > 0 || right == 0 && strings.Contains(opening, first) {
		return
	}
	for i, u := range units {
		if m := mirrored[u.text]; m != "" {
			units[i].text = m
		}
	}
}
