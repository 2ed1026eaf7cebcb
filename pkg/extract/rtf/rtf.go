// Package rtf reads RTF, the exchange format of word processors and of Outlook mail.
package rtf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sluice/sluice/pkg/extract/format"
)

// Format describes RTF.
var Format = format.Format{
	Type: format.TypeRTF, Aliases: []string{"text/rtf", "application/x-rtf", "text/richtext"}, Extensions: []string{".rtf"},
	Name: "an RTF document", Label: "RTF", TitleFromHeading: true, Read: read,
	Sniff: func(head []byte, _ string) bool { return looksRTF(head) },
}

// looksRTF reports whether the file starts with an RTF group.
func looksRTF(head []byte) bool {
	s, found := bytes.CutPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte(`{\rtf`))
	return found && (len(s) == 0 || s[0] >= '0' && s[0] <= '9' || bytes.IndexByte([]byte(`\{} `), s[0]) >= 0)
}

// read reads an RTF file. It reads as much of a damaged file as possible.
func read(p *format.Parser) error {
	p.Doc.Route = "rtf"
	r := &reader{p: p, in: bufio.NewReaderSize(io.NewSectionReader(p.Src.Data, 0, p.Src.Size), 64<<10), codePage: "windows-1252",
		fonts: map[int]string{}, styles: map[int]style{}, seen: map[string]bool{}}
	r.body = newFlow(p.Out.Add)
	r.flow = r.body
	r.groups = []group{{unicodeFallback: 1, outline: noOutline}}
	if err := r.run(); err != nil {
		return err
	}
	return r.finish()
}

// reader reads one file. It splits the file into tokens and keeps the state of each open group.
type reader struct {
	p     *format.Parser
	in    *bufio.Reader
	steps int

	groups []group // open groups; the last one is the current one
	closed bool    // the document's group has ended

	defaultFont int
	codePage    string // encoding of the document's bytes, as named by charset.DecodeWith
	fonts       map[int]string
	styles      map[int]style
	pending     []byte // bytes of text not decoded yet
	encoding    string // encoding of `pending`
	high        rune   // first half of a character written as two numbers
	fallback    int    // characters to skip after a character number

	body    *flow
	flow    *flow // flow of the current group
	footer  []string
	seen    map[string]bool // headers and footers already read
	notes   int             // number of footnotes
	objects bool
}

// run reads all tokens.
func (r *reader) run() error {
	for !r.closed {
		if r.steps++; r.steps%4096 == 0 && r.p.Ctx.Err() != nil {
			return r.p.Ctx.Err()
		}
		c, err := r.in.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the file: %w", err)
		}
		switch c {
		case '{':
			err = r.open()
		case '}':
			err = r.close()
		case '\\':
			err = r.control()
		case '\r', '\n', 0:
		default:
			err = r.byte(c)
		}
		if err != nil {
			return err
		}
	}
	if !r.closed {
		r.p.Out.Warn("the file is cut off; only the text before that point was read")
	}
	for len(r.groups) > 1 {
		if err := r.close(); err != nil {
			return err
		}
	}
	return nil
}

// control reads a control word or symbol, after its backslash.
func (r *reader) control() error {
	c, err := r.in.ReadByte()
	if err != nil {
		return nil // end of the file; run reports it
	}
	if !isLetter(c) {
		return r.symbol(c)
	}
	word := []byte{c}
	number, hasNumber, negative := 0, false, false
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			break
		}
		switch {
		case isLetter(c) && !hasNumber && !negative:
			if len(word) < 32 {
				word = append(word, c)
			}
			continue
		case c == '-' && !hasNumber && !negative:
			negative = true
			continue
		case c >= '0' && c <= '9':
			hasNumber = true
			if number < 1<<40 {
				number = number*10 + int(c-'0')
			}
			continue
		case c != ' ': // the word includes a following space
			_ = r.in.UnreadByte() // a byte was just read
		}
		break
	}
	if negative {
		number = -number
	}
	if string(word) == "bin" {
		return r.skipBinary(number)
	}
	return r.word(string(word), number, hasNumber)
}

func (r *reader) skipBinary(size int) error {
	for size > 0 {
		n, err := r.in.Discard(min(size, 1<<20))
		size -= n
		if err != nil {
			return nil // end of the file; run reports it
		}
		if err := r.p.Ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) symbol(c byte) error {
	switch c {
	case '\'':
		var digits [2]byte
		if _, err := io.ReadFull(r.in, digits[:]); err != nil {
			return nil // end of the file; run reports it
		}
		b, err := strconv.ParseUint(string(digits[:]), 16, 8)
		if err != nil {
			return nil
		}
		return r.byte(byte(b))
	case '*':
		g := r.group()
		g.optional = !g.begun // elsewhere, the mark is meaningless
		g.begun = true
		return nil
	case '\r', '\n':
		return r.word("par", 0, false)
	case '~':
		return r.byte(' ')
	case '_':
		return r.byte('-')
	case '-', '|', ':': // hyphenation points and index marks
		return nil
	case '\\', '{', '}':
		return r.byte(c)
	}
	return nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// finish emits the last paragraph, the last table and the footers.
func (r *reader) finish() error {
	r.flow = r.body
	if err := r.endParagraph(); err != nil {
		return err
	}
	if err := r.body.endTable(); err != nil {
		return err
	}
	for _, text := range r.footer {
		if err := r.p.Out.Paragraph(text, 0); err != nil {
			return err
		}
	}
	return nil
}
