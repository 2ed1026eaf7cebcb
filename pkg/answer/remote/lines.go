package remote

import (
	"errors"
	"io"
)

// errLine is returned for a body with a line that is too long.
var errLine = errors.New("the model server sent a line of more than 1 MiB")

// plainLines normalises a body for the SDKs' decoders: lines end with a line feed, and there is no byte order mark. The standard of
// event streams also allows carriage returns, alone or before a line feed, and a byte order mark; in JSON, neither has a meaning.
// plainLines bounds the length of a line, because decoders buffer whole lines.
type plainLines struct {
	io.ReadCloser
	line     int  // bytes of the line so far
	returned bool // the last byte was a carriage return, which has been passed on as the end of a line
	marked   int  // bytes of the byte order mark found so far; -1 after it
}

const byteOrderMark = "\ufeff"

// Read implements io.Reader.
func (b *plainLines) Read(p []byte) (int, error) {
	for {
		n, err := b.ReadCloser.Read(p)
		kept := p[:0]
		for _, c := range p[:n] {
			if b.marked >= 0 {
				if c == byteOrderMark[b.marked] {
					if b.marked++; b.marked == len(byteOrderMark) {
						b.marked = -1
					}
					continue
				}
				// A truncated byte order mark is dropped too.
				b.marked = -1
			}
			after := b.returned
			b.returned = c == '\r'
			switch {
			case c == '\n' && after:
				continue
			case c == '\r':
				c = '\n'
			}
			kept = append(kept, c)
			if b.line++; c == '\n' {
				b.line = 0
			}
		}
		if b.line > maxLineBytes {
			return 0, errLine
		}
		if len(kept) > 0 || err != nil || n == 0 {
			return len(kept), err
		}
	}
}
