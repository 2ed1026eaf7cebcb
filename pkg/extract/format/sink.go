package format

import (
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/domain"
)

// Sink receives a parser's blocks, cleans and bounds them, and passes each one on immediately, so the whole document is
// never in memory.
type Sink struct {
	Emit         func(domain.Block) error
	Left         int64 // bytes of text that may still be added
	Max          int64
	blocks       int
	maxBlocks    int    // maximum number of blocks; 0 if unlimited
	links        int64  // bytes of links so far; at most Max/maxLinkFraction
	offset       int    // offset of the next block's text in the document's text
	Letters      int    // letters and digits in all blocks; if it is 0, the document has no text
	topHeadings  int    // level-1 headings, not counting sheet names
	firstHeading string // text of the first such heading
	body         linkCount
	Warnings     []string
}

// Add cleans a block and passes it on. It returns an *Error of kind TooLarge if the document exceeds a limit, or the
// error that Emit returned. Parsers must stop in both cases.
func (s *Sink) Add(b domain.Block) error {
	b.Text = cleanText(b.Text, b.Kind)
	s.body.add(b)
	b.Links = s.boundLinks(b.Links)
	if b.Kind == domain.BlockHeading && b.Level == 1 && b.Sheet == "" && b.Text != "" {
		if s.topHeadings++; s.topHeadings == 1 {
			s.firstHeading = b.Text
		}
	}
	for b.Text != "" {
		head, rest := splitBlock(b.Text, b.Kind)
		part := b
		part.Text, part.Offset = head, s.offset
		part.Links = b.Links
		if s.Left -= int64(len(head)); s.Left < 0 {
			return Errorf(TooLarge, "the document has more than %s of text; split it", SizeText(s.Max))
		}
		if s.blocks++; s.maxBlocks > 0 && s.blocks > s.maxBlocks {
			return Errorf(TooLarge, "the document has more than %d paragraphs and rows; split it", s.maxBlocks)
		}
		if s.Letters < 1<<20 {
			s.Letters += CountLetters(head)
		}
		if err := s.Emit(part); err != nil {
			return err
		}
		s.offset += len(head) + len(domain.BlockSeparator)
		b.Text, b.Links = rest, nil
	}
	return nil
}

// boundLinks drops links that exceed a block's or document's limits.
func (s *Sink) boundLinks(links []domain.BlockLink) []domain.BlockLink {
	var kept []domain.BlockLink
	for _, l := range links {
		l.URL, l.Text = OneLine(cleanText(l.URL, domain.BlockHeading)), Cut(cleanText(l.Text, domain.BlockHeading), MaxLinkText)
		if l.URL == "" || len(l.URL) > MaxURL {
			continue
		}
		if s.links += int64(len(l.URL) + len(l.Text)); s.links > s.Max/maxLinkFraction || len(kept) == domain.MaxBlockLinks {
			break
		}
		kept = append(kept, l)
	}
	return kept
}

// Heading adds a heading. `page` is 0 if the document has no pages.
func (s *Sink) Heading(level int, text string, page int) error {
	return s.Add(domain.Block{Kind: domain.BlockHeading, Text: OneLine(text), Level: min(max(level, 1), 6), Page: page})
}

// Paragraph adds a paragraph. `page` is 0 if the document has no pages.
func (s *Sink) Paragraph(text string, page int) error {
	return s.Add(domain.Block{Kind: domain.BlockParagraph, Text: text, Page: page})
}

// Meta records the document's metadata. It ignores empty values and keys that are already set.
func (p *Parser) Meta(key, value string) {
	key, value = Cut(OneLine(cleanText(key, domain.BlockHeading)), domain.MaxMetaKey), Cut(OneLine(cleanText(value, domain.BlockHeading)), domain.MaxMetaValue)
	if _, said := p.Doc.Metadata[key]; said || key == "" || value == "" || len(p.Doc.Metadata) == domain.MaxMetaKeys {
		return
	}
	if p.Doc.Metadata == nil {
		p.Doc.Metadata = map[string]string{}
	}
	p.Doc.Metadata[key] = value
}

// Cut truncates s to at most n bytes, at a rune boundary.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.TrimSpace(bounded.Prefix(s, n))
}

// Warn records a warning for users. Identical warnings are recorded once.
func (s *Sink) Warn(text string) {
	const maxWarnings = 20
	text = Cut(OneLine(cleanText(text, domain.BlockHeading)), maxWarning)
	for _, w := range s.Warnings {
		if w == text {
			return
		}
	}
	if len(s.Warnings) < maxWarnings {
		s.Warnings = append(s.Warnings, text)
	}
}

// cleanText cleans a block's text: valid UTF-8, no soft hyphens, and no control characters except tabs and newlines. It
// trims white space around the text and, except in code, around each line.
func cleanText(s string, kind domain.BlockKind) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			return '\n'
		case r == '\u00a0' || r == '\u202f' || r == '\u2007':
			return ' '
		case r < 0x20, r >= 0x7f && r < 0xa0, r == '\u00ad', r == '\ufeff', r == '\ufffe', r == '\uffff':
			return -1
		}
		return r
	}, s)
	if kind == domain.BlockCode {
		return strings.Trim(strings.TrimRight(s, " \t\n"), "\n")
	}
	if strings.Contains(s, "\n") {
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			lines[i] = strings.TrimSpace(l)
		}
		s = strings.Join(lines, "\n")
	}
	return strings.TrimSpace(s)
}

// splitBlock splits text longer than MaxBlockBytes at the last line, sentence or word end before the limit. Code keeps
// its indentation.
func splitBlock(s string, kind domain.BlockKind) (head, rest string) {
	if len(s) <= MaxBlockBytes {
		return s, ""
	}
	cut := len(bounded.Prefix(s, MaxBlockBytes))
	for _, sep := range []string{"\n", ". ", "。", " "} {
		if i := strings.LastIndex(s[:cut], sep); i > MaxBlockBytes/2 {
			cut = i + len(sep)
			break
		}
	}
	if kind == domain.BlockCode {
		return strings.TrimRight(s[:cut], "\n"), strings.TrimLeft(s[cut:], "\n")
	}
	return strings.TrimSpace(s[:cut]), strings.TrimSpace(s[cut:])
}

// CountLetters counts letters and digits.
func CountLetters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// OneLine replaces each run of white space with a single space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// IsLinkList reports whether the document so far is a list of links.
func (s *Sink) IsLinkList() bool { return s.body.isList() }
