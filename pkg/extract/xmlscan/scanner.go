// Package xmlscan walks XML without building a tree, within bounds of depth, time and memory. Formats made of XML use it.
package xmlscan

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Scanner walks the elements of an XML part without building a tree. It expands no entities but the five of XML
// itself and refuses nesting beyond maxDepth. Once something has stopped it, it says at every level that the element
// is over, so that whoever walks comes back to the top with what was read before; err and damage say why.
type Scanner struct {
	ctx    context.Context
	dec    *xml.Decoder
	depth  int
	tokens int
	Over   bool
	Err    error // what ends the document: a limit, the context, whoever takes the blocks
	Damage error // what ends this part alone
}

// New makes a scanner of an XML part in any encoding that it declares.
func New(ctx context.Context, r io.Reader) *Scanner {
	buf := bufio.NewReaderSize(r, 32<<10)
	var in io.Reader = buf
	charset := charset.Reader
	if mark, err := buf.Peek(2); err == nil && (mark[0] == 0xff && mark[1] == 0xfe || mark[0] == 0xfe && mark[1] == 0xff) {
		in = transform.NewReader(buf, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
		charset = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	}
	dec := xml.NewDecoder(in)
	dec.Strict = false
	dec.CharsetReader = charset
	return &Scanner{ctx: ctx, dec: dec}
}

// next returns the next token; nil at the end, at damage, and after stop.
func (s *Scanner) next() xml.Token {
	if s.Over {
		return nil
	}
	if s.tokens++; s.tokens%1024 == 0 && s.ctx.Err() != nil {
		s.Stop(s.ctx.Err())
		return nil
	}
	tok, err := s.dec.Token()
	var refused *format.Error
	switch {
	case errors.Is(err, io.EOF):
		s.Over = true
		return nil
	case errors.As(err, &refused):
		s.Stop(err)
		return nil
	case err != nil:
		s.Over, s.Damage = true, err
		return nil
	}
	switch tok.(type) {
	case xml.StartElement:
		if s.depth++; s.depth > format.MaxDepth {
			s.Stop(format.Errorf(format.TooLarge, "the document is nested deeper than %d levels", format.MaxDepth))
			return nil
		}
	case xml.EndElement:
		s.depth--
	}
	return tok
}

// Stop ends the walk; the first reason is kept. A nil error stops nothing.
func (s *Scanner) Stop(err error) {
	if err == nil {
		return
	}
	s.Over = true
	if s.Err == nil {
		s.Err = err
	}
}

// child returns the next element inside the one whose start was returned last and whose earlier children have been
// walked or skipped; false at its end.
func (s *Scanner) child() (xml.StartElement, bool) {
	for {
		switch t := s.next().(type) {
		case xml.StartElement:
			return t, true
		case xml.EndElement, nil:
			return xml.StartElement{}, false
		}
	}
}

// Each walks the children of the element whose start was returned last. take returns false for those it leaves
// alone, which are skipped.
func (s *Scanner) Each(take func(e xml.StartElement) bool) {
	for e, ok := s.child(); ok; e, ok = s.child() {
		if !take(e) {
			s.Skip()
		}
	}
}

// Descend walks all elements below the one whose start was returned last, at any depth; take returns true for those
// that it has walked itself.
func (s *Scanner) Descend(take func(e xml.StartElement) bool) {
	for open := 1; open > 0; {
		switch t := s.next().(type) {
		case nil:
			return
		case xml.StartElement:
			if !take(t) {
				open++
			}
		case xml.EndElement:
			open--
		}
	}
}

// Mixed walks the text and the elements below the one whose start was returned last, at any depth and in order; take
// returns true for elements that it has walked itself.
func (s *Scanner) Mixed(text func(string), take func(e xml.StartElement) bool) {
	for open := 1; open > 0; {
		switch t := s.next().(type) {
		case nil:
			return
		case xml.CharData:
			text(string(t))
		case xml.StartElement:
			if !take(t) {
				open++
			}
		case xml.EndElement:
			open--
		}
	}
}

// Skip passes over the rest of the element whose start was returned last.
func (s *Scanner) Skip() { s.Descend(func(xml.StartElement) bool { return false }) }

// Text is the character data directly in the element whose start was returned last, to its end.
func (s *Scanner) Text() string {
	var b strings.Builder
	for {
		switch t := s.next().(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			s.Skip()
		case xml.EndElement, nil:
			return b.String()
		}
	}
}

// Root moves to the start of the part's outermost element; false when there is none.
func (s *Scanner) Root() (xml.StartElement, bool) {
	for {
		switch t := s.next().(type) {
		case xml.StartElement:
			return t, true
		case nil:
			return xml.StartElement{}, false
		}
	}
}

// Attr is the value of the attribute with the local name, in whatever name space.
func Attr(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// On reads a property that is on when its element is there and does not say otherwise.
func On(e xml.StartElement) bool {
	switch strings.ToLower(Attr(e, "val")) {
	case "0", "false", "off", "none":
		return false
	}
	return true
}
