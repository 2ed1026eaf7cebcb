// Package bounded reads bodies from untrusted sources up to a size limit and truncates text.
package bounded

import (
	"errors"
	"io"
	"unicode/utf8"
)

// ErrTooLarge means that a body exceeds its limit.
var ErrTooLarge = errors.New("the body is larger than its limit")

// NewReader returns a reader for at most `limit` bytes of r. If r has more, reading fails with ErrTooLarge, whereas a
// reader from io.LimitReader would return io.EOF.
func NewReader(r io.Reader, limit int64) io.Reader { return &reader{r: r, left: limit} }

type reader struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (b *reader) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 { // read one byte more than `left`, to see whether the body ends at the limit
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n, b.left = int(b.left), 0
		return n, ErrTooLarge
	}
	b.left -= int64(n)
	return n, err
}

// ReadAll reads r to its end. If r has more than `limit` bytes, it returns the bytes up to the limit and ErrTooLarge.
func ReadAll(r io.Reader, limit int64) ([]byte, error) { return io.ReadAll(NewReader(r, limit)) }

// Prefix returns the first n bytes of a text, or slightly fewer if that would split a character.
func Prefix(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
