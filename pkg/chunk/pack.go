package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/sluice/sluice/pkg/domain"
)

// packer fills chunks with pieces in reading order.
type packer struct {
	opts   Options
	place  place
	header *tableHeader // of the table being read, nil outside tables
	table  bool         // the block before was a table row

	top    int   // the level of the document's highest headings; 0 when it has none
	before piece // what was packed last of the block being packed, if that is a long paragraph; of no length else

	chunks []domain.Chunk
	cur    draft
	placed bool  // heads are those of place
	heads  heads // of place
	slides bool  // pages are slides: each is a text of its own
}

// draft is the chunk being filled.
type draft struct {
	text   strings.Builder
	tokens int
	offset int
	page   int      // of the first piece
	heads  heads    // of the last heading, or the piece behind it
	stands standing // of the pieces that are no headings
	sheet  string
	rows   rows
	kind   domain.BlockKind // of the last piece
	bare   bool             // holds nothing but headings so far
	tail   *tail            // the headings at its end, behind which nothing has come yet; nil for none or when bare
}

// tail is where the headings at the end of a draft begin, and the draft before them.
type tail struct {
	length, tokens int // of the draft before
	offset, page   int // of the first of the headings
}

func (d *draft) empty() bool { return d.text.Len() == 0 }

// addBlock cuts a block into pieces and packs them.
func (p *packer) addBlock(b domain.Block, offset int) error {
	if err := p.breakBefore(b); err != nil {
		return err
	}
	if b.Kind == domain.BlockHeading || b.Sheet != p.place.sheet || b.Apart || !p.placed {
		p.place.enter(b)
		p.placed, p.heads = true, heads{path: p.place.path(), ctx: p.place.context(), anchor: p.place.at.Anchor()}
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

// pieces divides a block by what it is.
func (p *packer) pieces(b domain.Block) []piece {
	switch b.Kind {
	case domain.BlockCode:
		return p.opts.linesOf(b.Text)
	case domain.BlockTableRow, domain.BlockHeading:
		return p.opts.appendFitting(nil, b.Text, 0, len(b.Text))
	default:
		return p.opts.proseOf(b.Text)
	}
}

// breakBefore closes the current chunk where the document's structure asks for it: at another sheet and at one of the
// highest headings always, at other headings and pages unless little has been gathered, before a code block that would
// not fit in whole. A chunk of headings alone waits for what they head.
func (p *packer) breakBefore(b domain.Block) error {
	d := &p.cur
	if b.Apart { // it does not belong to the headings before it
		return p.flush()
	}
	if d.empty() || d.bare {
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

// add packs one piece; first says that it begins its block.
func (p *packer) add(b domain.Block, s piece, offset int, first bool) error {
	if !p.cur.empty() && !p.cur.bare && !p.fits(b, s) {
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
	if p.cur.bare && !p.fits(b, s) {
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
	if d.bare {
		d.heads, d.sheet = p.heads, b.Sheet
		d.bare = b.Kind == domain.BlockHeading
	}
	if b.Kind != domain.BlockHeading {
		d.stands.add(b.Page, p.heads, b.Anchor, s.tokens)
	}
	d.kind = b.Kind
	d.tokens += s.tokens
	d.rows.add(b.Row)
	return nil
}

// fits reports whether the piece goes into the current chunk: up to the target, a little over it when the chunk
// would otherwise stay less than half full, and to the maximum behind headings, which must not end a chunk.
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
	return d.bare || d.tokens < p.opts.TargetTokens/2 || b.Kind == domain.BlockCode && d.kind == domain.BlockCode
}

// begin opens a chunk with the piece at the offset, under the table's header when it opens inside a table and there is
// room for both.
func (p *packer) begin(b domain.Block, s piece, offset int) {
	p.cur = draft{offset: offset, page: b.Page, sheet: b.Sheet, bare: true}
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
			"the document makes more than %d chunks, the most that one document may have: split it into several", p.opts.MaxChunks)
	}
	at := d.stands.most(d.heads)
	p.chunks = append(p.chunks, domain.Chunk{
		Ordinal: len(p.chunks),
		Text:    text,
		Context: at.ctx,
		Heading: d.rows.under(at.path),
		Anchor:  at.anchor,
		Page:    d.stands.pages.most(d.page),
		Offset:  d.offset,
		Tokens:  d.tokens,
	})
	p.cur = draft{}
	return nil
}

func (p *packer) finish() ([]domain.Chunk, error) {
	if p.cur.bare && p.joinLast() {
		return p.chunks, nil
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	return p.chunks, nil
}

// separator is what parts two blocks within a chunk: rows and list items stand on lines of their own, all else is
// set apart by an empty line.
func separator(before, after domain.BlockKind) string {
	if before == after && (after == domain.BlockTableRow || after == domain.BlockListItem) {
		return "\n"
	}
	return domain.BlockSeparator
}

// trimStart removes white space from the start of a text, but for a space that carries marks: without it they would have
// nothing to stand on.
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
