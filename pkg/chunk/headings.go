package chunk

import (
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/domain"
)

// A heading by itself is the worst of chunks: it is short and full of the words that people ask for, so it ranks above
// the text that answers them. What is here keeps headings with a text.

// trackTail keeps account of the headings at the end of the current chunk, before a piece of the block is written at
// the offset.
func (p *packer) trackTail(b domain.Block, offset int) {
	d := &p.cur
	switch {
	case b.Kind != domain.BlockHeading:
		d.tail = nil
	case !d.bare && d.tail == nil:
		d.tail = &tail{length: d.text.Len(), tokens: d.tokens, offset: offset, page: b.Page}
	}
}

// next closes the current chunk and opens another with the headings at its end, if there are any.
func (p *packer) next() error {
	d := p.cur
	if d.tail == nil {
		return p.flush()
	}
	text := d.text.String()
	p.cur.text = strings.Builder{}
	p.cur.text.WriteString(text[:d.tail.length])
	p.cur.tokens = d.tail.tokens
	if err := p.flush(); err != nil {
		return err
	}
	p.cur = draft{
		offset: d.tail.offset, page: d.tail.page, sheet: d.sheet, kind: domain.BlockHeading, bare: true,
		tokens: d.tokens - d.tail.tokens, heads: p.heads,
	}
	p.cur.text.WriteString(trimStart(text[d.tail.length:]))
	return nil
}

// divide cuts a piece that has no room behind the headings that the current chunk consists of. It returns one piece or
// none when the headings take more than half of the room, and are as good as a text, or when the piece cannot be cut.
func (p *packer) divide(b domain.Block, s piece) []piece {
	used := p.cur.tokens
	if used > p.opts.MaxTokens/2 || b.Kind == domain.BlockHeading {
		return nil
	}
	o := p.opts
	o.MaxTokens -= used
	o.TargetTokens = min(o.TargetTokens, o.MaxTokens)
	return o.appendFitting(nil, b.Text, s.start, s.end)
}

// joinLast puts the headings that the current chunk consists of at the end of the last chunk, where nothing follows
// them. It reports whether there was room.
func (p *packer) joinLast() bool {
	if len(p.chunks) == 0 {
		return false
	}
	last, d := &p.chunks[len(p.chunks)-1], &p.cur
	text := last.Text + domain.BlockSeparator + strings.TrimRightFunc(d.text.String(), unicode.IsSpace)
	if last.Tokens+d.tokens > p.opts.MaxTokens || len(text) > domain.MaxChunkBytes {
		return false
	}
	last.Text = text
	last.Tokens += d.tokens
	p.cur = draft{}
	return true
}
