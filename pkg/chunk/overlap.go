package chunk

import "github.com/sluice/sluice/pkg/domain"

// overlapShare is which part of a chunk's target may repeat the end of the chunk before: about one sentence.
const overlapShare = 4

// isLong reports whether the block is a paragraph that has to be cut however chunks are filled.
func (p *packer) isLong(b domain.Block, pieces []piece) bool {
	if b.Kind != domain.BlockParagraph {
		return false
	}
	tokens := 0
	for _, s := range pieces {
		tokens += s.tokens
	}
	return tokens > p.opts.TargetTokens
}

// overlapping returns the piece that opens a chunk in the middle of a long paragraph with the sentence before it, if that
// is short: what it refers to often stands there. Paragraphs that end with a chunk need none, and a sentence that was all
// of its chunk would make the next one hold both.
func (p *packer) overlapping(s piece) piece {
	b := p.before
	if b.end == 0 || b.end != s.start || b.tokens > p.opts.TargetTokens/overlapShare || p.cur.tokens < 2*b.tokens ||
		b.tokens+s.tokens > p.opts.TargetTokens {
		return s
	}
	return piece{start: b.start, end: s.end, tokens: b.tokens + s.tokens}
}
