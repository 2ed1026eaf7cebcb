package extract

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// xmlScanner walks the elements of an XML part without building a tree. It expands no entities but the five of XML
// itself and refuses nesting beyond maxDepth. Once something has stopped it, it says at every level that the element
// is over, so that whoever walks comes back to the top with what was read before; err and damage say why.
type xmlScanner struct {
	ctx    context.Context
	dec    *xml.Decoder
	depth  int
	tokens int
	over   bool
	err    error // what ends the document: a limit, the context, whoever takes the blocks
	damage error // what ends this part alone
}

func newXMLScanner(ctx context.Context, r io.Reader) *xmlScanner {
	buf := bufio.NewReaderSize(r, 32<<10)
	var in io.Reader = buf
	charset := xmlCharset
	if mark, err := buf.Peek(2); err == nil && (mark[0] == 0xff && mark[1] == 0xfe || mark[0] == 0xfe && mark[1] == 0xff) {
		in = transform.NewReader(buf, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
		charset = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	}
	dec := xml.NewDecoder(in)
	dec.Strict = false
	dec.CharsetReader = charset
	return &xmlScanner{ctx: ctx, dec: dec}
}

// next returns the next token; nil at the end, at damage, and after stop.
func (s *xmlScanner) next() xml.Token {
	if s.over {
		return nil
	}
	if s.tokens++; s.tokens%1024 == 0 && s.ctx.Err() != nil {
		s.stop(s.ctx.Err())
		return nil
	}
	tok, err := s.dec.Token()
	var refused *Error
	switch {
	case errors.Is(err, io.EOF):
		s.over = true
		return nil
	case errors.As(err, &refused):
		s.stop(err)
		return nil
	case err != nil:
		s.over, s.damage = true, err
		return nil
	}
	switch tok.(type) {
	case xml.StartElement:
		if s.depth++; s.depth > maxDepth {
			s.stop(fail(TooLarge, "the document is nested deeper than %d levels", maxDepth))
			return nil
		}
	case xml.EndElement:
		s.depth--
	}
	return tok
}

// stop ends the walk; the first reason is kept. A nil error stops nothing.
func (s *xmlScanner) stop(err error) {
	if err == nil {
		return
	}
	s.over = true
	if s.err == nil {
		s.err = err
	}
}

// child returns the next element inside the one whose start was returned last and whose earlier children have been
// walked or skipped; false at its end.
func (s *xmlScanner) child() (xml.StartElement, bool) {
	for {
		switch t := s.next().(type) {
		case xml.StartElement:
			return t, true
		case xml.EndElement, nil:
			return xml.StartElement{}, false
		}
	}
}

// each walks the children of the element whose start was returned last. take returns false for those it leaves
// alone, which are skipped.
func (s *xmlScanner) each(take func(e xml.StartElement) bool) {
	for e, ok := s.child(); ok; e, ok = s.child() {
		if !take(e) {
			s.skip()
		}
	}
}

// descend walks all elements below the one whose start was returned last, at any depth; take returns true for those
// that it has walked itself.
func (s *xmlScanner) descend(take func(e xml.StartElement) bool) {
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

// skip passes over the rest of the element whose start was returned last.
func (s *xmlScanner) skip() { s.descend(func(xml.StartElement) bool { return false }) }

// text is the character data directly in the element whose start was returned last, to its end.
func (s *xmlScanner) text() string {
	var b strings.Builder
	for {
		switch t := s.next().(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			s.skip()
		case xml.EndElement, nil:
			return b.String()
		}
	}
}

// root moves to the start of the part's outermost element; false when there is none.
func (s *xmlScanner) root() (xml.StartElement, bool) {
	for {
		switch t := s.next().(type) {
		case xml.StartElement:
			return t, true
		case nil:
			return xml.StartElement{}, false
		}
	}
}

// xmlAttr is the value of the attribute with the local name, in whatever name space.
func xmlAttr(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// xmlOn reads a property that is on when its element is there and does not say otherwise.
func xmlOn(e xml.StartElement) bool {
	switch strings.ToLower(xmlAttr(e, "val")) {
	case "0", "false", "off", "none":
		return false
	}
	return true
}

// relationID is the relationship that the element names: the id attribute in a name space of its own.
func relationID(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// maxDeclared is the most bytes of an XML part that is decoded as a whole.
const maxDeclared = 128 << 20

// xmlCharset decodes XML parts that are not UTF-8.
func xmlCharset(label string, r io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "utf-16", "utf-8", "utf8": // a declaration that is itself readable is not UTF-16
		return r, nil
	}
	data, err := io.ReadAll(io.LimitReader(r, maxDeclared))
	if err != nil {
		return nil, err
	}
	text, _ := decodeText(data, label)
	return strings.NewReader(text), nil
}
