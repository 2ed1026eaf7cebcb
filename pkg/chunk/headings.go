package chunk

import (
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/domain"
)

// A heading alone makes a bad chunk: short and full of query words, it would outrank the text with the answer. The
// functions in this file keep headings and text together.

// trackTail records where the headings at the end of the current chunk begin. The packer calls it before appending a
// piece of block b to a chunk that already has text. offset is the piece's offset in the document.
func (p *packer) trackTail(b domain.Block, offset int) {
	d := &p.cur
	switch {
	case b.Kind != domain.BlockHeading:
		d.tail = nil
	case !d.headingsOnly && d.tail == nil:
		d.tail = &tail{length: d.text.Len(), tokens: d.tokens, offset: offset, page: b.Page}
	}
}

// next closes the current chunk and opens a new one. Any headings at the end of the old chunk move to the new one.
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
		offset: d.tail.offset, page: d.tail.page, sheet: d.sheet, kind: domain.BlockHeading, headingsOnly: true,
		tokens: d.tokens - d.tail.tokens, heads: p.heads,
	}
	headings := trimStart(text[d.tail.length:])
	start := len(text) - len(headings)
	p.cur.text.WriteString(headings)
	p.cur.runs = d.runs.End(len(text)).Clip(start, len(text), -start)
	return nil
}

// divide splits a piece that does not fit below the headings in the current chunk. If the piece must stay whole, divide
// returns at most one part. A piece must stay whole if it can't be split, or if the headings fill more than half of the
// chunk and may therefore form a chunk of their own.
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

// joinLast appends the current chunk, which consists only of headings, to the last finished chunk. It returns false and
// changes nothing if the result would be too large, or if the white space between the two texts in the document isn't
// the separator that joinLast would insert.
func (p *packer) joinLast() bool {
	if len(p.chunks) == 0 {
		return false
	}
	last, d := &p.chunks[len(p.chunks)-1], &p.cur
	text := last.Text + domain.BlockSeparator + strings.TrimRightFunc(d.text.String(), unicode.IsSpace)
	if last.Tokens+d.tokens > p.opts.MaxTokens || len(text) > domain.MaxChunkBytes {
		return false
	}
	if n := len(last.Runs); n > 0 {
		end := last.Runs[n-1]
		if end.Document+end.Length+len(domain.BlockSeparator) != d.offset {
			return false
		}
		last.Runs = last.Runs.End(len(text))
	}
	last.Text = text
	last.Tokens += d.tokens
	p.cur = draft{}
	return true
}
