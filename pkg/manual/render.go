package manual

import (
	"bytes"
	"errors"
	"html/template"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// repository is the base address of files outside the documentation.
const repository = "https://github.com/sluice/sluice/blob/main/"

// markdown parses and renders Markdown. It drops any HTML in the source and writes no inline styles, which the Content
// Security Policy would block.
var markdown = goldmark.New(goldmark.WithExtensions(
	extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.Linkify))

// render converts a Markdown file to a page.
func render(files fs.FS, source string, content []byte) (page, error) {
	p := page{source: source, at: address(source), markdown: content}
	root := markdown.Parser().Parse(text.NewReader(content))
	seen := map[string]int{}
	var below string
	begin := func(h heading) {
		next := passage{heading: h.text, at: p.at, factor: 1}
		if h.id != "" {
			next.at += "#" + h.id
		}
		if strings.HasPrefix(source, "adr/") || strings.HasPrefix(source, "history/") {
			next.factor = decisionFactor
		}
		p.passages = append(p.passages, next)
	}
	begin(heading{})
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			h := heading{level: n.Level, text: plainText(n, content)}
			h.id = anchor(h.text, seen)
			n.SetAttributeString("id", []byte(h.id))
			below = h.text
			if n.Level == 1 && p.title == "" {
				p.title = h.text
			} else {
				p.headings = append(p.headings, h)
				begin(h)
			}
			return ast.WalkContinue, nil
		case *ast.Link:
			target := string(n.Destination)
			n.Destination = []byte(resolve(files, source, target))
			if _, inItem := n.Parent().Parent().(*ast.ListItem); inItem && n.PreviousSibling() == nil {
				p.list(below, link{Title: plainText(n, content), At: string(n.Destination)})
			}
		case *ast.Image:
			n.Destination = []byte(resolve(files, source, string(n.Destination)))
		}
		if n.Type() == ast.TypeBlock && n.Kind() != ast.KindHTMLBlock && !hasBlocks(n) {
			last := &p.passages[len(p.passages)-1]
			if len(last.text) > passageLength {
				next := *last
				next.text = ""
				p.passages = append(p.passages, next)
				last = &p.passages[len(p.passages)-1]
			}
			last.text = strings.TrimSpace(last.text + " " + blockText(n, content))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return p, err
	}
	for i := range p.passages {
		p.passages[i].page = p.title
	}
	if p.title == "" {
		return p, errors.New("it has no title: a line that begins with #")
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, content, root); err != nil {
		return p, err
	}
	p.text = template.HTML(scrollableParts.Replace(b.String())) //nolint:gosec // G203: our own files; the renderer omits HTML
	return p, nil
}

// scrollableParts makes tables and code blocks scrollable, also by keyboard. It is safe to replace strings in the HTML:
// every < in a page's text is escaped, so the strings occur only as tags.
var scrollableParts = strings.NewReplacer(
	"<table>", `<div class="wide" role="group" aria-label="Table" tabindex="0"><table>`, "</table>", "</table></div>",
	"<th></th>", "<td></td>", // an empty cell is not a heading
	"<pre>", `<pre tabindex="0">`,
)

// list adds a link to the section with the given title, starting a new section unless the last one has that title.
func (p *page) list(title string, l link) {
	if len(p.lists) == 0 || p.lists[len(p.lists)-1].Title != title {
		p.lists = append(p.lists, section{Title: title})
	}
	last := &p.lists[len(p.lists)-1]
	last.Links = append(last.Links, l)
}

// address returns the path at which a Markdown file's page is served.
func address(source string) string {
	if path.Base(source) == frontPage {
		return path.Join(Root, path.Dir(source))
	}
	return Root + "/" + strings.TrimSuffix(source, ".md")
}

// resolve converts a Markdown file's link target to the address used in the web page.
func resolve(files fs.FS, source, target string) string {
	if strings.Contains(target, ":") || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "/") {
		return target
	}
	file, fragment, hasFragment := strings.Cut(target, "#")
	file = path.Join(path.Dir(source), file)
	if hasFragment {
		fragment = "#" + fragment
	}
	switch _, err := fs.Stat(files, file); {
	case file == "../pkg/api/openapi.yaml":
		return Reference + fragment
	case err == nil && path.Ext(file) == ".md":
		return address(file) + fragment
	case err == nil:
		return Root + "/" + file
	default:
		return repository + strings.TrimPrefix(file, "../") + fragment
	}
}

// hasBlocks reports whether a node, such as a list, contains blocks rather than text.
func hasBlocks(n ast.Node) bool {
	return n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock
}

// blockText returns a block's text, including code, with single spaces between words.
func blockText(n ast.Node, content []byte) string {
	if n.IsRaw() {
		var b strings.Builder
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			b.Write(line.Value(content))
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	return plainText(n, content)
}

func plainText(n ast.Node, content []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(content))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// anchor returns a heading's id. It is the same as on GitHub, so that links work in both places.
func anchor(heading string, seen map[string]int) string {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
	n := seen[id]
	seen[id]++
	if n > 0 {
		return id + "-" + strconv.Itoa(n)
	}
	return id
}
