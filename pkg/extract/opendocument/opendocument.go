// Package opendocument reads the OpenDocument formats used by LibreOffice and other programs: text, spreadsheets and
// presentations, packed in a zip file or as a single XML file.
package opendocument

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

// typePrefix starts every OpenDocument format's MIME type.
const typePrefix = "application/vnd.oasis.opendocument."

// Text describes OpenDocument text.
var Text = newFormat("text", "odt", (*reader).text, format.Format{
	Extensions: []string{".odt", ".ott", ".fodt"}, Name: "an OpenDocument text", Label: "OpenDocument text (odt)", TitleFromHeading: true,
})

// Spreadsheet describes OpenDocument spreadsheets.
var Spreadsheet = newFormat("spreadsheet", "ods", (*reader).spreadsheet, format.Format{
	Extensions: []string{".ods", ".ots", ".fods"}, Name: "an OpenDocument spreadsheet", Label: "spreadsheet (ods)",
})

// Presentation describes OpenDocument presentations.
var Presentation = newFormat("presentation", "odp", (*reader).presentation, format.Format{
	Extensions: []string{".odp", ".otp", ".fodp"}, Name: "an OpenDocument presentation", Label: "presentation (odp)",
})

// newFormat fills in what all OpenDocument formats share. `body` reads a document's body.
func newFormat(kind, route string, body func(*reader, *xmlscan.Scanner), f format.Format) format.Format {
	mimeType := typePrefix + kind
	f.Type, f.Aliases, f.Packed = mimeType, []string{mimeType + "-template", mimeType + "-flat-xml"}, true
	f.Sniff = func(head []byte, _ string) bool { return bytes.Contains(head, []byte("mimetype"+mimeType)) }
	f.Inside = func(p *format.Parser) string {
		if declared, err := zip.Opened(p).Read("mimetype"); err == nil && strings.HasPrefix(strings.TrimSpace(string(declared)), mimeType) {
			return mimeType
		}
		return ""
	}
	f.Flat = func(head []byte) bool { return flatType(head) == mimeType }
	f.Read = func(p *format.Parser) error { return read(p, route, body) }
	f.ReadFlat = func(p *format.Parser) error { return readFlat(p, route, body) }
	return f
}

// flatType returns the type of a document in a single XML file, or "" for other files. If the first bytes don't reveal
// the type, it assumes text.
func flatType(head []byte) string {
	s := format.PageStart(head)
	if !bytes.HasPrefix(s, []byte("<?xml")) && !bytes.HasPrefix(s, []byte("<office:document ")) || !bytes.Contains(head, []byte("<office:document ")) {
		return ""
	}
	for _, kind := range []string{"text", "spreadsheet", "presentation"} {
		if bytes.Contains(head, []byte(`"`+typePrefix+kind)) {
			return typePrefix + kind
		}
	}
	if bytes.Contains(head, []byte("office:mimetype=")) {
		return ""
	}
	return typePrefix + "text"
}

type reader struct {
	p      *format.Parser
	styles map[string]style
	lists  map[string]listStyle
	titles int // number of paragraphs in the Title style
	title  string
	body   func(*reader, *xmlscan.Scanner)

	pictures      *zip.Archive   // container of the pictures whose text is read; nil if there is none
	tablePictures []domain.Block // text of the pictures in the open tables
}

// read reads a packed document: metadata, then styles, then the body. It skips headers and footers, which are stored
// with the styles.
func read(p *format.Parser, route string, body func(*reader, *xmlscan.Scanner)) error {
	a, r := zip.Opened(p), newReader(p, body)
	p.Doc.Route = route
	if p.Doc.MIMEType != typePrefix+"spreadsheet" {
		r.pictures = a
	}
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

// readFlat reads a document that is a single XML file.
func readFlat(p *format.Parser, route string, body func(*reader, *xmlscan.Scanner)) error {
	data, err := p.Src.Bytes()
	if err != nil {
		return err
	}
	p.Doc.Route = route + "/flat"
	text, _ := charset.Decode(data, "")
	r, sc := newReader(p, body), xmlscan.New(p.Ctx, strings.NewReader(text))
	r.document(sc)
	r.finish()
	return sc.Err
}

func newReader(p *format.Parser, body func(*reader, *xmlscan.Scanner)) *reader {
	return &reader{p: p, body: body, styles: map[string]style{}, lists: map[string]listStyle{}}
}

// finish sets a missing document title to the text of the paragraph with the Title style, if there is exactly one.
func (r *reader) finish() {
	if r.p.Doc.Title == "" && r.titles == 1 {
		r.p.Doc.Title = r.title
	}
}

// document reads the metadata, styles and body in one XML file. A packed document has a separate file for each of
// these; a flat document has all of them in one file.
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
			r.body(r, sc)
		default: // scripts, fonts, master pages with headers and footers
			return false
		}
		return true
	})
	if sc.Damage != nil {
		r.p.Out.Warn("the document is damaged; only the text before the damage was read")
	}
}

// text reads the body of a text document.
func (r *reader) text(sc *xmlscan.Scanner) {
	w := &walker{r: r, sc: sc, emit: r.p.Out.Add}
	sc.Descend(w.element)
}

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
