// Package epub reads EPUB books, versions 2 and 3. It reads the chapters as HTML pages, in spine order.
package epub

import (
	"bytes"
	"encoding/xml"
	"net/url"
	"path"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
	"github.com/sluice/sluice/pkg/extract/zip"
	"github.com/sluice/sluice/pkg/wordset"
)

const mimeType = "application/epub+zip"

// Format describes EPUB books.
var Format = format.Format{
	Type: mimeType, Extensions: []string{".epub"}, Name: "an EPUB book", Label: "EPUB", Packed: true,
	Sniff:  func(head []byte, _ string) bool { return bytes.Contains(head, []byte("mimetype"+mimeType)) },
	Inside: detectType, Read: read,
}

const container = "META-INF/container.xml"

// detectType recognises a book by its mimetype file or, because some producers omit that, its container file.
func detectType(p *format.Parser) string {
	a := zip.Opened(p)
	if kind, err := a.Read("mimetype"); err == nil && strings.TrimSpace(string(kind)) == mimeType || a.Has(strings.ToLower(container)) {
		return mimeType
	}
	return ""
}

// book holds the state while reading a book.
type book struct {
	p      *format.Parser
	a      *zip.Archive
	dir    string // folder of the package document, which addresses in it are relative to
	items  map[string]item
	spine  []item
	titles map[string]heading // table of contents entries, by the zip.PartName of the part they point to
	// encrypted is the set of encrypted parts, keyed by zip.PartName.
	encrypted map[string]bool
}

// item is a part listed in the package document.
type item struct {
	part, mediaType string
	nav             bool // it is an EPUB 3 table of contents
	extra           bool // it is outside the reading order, like notes, answers and advertisements
}

// heading is an entry in the table of contents.
type heading struct {
	text  string
	level int
}

// read reads a book. A chapter that doesn't start with a heading gets one from the table of contents. Parts outside the
// reading order come last.
func read(p *format.Parser) error {
	b := &book{p: p, a: zip.Opened(p), items: map[string]item{}, titles: map[string]heading{}, encrypted: map[string]bool{}}
	p.Doc.Route = "epub"
	if err := b.readLocks(); err != nil {
		return err
	}
	if err := b.readPackage(); err != nil {
		return err
	}
	if len(b.spine) > p.Lim.MaxPages {
		return format.Errorf(format.TooLarge, "the book has %d parts; at most %d can be read", len(b.spine), p.Lim.MaxPages)
	}
	locked := 0
	for _, extra := range []bool{false, true} {
		for _, it := range b.spine {
			if it.extra != extra || it.nav {
				continue
			}
			if b.encrypted[zip.PartName(it.part)] {
				locked++
				continue
			}
			if err := b.chapter(it); err != nil {
				return err
			}
		}
	}
	switch {
	case locked > 0 && p.Out.Letters == 0:
		return format.Errorf(format.Encrypted, "the book is protected against copying (DRM); upload a copy without DRM")
	case locked > 0:
		p.Out.Warn("encrypted parts of the book were skipped")
	}
	return nil
}

// readLocks records which parts are encrypted. Often they are only obfuscated fonts, which aren't read anyway.
func (b *book) readLocks() error {
	return b.a.Walk("META-INF/encryption.xml", func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local == "CipherReference" && len(b.encrypted) < format.MaxZipEntries {
				b.encrypted[zip.PartName(unescape(xmlscan.Attr(e, "URI")))] = true
			}
			return false
		})
	})
}

// readPackage reads the package document: the book's metadata, parts and part order.
func (b *book) readPackage() error {
	root := ""
	err := b.a.Walk(container, func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			if kind := xmlscan.Attr(e, "media-type"); e.Name.Local == "rootfile" && root == "" && (kind == "" || kind == "application/oebps-package+xml") {
				root = xmlscan.Attr(e, "full-path")
			}
			return false
		})
	})
	if err != nil {
		return err
	}
	b.dir = path.Dir(root)
	toc := ""
	err = b.a.Walk(root, func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			switch e.Name.Local {
			case "metadata":
				b.metadata(sc)
				return true
			case "item":
				if len(b.items) == format.MaxZipEntries {
					return false
				}
				it := item{part: resolve(b.dir, xmlscan.Attr(e, "href")), mediaType: xmlscan.Attr(e, "media-type")}
				it.nav = wordset.Of(xmlscan.Attr(e, "properties"))["nav"]
				b.items[xmlscan.Attr(e, "id")] = it
				if it.nav {
					toc = xmlscan.Attr(e, "id")
				}
			case "spine":
				if toc == "" {
					toc = xmlscan.Attr(e, "toc")
				}
			case "itemref":
				it, ok := b.items[xmlscan.Attr(e, "idref")]
				if ok && len(b.spine) <= b.p.Lim.MaxPages {
					it.extra = xmlscan.Attr(e, "linear") == "no"
					b.spine = append(b.spine, it)
				}
			}
			return false
		})
		if sc.Damage != nil {
			b.p.Out.Warn("the book's list of parts is damaged; only the parts before the damage were read")
		}
	})
	switch {
	case err != nil:
		return err
	case len(b.spine) == 0:
		return format.NotA("EPUB book", zip.ErrNoPart)
	}
	return b.readContents(b.items[toc])
}

// metadata reads the current element, which contains the book's metadata.
func (b *book) metadata(sc *xmlscan.Scanner) {
	values := map[string][]string{}
	const maxValues = 20 // maximum number of values per property
	sc.Each(func(e xml.StartElement) bool {
		name := e.Name.Local
		if name == "meta" { // in EPUB 3, or in EPUB 2 with the value in an attribute
			name = xmlscan.Attr(e, "property")
		}
		if text := format.OneLine(sc.Text()); text != "" && len(values[name]) < maxValues {
			values[name] = append(values[name], format.Cut(text, domain.MaxMetaValue))
		}
		return true
	})
	first := func(name string) string { return strings.Join(values[name][:min(1, len(values[name]))], "") }
	b.p.Doc.Title, b.p.Doc.Language = first("title"), first("language")
	b.p.Meta(domain.MetaAuthor, strings.Join(values["creator"], "; "))
	b.p.Meta(domain.MetaCreated, first("date"))
	b.p.Meta(domain.MetaModified, first("dcterms:modified"))
	b.p.Meta(domain.MetaDescription, first("description"))
	b.p.Meta(domain.MetaKeywords, strings.Join(values["subject"], "; "))
}

// readContents reads the table of contents and keeps the first entry for each part. In EPUB 3, the table of contents is
// a page with nested lists. In EPUB 2, it consists of nested navPoint elements.
func (b *book) readContents(toc item) error {
	if toc.part == "" {
		return nil
	}
	dir, level, text := path.Dir(toc.part), 0, ""
	add := func(address string) {
		part := zip.PartName(resolve(dir, address))
		if _, known := b.titles[part]; !known && text != "" && len(b.titles) < format.MaxZipEntries {
			b.titles[part] = heading{text, max(level, 1)}
		}
	}
	return b.a.Walk(toc.part, func(sc *xmlscan.Scanner) {
		var walk func(e xml.StartElement) bool
		walk = func(e xml.StartElement) bool {
			switch e.Name.Local {
			case "nav":
				if kind := xmlscan.Attr(e, "type"); kind != "" && kind != "toc" { // page lists and landmarks
					sc.Skip()
					return true
				}
				return false
			case "ol", "navPoint":
				level++
				sc.Descend(walk)
				level--
				return true
			case "a":
				var words strings.Builder
				sc.Mixed(func(s string) { words.WriteString(s) }, func(xml.StartElement) bool { return false })
				text = format.OneLine(words.String())
				add(xmlscan.Attr(e, "href"))
				return true
			case "text":
				text = format.OneLine(sc.Text())
				return true
			case "content":
				add(xmlscan.Attr(e, "src"))
			case "pageList", "navList":
				sc.Skip()
				return true
			}
			return false
		}
		sc.Descend(walk)
	})
}

// chapter reads one part as HTML.
func (b *book) chapter(it item) error {
	if err := b.p.Ctx.Err(); err != nil {
		return err
	}
	switch it.mediaType {
	case "application/xhtml+xml", format.TypeHTML, "application/x-dtbook+xml", "text/x-oeb1-document", "":
	default:
		return nil // pictures
	}
	data, err := b.a.Read(it.part)
	if err != nil {
		if format.KindOf(err) != "" {
			return err
		}
		b.p.Out.Warn("the part " + format.Cut(path.Base(it.part), 100) + " of the book is missing or damaged")
	}
	text, _ := charset.Decode(data, "")
	title, titled := b.titles[zip.PartName(it.part)]
	chapter := *b.p
	chapter.Doc = &domain.Document{}
	chapter.Src = format.Source{Declared: "application/xhtml+xml", PlainRows: b.p.Src.PlainRows}
	chapter.Out = &format.Sink{Left: b.p.Lim.MaxText, Max: b.p.Lim.MaxText, Emit: func(block domain.Block) error {
		switch {
		case !titled || block.Kind == domain.BlockHeading:
		case strings.EqualFold(block.Text, title.text): // only its style makes this block a heading
			block.Kind, block.Level = domain.BlockHeading, title.level
		default:
			if err := b.p.Out.Heading(title.level, title.text, 0); err != nil {
				return err
			}
		}
		titled = false
		return b.p.Out.Add(block)
	}}
	return chapter.Piece(format.TypeHTML, strings.NewReader(text))
}

// resolve returns the name of the part that a relative URL refers to. `dir` is the folder of the document that contains
// the URL.
func resolve(dir, address string) string {
	address, _, _ = strings.Cut(address, "#")
	return strings.TrimPrefix(path.Clean("/"+path.Join(dir, unescape(address))), "/")
}

// unescape decodes the percent escapes in a URL. It returns malformed URLs unchanged.
func unescape(address string) string {
	if plain, err := url.PathUnescape(address); err == nil {
		return plain
	}
	return address
}
