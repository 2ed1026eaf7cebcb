package format

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/sluice/sluice/pkg/extract/charset"
)

// DeclaredCharset returns the charset named by the declared type, or "" if it names none.
func (p *Parser) DeclaredCharset() string {
	_, params, err := mime.ParseMediaType(p.Src.Declared)
	if err != nil {
		return ""
	}
	return params["charset"]
}

// Decoded returns the whole source as text, for parsers that can't read a stream. Like TextReader, it sets the
// document's Route to `route` plus the encoding's name.
func (p *Parser) Decoded(route string) (string, error) {
	r, err := p.TextReader(route, "")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if _, err := io.Copy(&b, r); err != nil {
		return "", fmt.Errorf("reading the file: %w", err)
	}
	return b.String(), nil
}

// textSource reads a document's text, decoded to UTF-8.
type textSource struct {
	*bufio.Reader
	Paged bool // the text contains form feeds
}

// TextReader decodes the source to UTF-8 without a byte order mark. It sets the document's Route, which is kept for
// diagnostics, to `route` plus the encoding's name. It scans the whole source first, because invalid bytes late in the
// text affect the encoding of its first line. `standard` is the encoding that the format prescribes for files that
// declare none, or "".
func (p *Parser) TextReader(route, standard string) (*textSource, error) {
	var evidence charset.Evidence
	piece := make([]byte, 256<<10)
	for at := int64(0); at < p.Src.Size; {
		if err := p.Ctx.Err(); err != nil {
			return nil, err
		}
		n, err := p.Src.Data.ReadAt(piece[:min(int64(len(piece)), p.Src.Size-at)], at)
		evidence.Add(piece[:n])
		at += int64(n)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading the file: %w", err)
		}
		if n == 0 {
			break
		}
	}
	name, skip := evidence.Decide(cmp.Or(p.DeclaredCharset(), standard))
	raw := io.NewSectionReader(p.Src.Data, int64(skip), p.Src.Size-int64(skip))
	var text io.Reader
	if stray := evidence.InvalidEncoding(name); stray != nil {
		if evidence.Bad > 0 {
			p.Out.Warn("the text is UTF-8 except for " + strconv.Itoa(evidence.Bad) + " " + Plural(evidence.Bad, "byte, which was", "bytes, which were") + " read as " + strings.ToLower(stray.String()))
		}
		text = transform.NewReader(raw, &charset.Repairer{Encoding: stray})
	} else {
		enc := unicode.UTF8
		if name != "utf-8" {
			enc, name = charset.ByName(name)
		}
		text = enc.NewDecoder().Reader(raw)
	}
	p.Doc.Route = route + "/" + name
	return &textSource{
		Reader: bufio.NewReaderSize(text, 64<<10),
		Paged:  evidence.Feeds && !strings.HasPrefix(name, "utf-16") && !strings.HasPrefix(name, "utf-32"),
	}, nil
}

// LineReader reads text line by line and removes line endings: "\n", "\r\n" or "\r".
type LineReader struct {
	R      *bufio.Reader
	Number int // number of the last returned line, from 1
	buf    []byte
	more   bool // the last line was split at maxLine and continues in the next call
}

// maxLine is the maximum length of a line in bytes. Longer lines are returned in several parts.
const maxLine = 1 << 20

// Next returns the next line. `ok` is false at the end of the text.
func (l *LineReader) Next() (line string, ok bool, err error) {
	l.buf = l.buf[:0]
	if !l.more {
		l.Number++
	}
	l.more = false
	for {
		c, err := l.R.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return string(l.buf), len(l.buf) > 0, nil
		case err != nil:
			return "", false, fmt.Errorf("reading the file: %w", err)
		case c == '\n':
			return string(l.buf), true, nil
		case c == '\r':
			if next, err := l.R.Peek(1); err == nil && next[0] == '\n' {
				_, _ = l.R.Discard(1) // cannot fail: Peek just returned this byte
			}
			return string(l.buf), true, nil
		case c == 0:
			continue
		}
		l.buf = append(l.buf, c)
		if len(l.buf) >= maxLine && (c < 0x80 || c >= 0xc0) {
			last := len(l.buf)
			if c >= 0xc0 { // start of a character: leave it for the next part
				last--
				_ = l.R.UnreadByte() // a byte has just been read
			}
			l.more = true
			return string(l.buf[:last]), true, nil
		}
	}
}
