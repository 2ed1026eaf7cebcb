package sse

import (
	"strings"
	"unicode/utf8"
)

// TokenWriter sends text as it arrives, in such a way that clients receive every character.
//
// The most popular client library drops a line break at the start of an event's data, so no event may start with one.
// But new text may start with a line break after the text before it has already been sent. The writer therefore always
// holds back the last character and sends it along with any line breaks that follow. This delays the text by one
// character, and only for clients that may use this library.
type TokenWriter struct {
	Send     func(text string) error
	Buffer   bool   // whether the client may use this library
	buffered string // the held-back character and any line breaks after it
}

// Write sends the next part of the text.
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

// Close sends any text held back.
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

// SplitPiece splits a piece of text that clients would mistake for a protocol marker, such as [DONE]. Clients join the
// two parts again.
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
