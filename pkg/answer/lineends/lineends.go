// Package lineends normalises line breaks in answers, so that the stored text, the text that clients receive, and the
// sentence positions agree.
package lineends

import (
	"strings"
	"unicode/utf8"
)

// Normalizer normalises text as it arrives. It converts all line breaks to LF, because event streams support no others.
// It removes what event stream clients cannot receive: line breaks at the very start, and byte order marks, which
// decoders drop. It reassembles characters whose bytes are split between calls. The zero value is ready for use.
type Normalizer struct {
	begun   bool   // whether some text has been returned
	afterCR bool   // whether the previous text ended with a CR, so that an LF after it must be skipped
	partial string // first bytes of an incomplete character
}

var normaliseLineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "")

// Normalize normalises a complete text.
func Normalize(text string) string {
	var n Normalizer
	return n.Next(text) + n.Close()
}

// Next processes more text and returns what can be sent.
func (l *Normalizer) Next(piece string) string {
	piece = l.partial + piece
	whole := len(piece) - partialRuneLen(piece)
	piece, l.partial = piece[:whole], piece[whole:]
	return l.normalise(piece)
}

// Close returns any text held back.
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

// partialRuneLen returns the number of bytes at the end of s that start an incomplete character.
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
