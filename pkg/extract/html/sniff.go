package html

import (
	"bytes"

	"github.com/sluice/sluice/pkg/extract/format"
)

// Format is HTML.
var Format = format.Format{
	Type: format.TypeHTML, Aliases: []string{"application/xhtml+xml"}, Extensions: []string{".html", ".htm", ".xhtml", ".shtml"},
	Name: "an HTML page", Label: "HTML", Text: true, Sniff: sniffHTML, Read: read, Piece: readPiece,
}

// sniffHTML takes a page saved under the name of another text format for a page. A piece of a page that is named as text
// is text about pages.
func sniffHTML(head []byte, named string) bool {
	switch named {
	case format.TypeHTML:
		return true
	case format.TypeMarkdown:
		return false
	case format.TypeText:
		return looksWholePage(head)
	}
	return looksHTML(head)
}

// looksWholePage reports whether the text is surely a page from its first element on, not a piece of one.
func looksWholePage(head []byte) bool {
	s := format.PageStart(head)
	return bytes.HasPrefix(s, []byte("<!doctype html")) || bytes.HasPrefix(s, []byte("<html")) ||
		bytes.HasPrefix(s, []byte("<?xml")) && bytes.Contains(s, []byte("<html"))
}

func looksHTML(head []byte) bool {
	s := format.PageStart(head)
	for _, p := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if bytes.HasPrefix(s, []byte(p)) {
			return true
		}
	}
	return (bytes.HasPrefix(s, []byte("<?xml")) || bytes.HasPrefix(s, []byte("<!--"))) && bytes.Contains(s, []byte("<html"))
}
