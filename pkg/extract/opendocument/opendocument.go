// Package odt reads OpenDocument text, the format of LibreOffice and other word processors. A document is a zip file or
// a single XML file.
package odt

import (
	"bytes"
	"encoding/xml"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
	"github.com/sluice/sluice/pkg/extract/zip"
)

const mimeType = "application/vnd.oasis.opendocument.text"

// Format describes OpenDocument text.
var Format = format.Format{
	Type: mimeType, Aliases: []string{mimeType + "-template", mimeType + "-flat-xml"}, Extensions: []string{".odt", ".ott", ".fodt"},
	Name: "an OpenDocument text", Label: "OpenDocument text (odt)", Packed: true, TitleFromHeading: true,
	Sniff:  func(head []byte, _ string) bool { return bytes.Contains(head, []byte("mimetype"+mimeType)) },
	Inside: detectType, Read: read, Flat: isFlat, ReadFlat: readFlat,
}

// detectType recognises a text document by its "mimetype" file, where all OpenDocument formats declare their type.
func detectType(p *format.Parser) string {
	if kind, err := zip.Opened(p).Read("mimetype"); err == nil && strings.HasPrefix(strings.TrimSpace(string(kind)), mimeType) {
		return mimeType
	}
	return ""
}

// isFlat reports whether a file is a text document in a single XML file. If the first bytes of an OpenDocument file do
// not reveal its type, it is assumed to be a text document.
func isFlat(head []byte) bool {
	s := format.PageStart(head)
	if !bytes.HasPrefix(s, []byte("<?xml")) && !bytes.HasPrefix(s, []byte("<office:document ")) || !bytes.Contains(head, []byte("<office:document ")) {
		return false
	}
	return bytes.Contains(head, []byte(`"`+mimeType)) || !bytes.Contains(head, []byte("office:mimetype="))
}

// reader reads the parts of one document.
type reader struct {
	p      *format.Parser
	styles map[string]style
	lists  map[string]listStyle
	titles int // number of paragraphs in the Title style
	title  string
}

// read reads a packed text document: first its metadata, then styles, then the body. Headers and footers are stored
// with the styles and are skipped.
func read(p *format.Parser) error {
	a, r := zip.Opened(p), newReader(p)
	p.Doc.Route = "odt"
	locked := false
	if err := a.Walk("META-INF/manifest.xml", func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			locked = locked || e.Name.Local == "encryption-data"
			return false
		})
	}); err != nil {
		return err
	}
	if locked {
		return format.Errorf(format.Encrypted, "the file is password-protected; remove the password and upload the file again")
	}
	for _, part := range []string{"meta.xml", "styles.xml", "content.xml"} {
		if err := a.Walk(part, r.document); err != nil {
			return err
		}
	}
	r.finish()
	return nil
}

// readFlat reads a text document that is a single XML file.
func readFlat(p *format.Parser) error {
	data, err := p.Src.Bytes()
	if err != nil {
		return err
	}
	p.Doc.Route = "odt/flat"
	text, _ := charset.Decode(data, "")
	r, sc := newReader(p), xmlscan.New(p.Ctx, strings.NewReader(text))
	r.document(sc)
	r.finish()
	return sc.Err
}

func newReader(p *format.Parser) *reader {
	return &reader{p: p, styles: map[string]style{}, lists: map[string]listStyle{}}
}

// finish gives a document without a title the text of the paragraph in the Title style, if there is exactly one.
func (r *reader) finish() {
	if r.p.Doc.Title == "" && r.titles == 1 {
		r.p.Doc.Title = r.title
	}
}

// document reads the metadata, the styles and the body in one XML file. A packed document has a separate file for each
// of these; a flat document has all of them in one file.
func (r *reader) document(sc *xmlscan.Scanner) {
	if _, ok := sc.Root(); !ok {
		return
	}
	sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "meta":
			r.meta(sc)
		case "styles", "automatic-styles":
			r.readStyles(sc)
		case "body":
			w := &walker{r: r, sc: sc, emit: r.p.Out.Add}
			sc.Descend(w.element)
		default: // scripts, fonts, master pages with headers and footers
			return false
		}
		return true
	})
	if sc.Damage != nil {
		r.p.Out.Warn("the document is damaged; only the text before the damage was read")
	}
}

// meta reads the metadata of the document.
func (r *reader) meta(sc *xmlscan.Scanner) {
	values := map[string]string{}
	var keywords []string
	sc.Each(func(e xml.StartElement) bool {
		text := format.Cut(format.OneLine(sc.Text()), domain.MaxMetaValue)
		if e.Name.Local == "keyword" && len(keywords) < 20 {
			keywords = append(keywords, text)
		} else if values[e.Name.Local] == "" {
			values[e.Name.Local] = text
		}
		return true
	})
	author := values["initial-creator"]
	if author == "" {
		author = values["creator"]
	}
	r.p.Doc.Title = values["title"]
	if values["language"] != "" {
		r.p.Doc.Language = values["language"]
	}
	r.p.Meta(domain.MetaAuthor, author)
	r.p.Meta(domain.MetaCreated, values["creation-date"])
	r.p.Meta(domain.MetaModified, values["date"])
	r.p.Meta(domain.MetaDescription, values["description"])
	r.p.Meta(domain.MetaKeywords, strings.Join(keywords, "; "))
}
