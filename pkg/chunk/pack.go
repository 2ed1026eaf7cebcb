package chunk

import (
	"cmp"
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
	sections sections
	header   *tableHeader // header of the current table; nil outside tables
	caption  tableCaption // caption of the current table
	table    bool         // the previous block was a table row

	top    int   // the document's smallest heading level, or 0 if it has no headings
	before piece // the current block's previous piece if the block is a long paragraph; otherwise empty

	chunks []domain.Chunk
	cur    draft
	placed bool           // heads is up to date with location
	heads  headingContext // headings at location
	slides bool           // pages are slides, which never share a chunk
}

// draft is the chunk being filled.
type draft struct {
	text         strings.Builder
	tokens       int
	offset       int
	runs         domain.TextRuns // location of the chunk's text in the document's text
	page         int             // page of the first piece
	heads        headingContext  // headings above the first piece of text, or at the last heading if the chunk has only headings
	location     chunkLocation   // location of the pieces that are not headings
	defined      []string        // terms defined by the text
	sheet        string
	rows         rows
	time         string           // the first piece's time in a recording; "" if it has none
	kind         domain.BlockKind // the last piece's kind
	headingsOnly bool             // only headings so far
	tail         *tail            // headings at the end of the chunk that have no text yet; nil if none or if headingsOnly
}

// tail describes the headings at the end of a draft.
type tail struct {
	length, tokens int // length and tokens of the text before the headings
	offset, page   int // the first heading's location
}

func (d *draft) empty() bool { return d.text.Len() == 0 }

// addBlock splits a block into pieces and packs them.
func (p *packer) addBlock(b domain.Block, offset int) error {
	if err := p.breakBefore(b, p.sections.enter(b)); err != nil {
		return err
	}
	newTable := !p.table || b.Sheet != p.location.sheet
	if b.Kind == domain.BlockHeading || b.Sheet != p.location.sheet || b.Apart || !p.placed {
		p.location.enter(b)
		p.placed, p.heads = true, headingContext{path: p.location.path(), ctx: p.location.context(), anchor: p.location.at.Anchor()}
	}
	pieces := p.pieces(b)
	p.caption.enter(b, newTable)
	if b.Kind == domain.BlockTableRow {
		p.trackTable(b, offset)
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

// breakBefore closes the current chunk if the block must start a new one. New sheets, top-level headings and new slides
// always do. Other headings, new pages and sections without headings do so only if the current chunk is not small, and
// code blocks only if they would not fit as a whole. A chunk with only headings stays open for their text.
func (p *packer) breakBefore(b domain.Block, section bool) error {
	d := &p.cur
	if b.Apart { // the headings above the block do not apply to it
		return p.flush()
	}
	if d.empty() || d.headingsOnly {
		return nil
	}
	switch {
	case b.Sheet != d.sheet,
		b.Kind == domain.BlockHeading && (b.Level <= p.top || d.tokens >= p.opts.TargetTokens/4),
		section && d.tokens >= p.opts.TargetTokens/4,
		b.Page != d.page && (p.slides || d.tokens >= p.opts.TargetTokens/4),
		b.Kind == domain.BlockCode && d.tokens+Tokens(b.Text) > p.opts.MaxTokens:
		return p.next()
	}
	return nil
}

// add packs a piece of block b. `first` is true for the block's first piece.
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
		d.runs.Add(d.text.Len(), offset+s.start)
		d.text.WriteString(text)
	}
	if d.headingsOnly {
		d.heads, d.sheet = p.heads, b.Sheet
		d.headingsOnly = b.Kind == domain.BlockHeading
	}
	if b.Kind != domain.BlockHeading {
		d.location.add(b.Page, p.heads, b.Anchor, s.tokens)
		d.location.sections.add(placedLabel{p.heads, p.sections.path}, s.tokens)
		d.location.tables.add(placedLabel{p.heads, p.caption.path}, s.tokens)
		if b.Kind != domain.BlockTableRow && b.Kind != domain.BlockCode {
			d.defined = append(d.defined, definedTerms(text)...)
		}
	}
	d.kind = b.Kind
	d.tokens += s.tokens
	d.rows.add(b.Row)
	d.time = cmp.Or(d.time, b.Time)
	return nil
}

// fits reports whether the piece fits into the current chunk. The limit is the maximum size if the chunk has only
// headings or is less than half full, or if both chunk and piece are code. Otherwise, it is the target size.
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

// begin starts a chunk with the piece s, which is at `offset` in the document's text. If the piece is a table row below
// the header, the chunk starts with the header, as long as both fit together.
func (p *packer) begin(b domain.Block, s piece, offset int) {
	p.cur = draft{offset: offset, page: b.Page, sheet: b.Sheet, headingsOnly: true}
	if h := p.header; b.Kind == domain.BlockTableRow && h != nil && h.seen && h.tokens+s.tokens <= p.opts.MaxTokens {
		p.cur.text.WriteString(h.text)
		p.cur.text.WriteString("\n")
		p.cur.tokens = h.tokens
		p.cur.runs.Add(0, h.offset)
	}
	p.cur.runs.Add(p.cur.text.Len(), offset)
}

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
		Context: d.context(at, text),
		Heading: appendTo(d.rows.appendTo(at.path), d.time),
		Anchor:  d.anchor(at.anchor),
		Page:    d.location.pages.largest(d.page),
		Offset:  d.offset,
		Tokens:  d.tokens,
		Runs:    d.runs.End(len(text)),
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

// separator returns the text between two blocks: a line break between table rows or list items, otherwise an empty
// line.
func separator(before, after domain.BlockKind) string {
	if before == after && (after == domain.BlockTableRow || after == domain.BlockListItem) {
		return "\n"
	}
	return domain.BlockSeparator
}

// trimStart removes leading white space, except for a space with combining marks.
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
