package sse

import (
	"strings"
	"unicode/utf8"
)

// LineEnds makes every line break of a text that comes in pieces a single LF, because an event stream knows no other,
// and drops what no client of one could give back: line breaks at the very beginning, and byte order marks, which
// decoders swallow. Characters whose bytes come in two pieces are put together. The zero value is ready.
type LineEnds struct {
	begun   bool   // something has been passed on
	afterCR bool   // the text so far ended with a CR, passed on as LF: an LF that follows belongs to it
	partial string // the first bytes of a character that is not complete
}

var normaliseLineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "")

// Next takes a piece and returns the text that can be passed on.
func (l *LineEnds) Next(piece string) string {
	piece = l.partial + piece
	whole := len(piece) - partialRuneLen(piece)
	piece, l.partial = piece[:whole], piece[whole:]
	return l.normalise(piece)
}

// Close returns the rest of the text.
func (l *LineEnds) Close() string {
	rest := l.partial
	l.partial = ""
	return l.normalise(rest)
}

func (l *LineEnds) normalise(piece string) string {
	if piece == "" {
		return ""
	}
	if l.afterCR {
		piece = strings.TrimPrefix(piece, "\n")
	}
	l.afterCR = strings.HasSuffix(piece, "\r")
	if !utf8.ValidString(piece) {
		piece = string([]rune(piece)) // one replacement for each byte, wherever pieces are cut
	}
	piece = normaliseLineEnds.Replace(piece)
	if !l.begun {
		piece = strings.TrimLeft(piece, "\n")
		l.begun = piece != ""
	}
	return piece
}

// partialRuneLen returns how many bytes at the end of s begin a character that they do not finish.
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
