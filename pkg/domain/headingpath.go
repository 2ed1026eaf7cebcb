package domain

// HeadingPath tracks the sheet and headings above the current block while a document is read in order. The zero value
// is ready for the first block.
type HeadingPath struct {
	sheet    string
	headings [6]string // by level, from level 1
	anchors  [6]string // the headings' anchors, by level
}

// Enter processes the next block.
func (p *HeadingPath) Enter(b Block) {
	if b.Sheet != p.sheet || b.Apart {
		*p = HeadingPath{sheet: b.Sheet}
	}
	if b.Kind != BlockHeading {
		return
	}
	level := min(max(b.Level, 1), len(p.headings))
	p.headings[level-1], p.anchors[level-1] = b.Text, b.Anchor
	clear(p.headings[level:])
	clear(p.anchors[level:])
}

// Anchor returns the innermost heading's URL fragment. If that heading has none, Anchor returns the fragment of the
// nearest enclosing heading that has one, not counting the page's title. If there is none, it returns "".
func (p *HeadingPath) Anchor() string {
	innermost := true
	for i := len(p.headings) - 1; i >= 0; i-- {
		if p.headings[i] == "" {
			continue
		}
		if p.anchors[i] != "" && (innermost || i > 0) {
			return p.anchors[i]
		}
		innermost = false
	}
	return ""
}

// Path returns the sheet and the headings, outermost first, including the last block if it is a heading. It omits a
// heading that repeats the sheet's name.
func (p *HeadingPath) Path() []string {
	var parts []string
	if p.sheet != "" {
		parts = append(parts, p.sheet)
	}
	for _, h := range p.headings {
		if h != "" && h != p.sheet {
			parts = append(parts, h)
		}
	}
	return parts
}

// Parents returns the path above b, the last block, not including b itself.
func (p *HeadingPath) Parents(b Block) []string {
	path := p.Path()
	if b.Kind == BlockHeading && len(path) > 0 {
		path = path[:len(path)-1]
	}
	return path
}
