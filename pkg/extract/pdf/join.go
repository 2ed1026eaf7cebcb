package pdf

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// appendLine appends a line to `text`, which it may modify in place. It inserts a space unless the script has no spaces
// between words. A hyphen that divides a word at the end of `text` is dropped, and no space is added. The hyphen of a
// compound such as "state-of-the-" is kept.
func appendLine(text []byte, line string) []byte {
	if len(text) == 0 || line == "" {
		return append(text, line...)
	}
	first, _ := utf8.DecodeRuneInString(line)
	last, n := utf8.DecodeLastRune(text)
	if strings.ContainsRune("-‐\u00ad–", last) {
		head := text[:len(text)-n]
		prev, _ := utf8.DecodeLastRune(head)
		switch {
		case !unicode.IsLetter(prev) && !unicode.IsDigit(prev) || !unicode.IsLetter(first) && !unicode.IsDigit(first):
		case last != '–' && unicode.IsLetter(prev) && unicode.IsLower(first) && !hyphenated(head):
			return append(head, line...)
		default: // "2014-" and "2016", "Jean-" and "Paul", "state-of-the-" and "art"
			return append(text, line...)
		}
	}
	if !noSpaceScript(last) || !noSpaceScript(first) {
		text = append(text, ' ')
	}
	return append(text, line...)
}

// hyphenated reports whether the last word in `text` contains an inner hyphen, as compounds do.
func hyphenated(text []byte) bool {
	word := text[bytes.LastIndexAny(text, " \t\n")+1:]
	at := bytes.IndexAny(word, "-‐")
	return at > 0 && at < len(word)-1
}

// noSpaceScript reports whether a character belongs to a script without spaces between words.
func noSpaceScript(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}

// joinLines joins two lines in a cell or paragraph.
func joinLines(a, b string) string {
	return string(appendLine(append(make([]byte, 0, len(a)+1+len(b)), a...), b))
}
