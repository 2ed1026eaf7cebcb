package extract

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
)

// xmlScanner walks the elements of an XML part without building a tree. It expands no entities but the five of XML
// itself and refuses nesting beyond maxDepth.
type xmlScanner struct {
	dec   *xml.Decoder
	depth int
}

func newXMLScanner(data []byte) *xmlScanner {
	dec := xml.NewDecoder(bytes.NewReader(data))
	dec.Strict = false
	dec.CharsetReader = xmlCharset
	return &xmlScanner{dec: dec}
}

// errTooDeep stops the walk of XML that is nested beyond any real document.
var errTooDeep = errors.New("elements are nested too deeply")

// next returns the next token; nil at the end. Broken XML ends the walk with what was read before it.
func (s *xmlScanner) next() (xml.Token, error) {
	tok, err := s.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch tok.(type) {
	case xml.StartElement:
		if s.depth++; s.depth > maxDepth {
			return nil, errTooDeep
		}
	case xml.EndElement:
		s.depth--
	}
	return tok, nil
}

// skip passes over the rest of the element whose start was returned last.
func (s *xmlScanner) skip() error {
	for open := 1; open > 0; {
		tok, err := s.next()
		if err != nil || tok == nil {
			return err
		}
		switch tok.(type) {
		case xml.StartElement:
			open++
		case xml.EndElement:
			open--
		}
	}
	return nil
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
