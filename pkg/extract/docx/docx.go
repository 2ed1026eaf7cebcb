// Package docx reads Word documents.
package docx

import (
	"strings"

	"github.com/nguyenthenguyen/docx"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
	"github.com/sluice/sluice/pkg/extract/zip"
)

const defaultDocxPart = "word/document.xml"

type reader struct {
	p         *format.Parser
	a         *ooxml.Package
	styles    styles
	numbering *numbering
	notes     *notes
	seen      map[string]bool // names of parts already read, and texts of headers and footers already emitted
	nesting   int             // nesting depth of embedded documents
	titles    int             // number of body paragraphs styled as titles
	title     string          // text of the first such paragraph
}

// Format describes Word documents.
var Format = ooxml.NewFormat(format.Format{
	Type: ooxml.TypeDocx, Extensions: []string{".docx", ".docm", ".dotx"},
	Name: "a docx document", Label: "Word (docx)", TitleFromHeading: true, Read: read,
})

// read reads a Word document. Footnotes, endnotes and comments follow the paragraphs that refer to them. A header or
// footer shared by several sections is read once. Tracked changes are treated as accepted.
func read(p *format.Parser) error {
	a := ooxml.PackageOf(p)
	a.Properties()
	return docxParts(p, a, p.Out.Add, 0)
}

// docxParts reads the Word document in the archive `a`, which is either the whole file or a document embedded in it.
func docxParts(p *format.Parser, a *ooxml.Package, emit func(domain.Block) error, nesting int) error {
	main := a.MainPart(defaultDocxPart)
	rels := a.Relations(main)
	r := &reader{p: p, a: a, seen: map[string]bool{}, notes: newDocxNotes(p.Lim.MaxText), nesting: nesting}
	var err error
	if r.styles, err = readStyles(a, a.Related(rels, "styles", "word/styles.xml")); err != nil {
		return err
	}
	if r.numbering, err = readNumbering(a, a.Related(rels, "numbering", "word/numbering.xml"), r.styles); err != nil {
		return err
	}
	if err := r.readNotes(rels); err != nil {
		return err
	}
	if err := r.headersAndFooters(rels, "header", emit); err != nil {
		return err
	}
	if err := r.body(main, rels, emit); err != nil {
		return err
	}
	a.EmbedsRest(rels)
	if nesting == 0 && r.titles == 1 && p.Doc.Title == "" {
		p.Doc.Title = r.title
	}
	if err := r.notes.emit(r.notes.order, emit); err != nil { // notes no paragraph refers to
		return err
	}
	return r.headersAndFooters(rels, "footer", emit)
}

// body reads the body with the docx library if possible. The library only opens files that have relationships and keep
// the body in the usual part. For other files, the body method reads the XML itself.
func (r *reader) body(main string, rels []ooxml.Relation, emit func(domain.Block) error) error {
	w := &walker{r: r, rels: ooxml.ByID(rels), emit: emit, main: r.nesting == 0}
	if r.nesting == 0 && fitsLibrary(r.a, main) {
		if d, err := docx.ReadDocxFromMemory(r.p.Src.Data, r.p.Src.Size); err == nil {
			defer d.Close()
			if content := d.Editable().GetContent(); content != "" {
				r.p.Doc.Route = "docx/library"
				return r.a.Scan(xmlscan.New(r.p.Ctx, strings.NewReader(content)), w.part)
			}
		}
	}
	if r.nesting == 0 {
		r.p.Doc.Route = "docx/zip"
	}
	if r.a.Files[zip.PartName(main)] == nil {
		return format.NotA("docx document", zip.ErrNoPart)
	}
	return r.a.Walk(main, w.part)
}

// fitsLibrary reports whether the docx library can read the container safely. The library finds the body only by its
// usual name, and unpacks some parts completely, so their total size must be at most maxLibraryBytes.
func fitsLibrary(a *ooxml.Package, main string) bool {
	if main != defaultDocxPart || a.HasDuplicates {
		return false
	}
	var total uint64
	for name, f := range a.Files {
		if name == main || strings.Contains(name, "header") || strings.Contains(name, "footer") || strings.HasSuffix(name, "document.xml.rels") {
			total += f.UncompressedSize64
		}
	}
	return total <= maxLibraryBytes
}

// maxLibraryBytes is the maximum unpacked size, in bytes, of a document read with the docx library. Larger
// documents are read as a stream.
const maxLibraryBytes = 64 << 20

// headersAndFooters reads the headers or the footers, depending on `kind`, without page numbers. If several of them
// contain the same text, it is read once.
func (r *reader) headersAndFooters(rels []ooxml.Relation, kind string, emit func(domain.Block) error) error {
	for _, rel := range rels {
		if rel.Kind() != kind || rel.External || r.seen[rel.Target] {
			continue
		}
		r.seen[rel.Target] = true
		w := &walker{r: r, rels: ooxml.ByID(r.a.Relations(rel.Target)), inHeaderOrFooter: true}
		w.emit = func(b domain.Block) error {
			if r.seen["text "+b.Text] || format.CountLetters(b.Text) < 2 {
				return nil
			}
			r.seen["text "+b.Text] = true
			if b.Kind == domain.BlockHeading { // as a heading, it would also apply to the blocks that follow
				b.Kind, b.Level = domain.BlockParagraph, 0
			}
			return emit(b)
		}
		if err := r.a.Walk(rel.Target, w.part); err != nil {
			return err
		}
	}
	return nil
}
