package chunk

import "github.com/sluice/sluice/pkg/domain"

// A chunk repeats at most 1/overlapShare of its target size from the previous chunk, which is about one sentence.
const overlapShare = 4

// isLong reports whether the block is a paragraph that does not fit into one chunk.
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

// overlapping prepends the previous sentence to a piece that starts a chunk in the middle of a long paragraph, because
// the piece often refers to that sentence. It does not repeat a sentence that is long or makes up most of the previous
// chunk.
func (p *packer) overlapping(s piece) piece {
	b := p.before
	if b.end == 0 || b.end != s.start || b.tokens > p.opts.TargetTokens/overlapShare || p.cur.tokens < 2*b.tokens ||
		b.tokens+s.tokens > p.opts.TargetTokens {
		return s
	}
	return piece{start: b.start, end: s.end, tokens: b.tokens + s.tokens}
}
