package chunk

import (
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/domain"
)

// tableHeader is a table's first row, which names the columns of the rows below it.
type tableHeader struct {
	text   string
	offset int // offset in the document's text
	tokens int
	sheet  string
	seen   bool // a row below the header has been read
}

// trackTable remembers the current table's first row as the header if it looks like one. The packer calls it for each
// table row, with the row's offset in the document.
func (p *packer) trackTable(b domain.Block, offset int) {
	if p.table && (p.header == nil || p.header.sheet == b.Sheet) {
		if p.header != nil {
			p.header.seen = true
		}
		return
	}
	p.table, p.header = true, nil
	tokens := Tokens(b.Text)
	if tokens <= p.opts.TargetTokens/2 && looksLikeHeader(b.Text) {
		p.header = &tableHeader{
			text: strings.TrimSpace(b.Text), offset: offset + len(b.Text) - len(strings.TrimLeftFunc(b.Text, unicode.IsSpace)), tokens: tokens, sheet: b.Sheet,
		}
	}
}

// looksLikeHeader reports whether a row of tab-separated cells contains column names: at least two cells on one line,
// each of which contains letters and is as short as a label. Rows like "column: value; …" name their columns
// themselves.
func looksLikeHeader(row string) bool {
	if strings.Contains(strings.TrimSpace(row), "\n") {
		return false
	}
	cells := strings.Split(row, "\t")
	if len(cells) < 2 {
		return false
	}
	for _, cell := range cells {
		if len(cell) > 80 || strings.IndexFunc(cell, unicode.IsLetter) < 0 {
			return false
		}
	}
	return true
}
