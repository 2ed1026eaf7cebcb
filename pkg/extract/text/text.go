// Package text reads plain text.
package text

import (
	"bufio"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Format describes plain text.
var Format = format.Format{
	Type: format.TypeText, Extensions: []string{".txt", ".text", ".log", ".rst", ".adoc"},
	Name: "plain text", Label: "text", Text: true, Read: read, Piece: paragraphs,
}

// read reads plain text. Empty lines separate paragraphs; form feeds separate pages.
func read(p *format.Parser) error {
	r, err := p.TextReader("text", "")
	if err != nil {
		return err
	}
	if r.Paged {
		p.Doc.Pages = 1
	}
	return paragraphs(p, r.Reader)
}

// paragraphs splits text at empty lines and emits paragraphs, with page numbers if the document has pages. Only one
// paragraph is in memory at a time.
func paragraphs(p *format.Parser, text io.Reader) error {
	r, ok := text.(*bufio.Reader)
	if !ok {
		r = bufio.NewReader(text)
	}
	w := &textWriter{p: p, page: p.Doc.Pages}
	lines := &format.LineReader{R: r}
	for {
		if err := p.Ctx.Err(); err != nil {
			return err
		}
		line, ok, err := lines.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		for {
			before, after, feed := strings.Cut(line, "\f")
			if err := w.line(before); err != nil {
				return err
			}
			if !feed {
				break
			}
			if err := w.newPage(); err != nil {
				return err
			}
			line = after
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	p.Doc.Pages = w.page
	return nil
}

// textWriter converts plain text lines to paragraphs and headings.
type textWriter struct {
	p     *format.Parser
	lines []string
	size  int
	page  int  // page number; 0 if the text has no form feeds
	text  bool // the page has text
}

func (w *textWriter) newPage() error {
	if err := w.flush(); err != nil {
		return err
	}
	if w.text && w.page > 0 && w.page < w.p.Lim.MaxPages {
		w.page++
		w.text = false
	}
	return nil
}

func (w *textWriter) line(line string) error {
	line = strings.TrimRightFunc(line, unicode.IsSpace)
	if strings.TrimSpace(line) == "" {
		return w.flush()
	}
	w.text = true
	if level := underline(line); level > 0 && len(w.lines) == 1 && underlines(line, w.lines[0]) {
		title := w.lines[0]
		w.lines, w.size = w.lines[:0], 0
		return w.p.Out.Heading(level, title, w.page)
	}
	w.lines = append(w.lines, line)
	w.size += len(line) + 1
	if w.size > 4*format.MaxBlockBytes {
		return w.flush()
	}
	return nil
}

// flush emits the lines since the last empty line.
func (w *textWriter) flush() error {
	lines := w.lines
	w.lines, w.size = w.lines[:0], 0
	if len(lines) == 0 {
		return nil
	}
	if len(lines) == 1 {
		if level := numberedHeading(lines[0]); level > 0 {
			return w.p.Out.Heading(level, lines[0], w.page)
		}
	}
	text := strings.Join(lines, "\n")
	if hardWrapped(lines) {
		text = unwrap(lines)
	}
	return w.p.Out.Add(domain.Block{Kind: domain.BlockParagraph, Text: text, Page: w.page})
}

// underline returns the heading level that a line of "=" or "-" indicates, or 0 for other lines.
func underline(line string) int {
	switch {
	case len(line) >= 3 && strings.Trim(line, "=") == "":
		return 1
	case len(line) >= 3 && strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}

// underlines reports whether `rule`, a line of "=" or "-", is about as wide as the title above it.
func underlines(rule, title string) bool {
	width := format.DisplayWidth(title)
	return width <= 100 && !strings.HasPrefix(title, " ") && len(rule)*2 >= width && len(rule) <= width+6
}

// numberedHeading returns a heading's level ("2.1 SCOPE OF DELIVERY"), or 0 if the line may be ordinary text.
func numberedHeading(line string) int {
	number, title, ok := strings.Cut(strings.TrimSpace(line), " ")
	if !ok || len(line) > 100 || number == "" || number[0] < '0' || number[0] > '9' || strings.Trim(number, "0123456789.") != "" || len(number) > 8 {
		return 0
	}
	upper := 0
	for _, r := range title {
		switch {
		case unicode.IsLower(r), unicode.IsDigit(r):
			return 0
		case unicode.IsUpper(r):
			upper++
		}
	}
	if upper < 4 {
		return 0
	}
	return 1 + strings.Count(strings.Trim(number, "."), ".")
}

// hardWrapped reports whether a paragraph's line breaks merely come from the right margin of an editor or mail program.
// If they do, the lines have similar lengths and left margins, and many sentences continue on the next line. Verse,
// lists, tables, addresses, source code and logs don't look like that.
func hardWrapped(lines []string) bool {
	if len(lines) < 2 {
		return false
	}
	longest := 0
	for _, l := range lines {
		longest = max(longest, format.DisplayWidth(l))
	}
	if longest < 40 || longest > 140 {
		return false
	}
	goOn := 0
	for i, l := range lines {
		trimmed := strings.TrimLeft(l, " \t")
		if i > 0 && len(l) != len(trimmed) && len(lines[1])-len(strings.TrimLeft(lines[1], " \t")) != len(l)-len(trimmed) {
			return false
		}
		if strings.Contains(trimmed, "   ") || strings.Contains(trimmed, "\t") || beginsItem(trimmed) && i > 0 {
			return false
		}
		if i < len(lines)-1 && format.DisplayWidth(l)*10 < longest*6 {
			return false
		}
		letters := format.CountLetters(trimmed)
		if letters*10 < utf8.RuneCountInString(trimmed)*6 {
			return false
		}
		first, _ := utf8.DecodeRuneInString(trimmed)
		if i > 0 && (unicode.IsLower(first) || unicode.Is(unicode.Lo, first)) {
			goOn++
		}
	}
	return goOn*5 >= (len(lines)-1)*2
}

// beginsItem reports whether a line starts a list item, a quote or a comment.
func beginsItem(line string) bool {
	first, size := utf8.DecodeRuneInString(line)
	if strings.ContainsRune("-*+•·‣–—>|#/%;", first) {
		return true
	}
	if unicode.IsDigit(first) || unicode.IsLetter(first) {
		rest := strings.TrimLeft(line[size:], "0123456789")
		if rest != "" && strings.ContainsRune(".)", rune(rest[0])) && strings.HasPrefix(rest[1:], " ") {
			return true
		}
	}
	return first == '('
}

// unwrap joins a paragraph's lines and words hyphenated at line ends. If the script has no spaces between words, unwrap
// adds none.
func unwrap(lines []string) string {
	var out []byte
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if i > 0 {
			last, size := utf8.DecodeLastRune(out)
			first, _ := utf8.DecodeRuneInString(line)
			before, _ := utf8.DecodeLastRune(out[:len(out)-size])
			switch {
			case last == '\u00ad', (last == '-' || last == '\u2010') && unicode.IsLetter(before) && unicode.IsLower(first):
				out = out[:len(out)-size]
			case !format.Spaceless(last) || !format.Spaceless(first):
				out = append(out, ' ')
			}
		}
		out = append(out, line...)
	}
	return string(out)
}
