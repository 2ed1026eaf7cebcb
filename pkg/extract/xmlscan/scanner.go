// Package xmlscan walks XML without building a tree, with bounded depth, time and memory. All XML-based formats use it.
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

// Scanner walks an XML part without building a tree. The current element is the one whose start was returned last. Only
// the five predefined entities are expanded, and elements nested deeper than MaxDepth are rejected. After an error, the
// scanner reports the end of the element at every level, so the walk returns to the top with the content so far. Err or
// Damage holds the error.
type Scanner struct {
	ctx    context.Context
	dec    *xml.Decoder
	depth  int
	tokens int
	Over   bool
	Err    error // an error that ends the whole document: a limit, the context, or the sink
	Damage error // an error that ends only this part
}

// New returns a scanner for an XML part in any encoding that the part declares.
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

// ExpandHTMLEntities makes the scanner expand HTML's named entities ("&eacute;"), which most XML document types also
// define.
func (s *Scanner) ExpandHTMLEntities() { s.dec.Entity = xml.HTMLEntity }

// next returns the next token, or nil at the end, on damaged XML, and after Stop.
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

// Stop ends the walk. It keeps only the first error. Stop(nil) does nothing.
func (s *Scanner) Stop(err error) {
	if err == nil {
		return
	}
	s.Over = true
	if s.Err == nil {
		s.Err = err
	}
}

// child returns the current element's next child, or false at its end. The previous child must have been walked or
// skipped.
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

// Each calls `take` with each child of the current element. If `take` returns false, the child's content is skipped.
func (s *Scanner) Each(take func(e xml.StartElement) bool) {
	for e, ok := s.child(); ok; e, ok = s.child() {
		if !take(e) {
			s.Skip()
		}
	}
}

// Descend calls `take` with each descendant of the current element. `take` must return true if it has read the
// descendant's content itself.
func (s *Scanner) Descend(take func(e xml.StartElement) bool) { s.Mixed(nil, take) }

// Mixed walks the current element's content in order. It calls `text`, if not nil, with each run of text, and `take`
// with each descendant. `take` must return true if it has read the descendant's content itself.
func (s *Scanner) Mixed(text func(string), take func(e xml.StartElement) bool) {
	for open := 1; open > 0; {
		switch t := s.next().(type) {
		case nil:
			return
		case xml.CharData:
			if text != nil {
				text(string(t))
			}
		case xml.StartElement:
			if !take(t) {
				open++
			}
		case xml.EndElement:
			open--
		}
	}
}

// Skip skips the remainder of the current element.
func (s *Scanner) Skip() { s.Descend(func(xml.StartElement) bool { return false }) }

// Text returns the current element's own character data and moves to the element's end.
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

// Root moves to the start of the root element. It returns false if there is none.
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

// Attr returns the value of the attribute with the given local name, in any namespace.
func Attr(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// IsOn reports whether a Boolean property's element turns it on, i.e. has no value that means off.
func IsOn(e xml.StartElement) bool {
	switch strings.ToLower(Attr(e, "val")) {
	case "0", "false", "off", "none":
		return false
	}
	return true
}
