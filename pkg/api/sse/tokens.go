package sse

import (
	"strings"
	"unicode/utf8"
)

// TokenWriter passes on pieces of text in such a way that clients get every character back.
//
// The most used client library drops the line break of an event whose data begins with one, so to its clients no event
// may begin so. A piece may, though, and what precedes it has been sent by then. So the last character is always held
// back: a line break that follows goes out behind it. It costs one character of delay, which other clients are spared.
type TokenWriter struct {
	Send     func(text string) error
	Buffer   bool   // the client may be that library's
	buffered string // the last character before line breaks, and they
}

// Write passes on a piece.
func (t *TokenWriter) Write(piece string) error {
	if !t.Buffer {
		return t.sendAll(piece)
	}
	text := t.buffered + piece
	cut := len(strings.TrimRight(text, "\n"))
	_, size := utf8.DecodeLastRuneInString(text[:cut])
	cut -= size
	t.buffered = text[cut:]
	return t.sendAll(text[:cut])
}

// Close sends the rest of the text.
func (t *TokenWriter) Close() error {
	held := t.buffered
	t.buffered = ""
	return t.sendAll(held)
}

func (t *TokenWriter) sendAll(text string) error {
	for _, piece := range SplitPiece(text) {
		if err := t.Send(piece); err != nil {
			return err
		}
	}
	return nil
}

// SplitPiece splits a piece that a client would take for a mark of the protocol, in the middle of the mark.
func SplitPiece(piece string) []string {
	switch {
	case piece == "":
		return nil
	case piece == "[DONE]", strings.HasPrefix(piece, "[ERROR]"):
		return []string{piece[:1], piece[1:]}
	default:
		return []string{piece}
	}
}
