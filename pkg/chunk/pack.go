package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/sluice/sluice/pkg/domain"
)

// packer packs pieces into chunks in reading order.
type packer struct {
	opts     Options
	location location
	header   *tableHeader // of the current table; nil outside tables
	table    bool         // whether the previous block was a table row

	top    int   // smallest heading level of the document; 0 without headings
	before piece // previous piece of the current block if that is a long paragraph; otherwise empty

	chunks []domain.Chunk
	cur    draft
	placed bool           // whether heads are those of place
	heads  headingContext // of place
	slides bool           // whether pages are slides, which are separate texts
}

// draft is the chunk being filled.
type draft struct {
	text         strings.Builder
	tokens       int
	offset       int
	page         int            // of the first piece
	heads        headingContext // of the last heading, or of the first piece after it
	location     chunkLocation  // of the pieces that are not headings
	sheet        string
	rows         rows
	kind         domain.BlockKind // of the last piece
	headingsOnly bool             // whether it contains only headings so far
	tail         *tail            // headings at its end that are not yet followed by text; nil if none, or if bare
}

// tail is the start of the headings at the end of a draft, and the size of the draft before them.
type tail struct {
	length, tokens int // of the text before the headings
	offset, page   int // of the first heading
}

func (d *draft) empty() bool { return d.text.Len() == 0 }

// addBlock splits a block into pieces and packs them.
func (p *packer) addBlock(b domain.Block, offset int) error {
	if err := p.breakBefore(b); err != nil {
		return err
	}
	if b.Kind == domain.BlockHeading || b.Sheet != p.location.sheet || b.Apart || !p.placed {
		p.location.enter(b)
		p.placed, p.heads = true, headingContext{path: p.location.path(), ctx: p.location.context(), anchor: p.location.at.Anchor()}
	}
	pieces := p.pieces(b)
	if b.Kind == domain.BlockTableRow {
		p.trackTable(b)
	} else {
		p.header, p.table = nil, false
	}
	long := p.isLong(b, pieces)
	p.before = piece{}
	for i, s := range pieces {
		if err := p.add(b, s, offset, i == 0); err != nil {
			return err
		}
		if long {
			p.before = s
		}
	}
	return nil
}

// pieces splits a block according to its kind.
func (p *packer) pieces(b domain.Block) []piece {
	switch b.Kind {
	case domain.BlockCode:
		return p.opts.splitLines(b.Text)
	case domain.BlockTableRow, domain.BlockHeading:
		return p.opts.appendFitting(nil, b.Text, 0, len(b.Text))
	default:
		return p.opts.splitProse(b.Text)
	}
}

// breakBefore closes the current chunk at boundaries of the document: always at a new sheet or a top-level heading; at
// other headings and pages unless the chunk is small; and before a code block that would not fit as a whole. A chunk of
// only headings stays open for their text.
func (p *packer) breakBefore(b domain.Block) error {
	d := &p.cur
	if b.Apart { // the headings before it do not apply to it
		return p.flush()
	}
	if d.empty() || d.headingsOnly {
		return nil
	}
	switch {
	case b.Sheet != d.sheet,
		b.Kind == domain.BlockHeading && (b.Level <= p.top || d.tokens >= p.opts.TargetTokens/4),
		b.Page != d.page && (p.slides || d.tokens >= p.opts.TargetTokens/4),
		b.Kind == domain.BlockCode && d.tokens+Tokens(b.Text) > p.opts.MaxTokens:
		return p.next()
	}
	return nil
}

// add packs one piece. first reports whether it begins its block.
func (p *packer) add(b domain.Block, s piece, offset int, first bool) error {
	if !p.cur.empty() && !p.cur.headingsOnly && !p.fits(b, s) {
		s = p.overlapping(s)
		if err := p.next(); err != nil {
			return err
		}
	}
	text := b.Text[s.start:s.end]
	body := trimStart(text)
	if body == "" && p.cur.empty() {
		return nil
	}
	if p.cur.headingsOnly && !p.fits(b, s) {
		if parts := p.divide(b, s); len(parts) > 1 {
			for i, part := range parts {
				if err := p.add(b, part, offset, first && i == 0); err != nil {
					return err
				}
			}
			return nil
		}
		if err := p.flush(); err != nil {
			return err
		}
	}
	d := &p.cur
	if d.empty() {
		if body == "" {
			return nil
		}
		indent := len(text) - len(body)
		if b.Kind == domain.BlockCode {
			indent = 0 // indentation is part of code
			body = text
		}
		p.begin(b, s, offset+s.start+indent)
		d.text.WriteString(body)
	} else {
		p.trackTail(b, offset+s.start+len(text)-len(body))
		if first {
			d.text.WriteString(separator(d.kind, b.Kind))
		}
		d.text.WriteString(text)
	}
	if d.headingsOnly {
		d.heads, d.sheet = p.heads, b.Sheet
		d.headingsOnly = b.Kind == domain.BlockHeading
	}
	if b.Kind != domain.BlockHeading {
		d.location.add(b.Page, p.heads, b.Anchor, s.tokens)
	}
	d.kind = b.Kind
	d.tokens += s.tokens
	d.rows.add(b.Row)
	return nil
}

// fits reports whether the piece fits into the current chunk. The limit is the target size. It is the maximum
// size after headings, which must not end a chunk, if the chunk is less than half full, and for code after code.
func (p *packer) fits(b domain.Block, s piece) bool {
	d := &p.cur
	if d.text.Len()+len(domain.BlockSeparator)+s.end-s.start > domain.MaxChunkBytes {
		return false
	}
	total := d.tokens + s.tokens
	if total <= p.opts.TargetTokens {
		return true
	}
	if total > p.opts.MaxTokens {
		return false
	}
	return d.headingsOnly || d.tokens < p.opts.TargetTokens/2 || b.Kind == domain.BlockCode && d.kind == domain.BlockCode
}

// begin starts a chunk with the piece at the offset. Inside a table, the chunk begins with the table's header if both
// fit.
func (p *packer) begin(b domain.Block, s piece, offset int) {
	p.cur = draft{offset: offset, page: b.Page, sheet: b.Sheet, headingsOnly: true}
	if h := p.header; b.Kind == domain.BlockTableRow && h != nil && h.seen && h.tokens+s.tokens <= p.opts.MaxTokens {
		p.cur.text.WriteString(h.text)
		p.cur.text.WriteString("\n")
		p.cur.tokens = h.tokens
	}
}

// flush closes the current chunk.
func (p *packer) flush() error {
	d := &p.cur
	if d.empty() {
		return nil
	}
	text := strings.TrimRightFunc(d.text.String(), unicode.IsSpace)
	if len(p.chunks) == p.opts.MaxChunks {
		return domain.Errorf(domain.CodeTooLarge,
			"the document has more than %d chunks, the limit for one document; split it", p.opts.MaxChunks)
	}
	at := d.location.headings(d.heads)
	p.chunks = append(p.chunks, domain.Chunk{
		Ordinal: len(p.chunks),
		Text:    text,
		Context: at.ctx,
		Heading: d.rows.appendTo(at.path),
		Anchor:  at.anchor,
		Page:    d.location.pages.largest(d.page),
		Offset:  d.offset,
		Tokens:  d.tokens,
	})
	p.cur = draft{}
	return nil
}

func (p *packer) finish() ([]domain.Chunk, error) {
	if p.cur.headingsOnly && p.joinLast() {
		return p.chunks, nil
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	return p.chunks, nil
}

// separator returns the separator of two blocks in a chunk: a line break between rows or list items, otherwise an empty
// line.
func separator(before, after domain.BlockKind) string {
	if before == after && (after == domain.BlockTableRow || after == domain.BlockListItem) {
		return "\n"
	}
	return domain.BlockSeparator
}

// trimStart removes white space from the start of a text, except for a space that is the base of combining marks.
func trimStart(text string) string {
	body := strings.TrimLeftFunc(text, unicode.IsSpace)
	if body == "" || len(body) == len(text) || body[0] < utf8.RuneSelf {
		return body
	}
	_, space := utf8.DecodeLastRuneInString(text[:len(text)-len(body)])
	carrier := text[len(text)-len(body)-space:]
	if g := graphemes.FromString(carrier); g.Next() && g.End() > space {
		return carrier
	}
	return body
}
