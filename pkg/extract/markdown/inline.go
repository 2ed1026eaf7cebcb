package markdown

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lazyregexp"

	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// softBreak stands for a line end in the source that isn't a line break in the text. It is replaced once the characters
// on either side are known.
const softBreak = '\x00'

// templateMark matches markup for site generators: shortcodes, template tags, anchors.
var templateMark = lazyregexp.New(`\{\{[<%].*?[%>]\}\}|\{%.*?%\}|\s*\{[#.][\w:.# -]+\}\s*$`)

// inline returns a block's text without markup, and the block's links.
func (w *walker) inline(n ast.Node) (string, []domain.BlockLink) {
	w.links = nil
	var b strings.Builder
	w.writeInline(&b, n, 0)
	text := b.String()
	if !w.plain && strings.Contains(text, "{") && !hasCode(n) {
		text = templateMark().ReplaceAllString(text, "")
	}
	return joinSoft(text), w.links
}

// hasCode reports whether a block contains code, in which braces are literal text.
func hasCode(n ast.Node) bool {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Kind() == ast.KindCodeSpan {
			return true
		}
	}
	return false
}

// joinSoft replaces soft breaks with spaces, or removes them in scripts without spaces.
func joinSoft(s string) string {
	if strings.IndexByte(s, softBreak) < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] != softBreak {
			out = append(out, s[i])
			continue
		}
		before, _ := utf8.DecodeLastRune(out)
		after, _ := utf8.DecodeRuneInString(s[i+1:])
		if !format.Spaceless(before) || !format.Spaceless(after) {
			out = append(out, ' ')
		}
	}
	return string(out)
}

func (w *walker) writeInline(b *strings.Builder, n ast.Node, depth int) {
	if depth > format.MaxDepth {
		return
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			value := c.Segment.Value(w.src)
			if n.Kind() != ast.KindCodeSpan {
				value = util.ResolveEntityNames(util.ResolveNumericReferences(unescapeMarkdown(value)))
			}
			b.Write(value)
			if c.HardLineBreak() {
				b.WriteByte('\n')
			} else if c.SoftLineBreak() {
				b.WriteByte(softBreak)
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.AutoLink:
			b.Write(c.Label(w.src))
			w.link(string(c.Label(w.src)), string(c.URL(w.src)))
		case *ast.Link:
			w.target(b, c, string(c.Destination), string(c.Title), true, depth)
		case *ast.Image:
			w.target(b, c, string(c.Destination), string(c.Title), false, depth)
		case *ast.RawHTML:
			w.rawHTML(b, c)
		case *extast.TaskCheckBox:
			if c.IsChecked {
				b.WriteString("[x] ")
			} else {
				b.WriteString("[ ] ")
			}
		case *extast.FootnoteLink:
			b.WriteString("[" + strconv.Itoa(c.Index) + "]")
		case *extast.FootnoteBacklink:
		default:
			w.writeInline(b, c, depth+1)
		}
	}
}

// target writes a link's text or a picture's description.
func (w *walker) target(b *strings.Builder, n ast.Node, address, title string, link bool, depth int) {
	at := b.Len()
	w.writeInline(b, n, depth+1)
	text := joinSoft(b.String()[at:])
	if link {
		w.link(text, address)
	}
	if text == "" && !link {
		text = title
		b.WriteString(title)
	}
	if w.plain && address != "" && !strings.HasPrefix(address, "data:") && text != address {
		b.WriteString(" (" + strings.TrimSpace(address+" "+title) + ")")
	}
}

// link records a link if its target is outside the document.
func (w *walker) link(text, address string) {
	switch {
	case address == "" || strings.HasPrefix(address, "#"):
		return
	case strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "javascript:"):
		return
	}
	if base, err := url.Parse(w.p.Src.URL); err == nil && w.p.Src.URL != "" {
		if u, err := base.Parse(address); err == nil {
			address = u.String()
		}
	}
	w.links = append(w.links, domain.BlockLink{Text: format.OneLine(text), URL: address})
}

var (
	lineBreakTag = lazyregexp.New(`(?i)^<(br|/p|/div|/li|hr)\b`)
	imageAlt     = lazyregexp.New(`(?i)^<img\b[^>]*\balt\s*=\s*("[^"]*"|'[^']*')`)
)

// rawHTML writes the text that an inline tag stands for, such as a line break.
func (w *walker) rawHTML(b *strings.Builder, n *ast.RawHTML) {
	var tag strings.Builder
	for i := range n.Segments.Len() {
		seg := n.Segments.At(i)
		tag.Write(seg.Value(w.src))
	}
	switch s := tag.String(); {
	case w.plain:
		b.WriteString(s)
	case lineBreakTag().MatchString(s):
		b.WriteByte('\n')
	default:
		if alt := imageAlt().FindStringSubmatch(s); alt != nil {
			b.WriteString(strings.Trim(alt[1], `"'`))
		}
	}
}

// unescapeMarkdown removes backslashes before punctuation.
func unescapeMarkdown(s []byte) []byte {
	out := s[:0:0]
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			i++
		}
		out = append(out, s[i])
	}
	return out
}
