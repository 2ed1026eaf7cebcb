package html

import (
	"bytes"

	"github.com/sluice/sluice/pkg/extract/format"
)

// Format describes HTML pages.
var Format = format.Format{
	Type: format.TypeHTML, Aliases: []string{"application/xhtml+xml"}, Extensions: []string{".html", ".htm", ".xhtml", ".shtml"},
	Name: "an HTML page", Label: "HTML", Text: true, Sniff: sniffHTML, Read: read, Piece: readPiece,
}

// sniffHTML reports whether a file is an HTML page. `named` is the type that its name or declared type indicates. A
// file whose name indicates another text format can still be HTML. A plain text file counts only if it is a whole page,
// because plain text with a fragment of HTML is usually about HTML.
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

// looksWholePage reports whether the text is certainly a complete page, not a fragment.
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
