package extract

import (
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// markdown reads CommonMark with tables, task lists and front matter.
func (p *parser) markdown() error {
	source, err := p.decoded("markdown")
	if err != nil {
		return err
	}
	source = strings.ReplaceAll(source, "\r\n", "\n")
	front, body := frontMatter(source)
	if err := p.frontMatter(front); err != nil {
		return err
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList,
		extension.Footnote, extension.DefinitionList))
	w := &markdownWalker{p: p, src: []byte(body)}
	return w.blocks(md.Parser().Parse(text.NewReader(w.src)), 0)
}

// frontMatter parts the YAML or TOML block at the top of a file from the Markdown below.
func frontMatter(source string) (front, body string) {
	for _, fence := range []string{"---\n", "+++\n"} {
		rest, ok := strings.CutPrefix(source, fence)
		if !ok {
			continue
		}
		end := strings.Index("\n"+rest, "\n"+strings.TrimSuffix(fence, "\n"))
		if end < 0 || end > 64<<10 {
			continue
		}
		_, after, _ := strings.Cut(rest[end:], "\n")
		return rest[:end], after
	}
	return "", source
}

// frontMatter takes title and language from the front matter and keeps the rest as text, so that authors, dates
// and tags can be searched for.
func (p *parser) frontMatter(front string) error {
	for line := range strings.SplitSeq(front, "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			key, value, ok = strings.Cut(line, "=")
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if !ok || value == "" {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "title":
			p.doc.Title = value
		case "lang", "language":
			p.doc.Language = value
		}
	}
	return p.out.paragraph(front, 0)
}

type markdownWalker struct {
	p      *parser
	src    []byte
	depth  int
	number string // of the item of an ordered list whose text comes next: "3. "
}

// blocks emits the children of n. list is the nesting of lists that n stands in.
func (w *markdownWalker) blocks(n ast.Node, list int) error {
	if w.depth++; w.depth > maxDepth {
		return fail(TooLarge, "the Markdown is nested deeper than %d levels", maxDepth)
	}
	defer func() { w.depth-- }()
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if err := w.p.ctx.Err(); err != nil {
			return err
		}
		if err := w.block(c, list); err != nil {
			return err
		}
	}
	return nil
}

func (w *markdownWalker) block(n ast.Node, list int) error {
	out := w.p.out
	switch n := n.(type) {
	case *ast.Heading:
		title := w.inline(n)
		if n.Level == 1 && w.p.doc.Title == "" {
			w.p.doc.Title = title
		}
		return out.heading(n.Level, title, 0)
	case *ast.Paragraph, *ast.TextBlock, *extast.DefinitionTerm:
		if list > 0 {
			text := w.number + w.inline(n)
			w.number = ""
			return out.item(list, text, 0)
		}
		return out.paragraph(w.inline(n), 0)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return out.add(domain.Block{Kind: domain.BlockCode, Text: w.lines(n)})
	case *ast.HTMLBlock:
		return w.p.htmlPiece(w.lines(n))
	case *ast.List:
		return w.list(n, list+1)
	case *extast.Table:
		return w.table(n)
	default:
		return w.blocks(n, list)
	}
}

// list emits the items of a list, with their numbers where it is ordered.
func (w *markdownWalker) list(l *ast.List, nesting int) error {
	number := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		w.number = ""
		if l.IsOrdered() {
			w.number = strconv.Itoa(number) + ". "
			number++
		}
		if err := w.blocks(item, nesting); err != nil {
			return err
		}
	}
	w.number = ""
	return nil
}

func (w *markdownWalker) table(t *extast.Table) error {
	rows := &rowWriter{out: w.p.out, plain: w.p.src.PlainRows, isHeader: true}
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		var cells []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, w.inline(c))
		}
		if err := rows.add(cells); err != nil {
			return err
		}
	}
	return rows.flush()
}

func (w *markdownWalker) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		b.Write(seg.Value(w.src))
	}
	return b.String()
}

// inline is the text of a block without markup; a link's address follows its text in parentheses.
func (w *markdownWalker) inline(n ast.Node) string {
	var b strings.Builder
	w.writeInline(&b, n, 0)
	return b.String()
}

func (w *markdownWalker) writeInline(b *strings.Builder, n ast.Node, depth int) {
	if depth > maxDepth {
		return
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(unescapeMarkdown(c.Segment.Value(w.src)))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.AutoLink:
			b.Write(c.URL(w.src))
		case *ast.Link:
			w.writeInline(b, c, depth+1)
			writeTarget(b, string(c.Destination))
		case *ast.Image:
			w.writeInline(b, c, depth+1)
			writeTarget(b, string(c.Destination))
		case *ast.RawHTML, *extast.FootnoteLink, *extast.FootnoteBacklink, *extast.TaskCheckBox:
		default:
			w.writeInline(b, c, depth+1)
		}
	}
}

func writeTarget(b *strings.Builder, target string) {
	if target != "" && !strings.HasPrefix(target, "#") && !strings.HasPrefix(target, "data:") {
		b.WriteString(" (" + target + ")")
	}
}

// unescapeMarkdown removes the backslash before punctuation.
func unescapeMarkdown(s []byte) []byte {
	out := s[:0:0]
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			continue
		}
		out = append(out, s[i])
	}
	return out
}
