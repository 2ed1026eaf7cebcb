// Package markdown reads Markdown.
package markdown

import (
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/table"

	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// maxMarkdown is the maximum size of Markdown to parse, in bytes. The parser needs the whole text in memory.
const maxMarkdown = 16 << 20

// Format describes Markdown.
var Format = format.Format{
	Type: format.TypeMarkdown, Aliases: []string{"text/x-markdown"}, Extensions: []string{".md", ".markdown", ".mdown", ".mkd", ".mdx"},
	Name: "Markdown", Label: "Markdown", Text: true, TitleFromHeading: true, Read: read, Piece: piece,
}

// read reads CommonMark with GitHub's tables, task lists and bare URLs, footnotes, definition lists and front matter.
// If PlainRows is set, the text includes link URLs and HTML markup. Otherwise, the blocks' links hold the URLs, and the
// markup is dropped.
func read(p *format.Parser) error {
	if p.Src.Size > maxMarkdown {
		p.Out.Warn("the Markdown is longer than " + format.SizeText(maxMarkdown) + ", so it was read as plain text")
		src, err := p.TextReader("markdown/text", "")
		if err != nil {
			return err
		}
		return p.Piece(format.TypeText, src.Reader)
	}
	source, err := p.Decoded("markdown")
	if err != nil {
		return err
	}
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(source)
	front, body := splitFrontMatter(source)
	frontMatter(p, front)
	if strings.TrimSpace(body) == "" { // a note that consists of its properties
		return p.Out.Paragraph(front, 0)
	}
	return parse(p, body)
}

// piece reads Markdown without front matter, such as a notebook cell.
func piece(p *format.Parser, text io.Reader) error {
	body, err := io.ReadAll(io.LimitReader(text, maxMarkdown))
	if err != nil {
		return err
	}
	return parse(p, string(body))
}

func parse(p *format.Parser, body string) error {
	if why := tooExpensive(body); why != "" {
		p.Out.Warn("the Markdown was read as plain text: " + why)
		return p.Piece(format.TypeText, strings.NewReader(body))
	}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))
	w := &walker{p: p, src: []byte(body), plain: p.Src.PlainRows, scripted: strings.EqualFold(path.Ext(p.Src.Name), ".mdx")}
	return w.blocks(md.Parser().Parse(text.NewReader(w.src)), 0)
}

type walker struct {
	p        *format.Parser
	src      []byte
	plain    bool // write addresses and HTML into the text
	scripted bool // the file is MDX, where import and export lines are code
	depth    int
	prefix   string // list item number, such as "3. ", to write before the item's text
	links    []domain.BlockLink
}

// blocks emits n's children. `list` is the number of lists around n.
func (w *walker) blocks(n ast.Node, list int) error {
	if w.depth++; w.depth > format.MaxDepth {
		return format.Errorf(format.TooLarge, "the Markdown is nested deeper than %d levels", format.MaxDepth)
	}
	defer func() { w.depth-- }()
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if err := w.p.Ctx.Err(); err != nil {
			return err
		}
		if err := w.block(c, list); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) block(n ast.Node, list int) error {
	out := w.p.Out
	switch n := n.(type) {
	case *ast.Heading:
		title, links := w.inline(n)
		return out.Add(domain.Block{Kind: domain.BlockHeading, Text: format.OneLine(title), Level: n.Level, Links: links})
	case *ast.Paragraph, *ast.TextBlock, *extast.DefinitionTerm:
		return w.paragraph(n, list)
	case *ast.FencedCodeBlock:
		return out.Add(domain.Block{Kind: domain.BlockCode, Text: w.fenced(n)})
	case *ast.CodeBlock:
		return out.Add(domain.Block{Kind: domain.BlockCode, Text: w.lines(n)})
	case *ast.HTMLBlock:
		return w.html(n)
	case *ast.List:
		return w.list(n, list+1)
	case *extast.Footnote:
		w.prefix = "[" + strconv.Itoa(n.Index) + "] "
		err := w.blocks(n, list)
		w.prefix = ""
		return err
	case *extast.Table:
		return w.table(n)
	default:
		return w.blocks(n, list)
	}
}

func (w *walker) paragraph(n ast.Node, list int) error {
	if w.scripted && w.isScript(n) {
		return nil
	}
	text, links := w.inline(n)
	b := domain.Block{Kind: domain.BlockParagraph, Text: w.prefix + text, Links: links}
	w.prefix = ""
	if list > 0 {
		b.Kind, b.Level = domain.BlockListItem, list
	}
	return w.p.Out.Add(b)
}

// isScript reports whether a paragraph in an MDX file is code.
func (w *walker) isScript(n ast.Node) bool {
	first, _, _ := strings.Cut(w.lines(n), " ")
	return first == "import" || first == "export"
}

// fenced returns a code block's text. If the opening fence has an info string, such as the language, the fences are
// included, because they help people and models.
func (w *walker) fenced(n *ast.FencedCodeBlock) string {
	code := w.lines(n)
	if n.Info == nil || strings.TrimSpace(code) == "" {
		return code
	}
	return "```" + string(n.Info.Value(w.src)) + "\n" + strings.TrimSuffix(code, "\n") + "\n```"
}

func (w *walker) html(n *ast.HTMLBlock) error {
	source := w.lines(n)
	if n.HasClosure() {
		source += string(n.ClosureLine.Value(w.src))
	}
	if w.plain {
		return w.p.Out.Paragraph(source, 0)
	}
	return w.p.Piece(format.TypeHTML, strings.NewReader(source))
}

// list emits a list's items, with numbers if the list is ordered.
func (w *walker) list(l *ast.List, nesting int) error {
	number := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		w.prefix = ""
		if l.IsOrdered() {
			w.prefix = strconv.Itoa(number) + ". "
			number++
		}
		if err := w.blocks(item, nesting); err != nil {
			return err
		}
	}
	w.prefix = ""
	return nil
}

func (w *walker) table(t *extast.Table) error {
	rows := &table.Writer{Out: w.p.Out, Plain: w.plain, IsHeader: true}
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		var row table.Row
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			text, links := w.inline(c)
			row.Cells = append(row.Cells, text)
			row.Links = append(row.Links, links...)
		}
		if err := rows.Add(row); err != nil {
			return err
		}
	}
	return rows.Flush()
}

func (w *walker) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		b.Write(seg.Value(w.src))
	}
	return b.String()
}
