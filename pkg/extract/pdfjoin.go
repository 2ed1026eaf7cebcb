package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// appendLine joins a line to the text before it: without a space between characters of scripts that have none, without
// the hyphen of a word that was divided, and with the hyphen of a compound that was parted there.
func appendLine(b *strings.Builder, line string) {
	before := b.String()
	if before == "" || line == "" {
		b.WriteString(line)
		return
	}
	first, _ := utf8.DecodeRuneInString(line)
	last, n := utf8.DecodeLastRuneInString(before)
	if strings.ContainsRune("-‐\u00ad–", last) {
		head := before[:len(before)-n]
		prev, _ := utf8.DecodeLastRuneInString(head)
		switch {
		case !unicode.IsLetter(prev) && !unicode.IsDigit(prev) || !unicode.IsLetter(first) && !unicode.IsDigit(first):
		case last != '–' && unicode.IsLetter(prev) && unicode.IsLower(first) && !hyphenated(head):
			b.Reset()
			b.WriteString(head)
			b.WriteString(line)
			return
		default: // "2014-" and "2016", "Jean-" and "Paul", "state-of-the-" and "art"
			b.WriteString(line)
			return
		}
	}
	if !noSpaceScript(last) || !noSpaceScript(first) {
		b.WriteByte(' ')
	}
	b.WriteString(line)
}

// hyphenated reports whether the last word of a text has a hyphen already, as a compound of several words has.
func hyphenated(s string) bool {
	word := s[strings.LastIndexAny(s, " \t\n")+1:]
	at := strings.IndexAny(word, "-‐")
	return at > 0 && at < len(word)-1
}

// noSpaceScript reports characters of scripts that are written without spaces.
func noSpaceScript(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}

// joinLines joins two lines of a cell or paragraph.
func joinLines(a, b string) string {
	var s strings.Builder
	s.WriteString(a)
	appendLine(&s, b)
	return s.String()
}
