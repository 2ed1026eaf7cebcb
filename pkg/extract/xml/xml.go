// Package xml reads XML. It reads documents in formats such as DocBook, DITA, JATS and TEI as headings, paragraphs,
// lists and tables. Any other XML is data, which it reads as package json reads JSON.
package xml

import (
	"bytes"
	"encoding/xml"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

const mimeType = "application/xml"

const (
	// maxXML is the maximum size, in bytes, of text to parse as XML.
	maxXML = 64 << 20
	// maxNodes is the maximum number of elements, attributes and text nodes.
	maxNodes = 2_000_000
)

// Format describes XML.
var Format = format.Format{
	Type: mimeType,
	Aliases: []string{"text/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/docbook+xml", "application/dita+xml",
		"application/jats+xml", "application/tei+xml"},
	Extensions: []string{".xml", ".dbk", ".docbook", ".dita", ".ditamap", ".nxml", ".jats", ".tei", ".rss", ".atom"},
	Name:       "XML", Label: "XML", Text: true, Sniff: sniff, Read: read,
}

// sniff recognises XML by its declaration or, if the file name or declared type indicates XML, by its first tag.
func sniff(head []byte, named string) bool {
	s := format.PageStart(head)
	switch named {
	case "":
		return bytes.HasPrefix(s, []byte("<?xml "))
	case mimeType:
		return bytes.HasPrefix(s, []byte("<"))
	}
	return false
}

// read reads an XML file as a document or as data. It doesn't expand entities defined in the file.
func read(p *format.Parser) error {
	if p.Src.Size > maxXML {
		p.Out.Warn("the XML is longer than " + format.SizeText(maxXML) + ", so it was read as plain text")
		src, err := p.TextReader("xml/text", "")
		if err != nil {
			return err
		}
		return p.Piece(format.TypeText, src.Reader)
	}
	source, err := p.Decoded("xml")
	if err != nil {
		return err
	}
	b := &builder{sc: xmlscan.New(p.Ctx, strings.NewReader(withoutDeclaration(source)))}
	b.sc.ExpandHTMLEntities()
	root := b.tree()
	switch {
	case b.sc.Err != nil:
		return b.sc.Err
	case root == nil || b.sc.Damage != nil && !root.hasText():
		p.Out.Warn("the file is not valid XML and was read as plain text")
		return p.Piece(format.TypeText, strings.NewReader(source))
	case b.sc.Damage != nil:
		p.Out.Warn("the XML is damaged; only the text before the damage was read")
	}
	if language := root.attribute("lang"); language != "" {
		p.Doc.Language = language
	}
	if root.isProse() {
		w := &walker{p: p}
		return w.document(root)
	}
	w := &dataWriter{p: p}
	if err := w.object(root); err != nil {
		return err
	}
	return p.Piece(format.TypeJSON, strings.NewReader(w.out.String()))
}

// withoutDeclaration strips the XML declaration, because its encoding no longer applies.
func withoutDeclaration(source string) string {
	trimmed := strings.TrimLeft(source, " \t\r\n\ufeff")
	if strings.HasPrefix(trimmed, "<?xml ") {
		if _, rest, ok := strings.Cut(trimmed, "?>"); ok {
			return rest
		}
	}
	return trimmed
}

// node is an element or, if it has no name, a text node.
type node struct {
	name     string // local name
	text     string
	attrs    []xml.Attr
	children []*node
}

// builder builds a file's tree.
type builder struct {
	sc    *xmlscan.Scanner
	nodes int
}

// tree returns the root element, or nil if there is none.
func (b *builder) tree() *node {
	e, ok := b.sc.Root()
	if !ok {
		return nil
	}
	return b.element(e)
}

// element reads the current element. The scanner bounds the recursion.
func (b *builder) element(e xml.StartElement) *node {
	n := &node{name: e.Name.Local}
	for _, a := range e.Attr {
		if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" || strings.HasPrefix(a.Name.Space, "http://www.w3.org/2001/XMLSchema") {
			continue
		}
		a.Name.Local, a.Value = strings.Clone(a.Name.Local), strings.TrimSpace(a.Value)
		n.attrs = append(n.attrs, a)
		b.count()
	}
	b.count()
	b.sc.Mixed(func(text string) {
		n.children = append(n.children, &node{text: text})
		b.count()
	}, func(e xml.StartElement) bool {
		n.children = append(n.children, b.element(e))
		return true
	})
	return n
}

func (b *builder) count() {
	if b.nodes++; b.nodes > maxNodes {
		b.sc.Stop(format.Errorf(format.TooLarge, "the XML has more than %d elements, attributes and texts; split it", maxNodes))
	}
}

// attribute returns the value of the attribute with the given local name, in any namespace.
func (n *node) attribute(name string) string {
	for _, a := range n.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// child returns the first child with one of the names, or nil.
func (n *node) child(names ...string) *node {
	for _, name := range names {
		for _, c := range n.children {
			if c.name == name {
				return c
			}
		}
	}
	return nil
}

// find returns the first descendant with one of the names, or nil.
func (n *node) find(names ...string) *node {
	if c := n.child(names...); c != nil {
		return c
	}
	for _, c := range n.children {
		if found := c.find(names...); found != nil {
			return found
		}
	}
	return nil
}

// hasText reports whether an element or one of its descendants has text.
func (n *node) hasText() bool {
	if strings.TrimSpace(n.text) != "" {
		return true
	}
	for _, c := range n.children {
		if c.hasText() {
			return true
		}
	}
	return false
}

// words returns an element's text on one line, without footnotes and index terms. If an element contains only elements,
// such as the parts of a name, their texts are separated by spaces.
func (n *node) words() string {
	var b strings.Builder
	n.appendWords(&b)
	return format.OneLine(b.String())
}

func (n *node) appendWords(b *strings.Builder) {
	b.WriteString(n.text)
	apart := !n.isMixed()
	for _, c := range n.children {
		if c.name == "indexterm" || footnotes[c.name] {
			continue
		}
		if apart && c.name != "" {
			b.WriteByte(' ')
		}
		c.appendWords(b)
	}
}

// isMixed reports whether the element directly contains text.
func (n *node) isMixed() bool {
	for _, c := range n.children {
		if c.name == "" && strings.TrimSpace(c.text) != "" {
			return true
		}
	}
	return false
}

// isProse reports whether the file is a document rather than data. It must have a paragraph with at least two words,
// and either a document's root element with a title, or at least a third of its text in paragraphs.
func (n *node) isProse() bool {
	all, inside, sentences := n.weigh(false)
	titled := n.child("title", "info", "front", "teiHeader") != nil
	return sentences > 0 && (documents[n.name] && titled || inside*3 >= all)
}

// weigh returns the size in bytes of all text and of the text in paragraphs, and the number of paragraphs with more
// than one word. `within` means that the element is inside a paragraph.
func (n *node) weigh(within bool) (all, inside, sentences int) {
	size := len(strings.TrimSpace(n.text))
	all = size
	if within {
		inside = size
	}
	if !within && paragraphs[n.name] {
		within = true
		if strings.Contains(n.words(), " ") {
			sentences++
		}
	}
	for _, c := range n.children {
		a, i, s := c.weigh(within)
		all, inside, sentences = all+a, inside+i, sentences+s
	}
	return all, inside, sentences
}
