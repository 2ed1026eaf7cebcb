// Package lineends normalises the line breaks of answers, so that the stored text, the text that clients receive, and
// the positions of its sentences agree.
package lineends

import (
	"strings"
	"unicode/utf8"
)

// Normalizer normalises text that arrives in pieces. It converts every line break to LF, because event streams support
// no other. It removes what clients of an event stream cannot receive: line breaks at the very start of the text, and
// byte order marks, which decoders drop. It joins characters whose bytes arrive in different pieces. The zero value is
// ready for use.
type Normalizer struct {
	begun   bool   // whether some text has been returned
	afterCR bool   // whether the last piece ended with a CR, so that an LF after it must be skipped
	partial string // first bytes of an incomplete character
}

var normaliseLineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "")

// Normalize normalises a complete text.
func Normalize(text string) string {
	var n Normalizer
	return n.Next(text) + n.Close()
}

// Next processes the next piece and returns the text that can be sent.
func (l *Normalizer) Next(piece string) string {
	piece = l.partial + piece
	whole := len(piece) - partialRuneLen(piece)
	piece, l.partial = piece[:whole], piece[whole:]
	return l.normalise(piece)
}

// Close returns the rest of the text.
func (l *Normalizer) Close() string {
	rest := l.partial
	l.partial = ""
	return l.normalise(rest)
}

func (l *Normalizer) normalise(piece string) string {
	if piece == "" {
		return ""
	}
	if l.afterCR {
		piece = strings.TrimPrefix(piece, "\n")
	}
	l.afterCR = strings.HasSuffix(piece, "\r")
	if !utf8.ValidString(piece) {
		piece = string([]rune(piece)) // one replacement character per invalid byte, however the text is split
	}
	piece = normaliseLineEnds.Replace(piece)
	if !l.begun {
		piece = strings.TrimLeft(piece, "\n")
		l.begun = piece != ""
	}
	return piece
}

// partialRuneLen returns the number of bytes at the end of s that are the start of an incomplete character.
func partialRuneLen(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRuneInString(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
