package retrieve

import (
	"slices"
	"strings"
)

// Bounds of a fragment that is made of neighbours. A neighbour that ranks further behind than mergeWithin places stays for
// itself: within the same amount of text, taking in those from further away covers less of the answers than what they
// push out, on collections with known answers; up to 5 places it covers as much or more, and 5 fragments hold 4 to 7
// points more of the answers.
const (
	maxMerged      = 3    // chunks
	maxMergedBytes = 4096 // of their text together; larger chunks stay alone
	mergeWithin    = 5    // ranks
)

// minOverlap is the least that two chunks must have in common at their seam to count as overlapping, in bytes.
const (
	minOverlap = 16
	maxOverlap = 2048
)

// pick is a fragment in the making: its best chunk, and the chunks beside it that have been merged into it.
type pick struct {
	*candidate
	rank  int          // of the candidate
	parts []*candidate // with the best, in reading order; nil while that is alone
	bytes int
}

// reaches reports whether the candidate of that rank stands right beside the fragment's chunks, ranks close behind, and there
// may be room for it.
func (p *pick) reaches(c *candidate, rank int) bool {
	first, last := p.candidate, p.candidate
	if n := len(p.parts); n > 0 {
		first, last = p.parts[0], p.parts[n-1]
	}
	return rank-p.rank <= mergeWithin && c.hit.DatasourceID == p.hit.DatasourceID && c.hit.Generation == p.hit.Generation &&
		(c.hit.Ordinal == first.hit.Ordinal-1 || c.hit.Ordinal == last.hit.Ordinal+1) && max(1, len(p.parts)) < maxMerged
}

// takes reports whether a candidate that it reaches stands under the same heading, and there is room for its text.
func (p *pick) takes(c *candidate) bool {
	return c.hit.Heading == p.hit.Heading && p.bytes+len(c.hit.Text) <= maxMergedBytes
}

// merge takes a candidate that takes has found to belong here.
func (p *pick) merge(c *candidate) {
	if p.parts == nil {
		p.parts = append(p.parts, p.candidate)
	}
	at := len(p.parts)
	if c.hit.Ordinal < p.parts[0].hit.Ordinal {
		at = 0
	}
	p.parts = slices.Insert(p.parts, at, c)
	p.bytes += len(c.hit.Text)
}

// anchor is the anchor of the first heading among the fragment's chunks.
func (p *pick) anchor() string {
	for _, part := range p.parts {
		if part.hit.Anchor != "" {
			return part.hit.Anchor
		}
	}
	return p.hit.Anchor
}

// text is the fragment's: that of its chunks in reading order.
func (p *pick) text() string {
	if len(p.parts) == 0 {
		return p.hit.Text
	}
	var out strings.Builder
	out.WriteString(p.parts[0].hit.Text)
	for i, next := range p.parts[1:] {
		out.WriteString(seam(p.parts[i], next))
	}
	return out.String()
}

// seam is what the second of two neighbouring chunks adds to the text of the first: what parts them in the document, and
// its text without what the chunker has repeated, the end of the chunk before or a table's header.
func seam(a, b *candidate) string {
	text, before := b.hit.Text, a.hit.Text
	if header, rest, ok := strings.Cut(text, "\n"); ok && strings.Contains(header, "\t") && hasLine(before, header) {
		return "\n" + rest
	}
	if n := overlap(before, text); n > 0 {
		return text[n:]
	}
	switch gap := b.hit.Offset - a.hit.Offset - len(before); {
	case gap == 0:
		return text
	case gap == 1 && !strings.Contains(before, "\n") && !strings.Contains(text, "\n"):
		return " " + text
	case gap <= 1:
		return "\n" + text
	}
	return "\n\n" + text
}

func hasLine(text, line string) bool {
	for l := range strings.SplitSeq(text, "\n") {
		if l == line {
			return true
		}
	}
	return false
}

// overlap is how many bytes at the end of a are the beginning of b, 0 when they are too few to be more than chance.
func overlap(a, b string) int {
	for n := min(len(a), len(b), maxOverlap); n >= minOverlap; n-- {
		if a[len(a)-n] == b[0] && a[len(a)-n:] == b[:n] {
			return n
		}
	}
	return 0
}
