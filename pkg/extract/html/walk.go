package html

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// walker converts an HTML tree to blocks. It may recurse, because golang.org/x/net's parser limits the depth to 512.
type walker struct {
	p        *reader
	base     *url.URL              // base for relative addresses; nil if unknown
	skip     func(*html.Node) bool // selects elements to omit in addition to invisible ones; nil means none
	readAlts bool                  // read picture descriptions
	take     func(block) error     // receives the blocks; if nil, they go to the sink

	buf         strings.Builder
	links       []domain.BlockLink
	at          *html.Node      // block element that the text in buf belongs to
	lists       []list          // open lists, innermost last
	marker      string          // number of the list item whose text follows
	item        bool            // the text in buf belongs to a list item
	writtenAlts map[string]bool // picture descriptions already written
	tabs        []string        // labels of the tabs whose panels follow
	inCode      bool            // the text is in inline code
	entry       string          // anchor of the term being defined; "" outside definitions
	entryTerm   string          // value of `entry` outside the innermost definition list
	facts       map[*html.Node]nodeFacts
	err         error
}

// block is a domain.Block with the element it was read from.
type block struct {
	domain.Block // in table rows, without column names, so that these don't affect the choice of content
	node         *html.Node
	named        string // in table rows, the text with column names; "" if that is the same
}

// domainBlock returns the block to emit. Table rows include column names unless `plain` is set.
func (b block) domainBlock(plain bool) domain.Block {
	if !plain && b.named != "" {
		b.Text = b.named
	}
	return b.Block
}

// run emits the tree's blocks.
func (w *walker) run(n *html.Node) error {
	w.at = n
	w.node(n)
	w.flush()
	return w.err
}

// flush emits the text collected so far as a paragraph or list item.
func (w *walker) flush() {
	text := collapseSpace(w.buf.String())
	links := w.links
	w.buf.Reset()
	w.links = nil
	if w.err != nil || text == "" {
		return
	}
	b := domain.Block{Kind: domain.BlockParagraph, Text: text, Links: links}
	if w.item && len(w.lists) > 0 {
		b.Kind, b.Level = domain.BlockListItem, len(w.lists)
		b.Text = w.marker + text
	}
	w.marker = ""
	w.emit(b, w.at)
}

// emitRow emits a table row: the text as shown, and the text with column names.
func (w *walker) emitRow(r gridRow, plain, named string) {
	if strings.TrimSpace(plain) == "" && !w.p.Src.PlainRows {
		plain = named
	}
	w.put(block{Block: domain.Block{Kind: domain.BlockTableRow, Text: plain, Links: w.linksIn(r.node)}, node: r.node, named: named})
}

func (w *walker) emit(b domain.Block, n *html.Node) { w.put(block{Block: b, node: n}) }

func (w *walker) put(b block) {
	if w.err != nil || strings.TrimSpace(b.Text) == "" {
		return
	}
	if b.Kind != domain.BlockHeading {
		b.Anchor = w.entry
	}
	if w.take != nil {
		w.err = w.take(b)
		return
	}
	w.err = w.p.Out.Add(b.domainBlock(w.p.Src.PlainRows))
}

func (w *walker) children(n *html.Node) {
	for c := n.FirstChild; c != nil && w.err == nil; c = c.NextSibling {
		w.node(c)
	}
}

// block emits the text before an element and then the element's content, as separate blocks.
func (w *walker) block(n *html.Node) {
	w.flush()
	w.within(n)
}

// within emits an element's content. All resulting blocks are attributed to element n, as is any text that was
// collected earlier but not yet emitted.
func (w *walker) within(n *html.Node) {
	was := w.at
	w.at = n
	w.children(n)
	w.flush()
	w.at = was
}

func (w *walker) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		writeInline(&w.buf, n.Data)
		return
	case html.ElementNode:
	default:
		w.children(n)
		return
	}
	if isInvisible(n) {
		w.hidden(n)
		return
	}
	if w.skip != nil && w.skip(n) {
		w.titles(n)
		return
	}
	if w.decoration(n) {
		return
	}
	if w.err = w.p.Ctx.Err(); w.err != nil {
		return
	}
	if attr(n, "role") == "tablist" || hasClass(n, "tabbed-labels") {
		w.tabs = tabLabels(n)
		return
	}
	w.part(&w.buf, n)
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(n, int(n.Data[1]-'0'))
	case atom.Pre, atom.Listing, atom.Xmp:
		w.code(n)
	case atom.Code:
		if !w.inCode && strings.Contains(strings.TrimSpace(codeText(n)), "\n") {
			w.code(n)
			return
		}
		was := w.inCode
		w.inCode = true // code within inline code is inline too
		w.children(n)
		w.inCode = was
	case atom.Table:
		w.flush()
		w.table(n)
	case atom.Ul, atom.Ol, atom.Menu:
		w.list(n)
	case atom.Li:
		w.listItem(n)
	case atom.Dl:
		entry, around := w.entry, w.entryTerm
		w.entryTerm = entry
		w.block(n)
		w.entry, w.entryTerm = entry, around
	case atom.Dt, atom.Summary:
		w.flush()
		w.enter(n)
		w.term(n)
	case atom.Br:
		if s := strings.TrimRight(w.buf.String(), " "); strings.HasSuffix(s, "\n") {
			w.flush() // an empty line ends the paragraph
			return
		}
		w.buf.WriteByte('\n')
	case atom.A:
		w.anchor(n)
	case atom.Sup:
		from := w.buf.Len()
		w.specialElement(n)
		raise(&w.buf, from)
	case atom.Img:
		w.image(n)
	case atom.Ruby:
		w.buf.WriteString(rubyText(n))
	case atom.Math:
		w.buf.WriteString(mathText(n))
	default:
		w.specialElement(n)
	}
}

// specialElement reads the elements that walker.node does not handle. For some of these elements, the role or class
// decides how they are read.
func (w *walker) specialElement(n *html.Node) {
	switch role := attr(n, "role"); {
	case role == "heading" && isBlockElement(n.DataAtom):
		level := 2
		if l := attr(n, "aria-level"); len(l) == 1 && l[0] >= '1' && l[0] <= '6' {
			level = int(l[0] - '0')
		}
		w.heading(n, level)
		return
	case role == "tabpanel" || hasClass(n, "tabbed-block"):
		w.flush()
		if len(w.tabs) > 0 {
			w.emit(domain.Block{Kind: domain.BlockParagraph, Text: w.tabs[0]}, n)
			w.tabs = w.tabs[1:]
		}
	}
	if codeTable(n) {
		w.code(n)
		return
	}
	if isBlockElement(n.DataAtom) {
		w.block(n)
		return
	}
	w.children(n)
}

// hidden reads a formula's source from the invisible script element that the visible formula is rendered from.
func (w *walker) hidden(n *html.Node) {
	if n.DataAtom == atom.Script && strings.HasPrefix(attr(n, "type"), "math/tex") && n.FirstChild != nil {
		writeInline(&w.buf, " "+n.FirstChild.Data+" ")
	}
}

func (w *walker) heading(n *html.Node, level int) {
	w.flush()
	if len(w.lists) > 0 && w.marker != "" {
		w.marker = "" // the list item is a separate section, so drop its number
	}
	w.emit(domain.Block{Kind: domain.BlockHeading, Level: level, Text: w.inline(n), Links: w.linksIn(n), Anchor: w.p.anchors[n]}, n)
}

func (w *walker) code(n *html.Node) {
	w.flush()
	w.emit(domain.Block{Kind: domain.BlockCode, Text: codeText(n), Links: w.linksIn(n)}, n)
}

// term reads a dt element, or a details element's summary, as a separate line.
func (w *walker) term(n *html.Node) {
	if n.DataAtom == atom.Summary && firstHeading(n) != nil {
		w.block(n)
		return
	}
	w.within(n)
}

// enter records the anchor of a term in a definition list. A term that has no anchor shares the anchor of the term
// directly before it. If there is none, it shares the anchor of the outer term whose definition contains this list.
func (w *walker) enter(n *html.Node) {
	if n.DataAtom != atom.Dt {
		return
	}
	if id := w.p.anchors[n]; id != "" {
		w.entry = id
	} else if prev := previousElement(n); prev == nil || prev.DataAtom != atom.Dt {
		w.entry = w.entryTerm
	}
}

// image writes a picture's description unless it is the name of a file or logo. The text in the picture follows as
// separate blocks.
func (w *walker) image(n *html.Node) {
	alt := w.imageDescription(n)
	if alt != "" {
		w.buf.WriteString(" " + alt + " ")
	}
	for _, b := range w.pictureText(n, alt) {
		w.flush()
		w.emit(b, n)
	}
}

// imageDescription returns a picture's description, or "" if there is none or the text nearby already contains it.
func (w *walker) imageDescription(img *html.Node) string {
	alt := format.OneLine(attr(img, "alt"))
	if !w.readAlts || !isInformativeAlt(alt) {
		return ""
	}
	if w.writtenAlts[alt] {
		return ""
	}
	if a := ancestor(img, atom.A); a != nil && len(strings.Fields(alt)) < 4 {
		return "" // a link's label
	}
	if w.writtenAlts == nil {
		w.writtenAlts = map[string]bool{}
	}
	w.writtenAlts[alt] = true
	const near = 3
	n := img.Parent
	for range near {
		if n == nil || n.DataAtom == atom.Body {
			break
		}
		if strings.Contains(startText(n), alt) {
			return ""
		}
		n = n.Parent
	}
	return alt
}

// startText returns the text at the start of a subtree. It stops early, so that calling it for every picture on a large
// page stays cheap.
func startText(n *html.Node) string {
	const maxNodes, maxBytes = 200, 8 << 10
	var b strings.Builder
	seen := 0
	for c := range n.Descendants() {
		if seen++; seen > maxNodes || b.Len() > maxBytes {
			break
		}
		if c.Type == html.TextNode {
			writeInline(&b, c.Data[:min(len(c.Data), maxBytes)])
		}
	}
	return b.String()
}

// isInformativeAlt reports whether a picture's description is useful to readers.
func isInformativeAlt(alt string) bool {
	words := strings.Fields(alt)
	lower := strings.ToLower(alt)
	for _, ext := range []string{".jpg", ".jpeg", ".png", ".gif", ".svg", ".webp"} {
		if strings.HasSuffix(lower, ext) {
			return false
		}
	}
	for _, s := range []string{"logo", "avatar", "icon", "profile picture", "gravatar"} {
		if strings.Contains(lower, s) {
			return false
		}
	}
	return len(words) > 1 || strings.ContainsFunc(alt, func(r rune) bool { return r > 0x2e80 })
}

// titles emits only the h1 headings in a header element, because many pages put their title there.
func (w *walker) titles(header *html.Node) {
	if header.DataAtom != atom.Header {
		return
	}
	for n := range header.Descendants() {
		if n.DataAtom == atom.H1 && w.err == nil {
			w.heading(n, 1)
		}
	}
}

func ancestor(n *html.Node, a atom.Atom) *html.Node {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.DataAtom == a {
			return n
		}
	}
	return nil
}

func firstHeading(n *html.Node) *html.Node {
	for c := range n.Descendants() {
		switch c.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return c
		}
	}
	return nil
}

// isInvisible reports whether an element's text is invisible or not content, like a select element's options.
func isInvisible(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head, atom.Title, atom.Svg, atom.Iframe,
		atom.Object, atom.Canvas, atom.Select, atom.Datalist, atom.Textarea, atom.Dialog:
		return true
	}
	if attr(n, "role") == "tabpanel" {
		return false // visible when its tab is selected
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			return a.Val == "true" // showHidden has already removed wrong values
		case "style":
			style := strings.ToLower(strings.ReplaceAll(a.Val, " ", ""))
			if (strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")) && !drawnFormula(n) {
				return true
			}
		}
	}
	return false
}

// drawnFormula reports whether an element is the MathML for a formula shown as an image.
func drawnFormula(n *html.Node) bool {
	return n.FirstChild != nil && n.FirstChild.DataAtom == atom.Math
}
