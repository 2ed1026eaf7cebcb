package extract

import (
	"strings"

	"github.com/nguyenthenguyen/docx"

	"github.com/sluice/sluice/pkg/domain"
)

const defaultDocxPart = "word/document.xml"

// docxReader reads the parts of one Word document.
type docxReader struct {
	p         *parser
	a         *officePackage
	styles    docxStyles
	numbering *docxNumbering
	notes     *docxNotes
	once      map[string]bool // parts that were read, and what headers and footers said
	nesting   int             // of documents inside documents
	titles    int             // body paragraphs with a title style
	title     string          // the first of these
}

// docxFormat is the format of Word documents.
var docxFormat = officeFormat(Format{
	Type: TypeDocx, Extensions: []string{".docx", ".docm", ".dotx"},
	Name: "a docx document", Label: "Word (docx)", TitleFromHeading: true, Read: readDocx,
})

// readDocx reads Word documents: the body, with foot- and endnotes and comments after the paragraphs that refer to them; headers
// and footers once each, whatever the number of sections. Tracked changes are read as if accepted.
func readDocx(p *parser) error {
	a := packageOf(p)
	a.properties()
	return p.docxParts(a, p.out.add, 0)
}

// docxParts reads the document in an archive: that of the file, or one that is embedded in it as a chunk.
func (p *parser) docxParts(a *officePackage, emit func(domain.Block) error, nesting int) error {
	main := a.mainPart(defaultDocxPart)
	rels := a.relations(main)
	r := &docxReader{p: p, a: a, once: map[string]bool{}, notes: newDocxNotes(p.lim.MaxText), nesting: nesting}
	var err error
	if r.styles, err = readStyles(a, a.related(rels, "styles", "word/styles.xml")); err != nil {
		return err
	}
	if r.numbering, err = readNumbering(a, a.related(rels, "numbering", "word/numbering.xml"), r.styles); err != nil {
		return err
	}
	if err := r.readNotes(rels); err != nil {
		return err
	}
	if err := r.furniture(rels, "header", emit); err != nil {
		return err
	}
	if err := r.body(main, rels, emit); err != nil {
		return err
	}
	a.embedsRest(rels)
	if nesting == 0 && r.titles == 1 && p.doc.Title == "" {
		p.doc.Title = r.title
	}
	if err := r.notes.tell(r.notes.order, emit); err != nil { // those that nothing refers to
		return err
	}
	return r.furniture(rels, "footer", emit)
}

// body takes the body's XML through the docx library, and from the container itself where the library cannot open
// the file: it insists on relationships and on the usual part name.
func (r *docxReader) body(main string, rels []relation, emit func(domain.Block) error) error {
	w := &docxWalker{r: r, rels: byID(rels), emit: emit, main: r.nesting == 0}
	if r.nesting == 0 && r.a.fitsLibrary(main) {
		if d, err := docx.ReadDocxFromMemory(r.p.src.Data, r.p.src.Size); err == nil {
			defer d.Close()
			if content := d.Editable().GetContent(); content != "" {
				r.p.doc.Route = "docx/library"
				return r.a.scan(newXMLScanner(r.p.ctx, strings.NewReader(content)), w.part)
			}
		}
	}
	if r.nesting == 0 {
		r.p.doc.Route = "docx/zip"
	}
	if r.a.files[partName(main)] == nil {
		return damaged("docx document", errNoPart)
	}
	return r.a.walk(main, w.part)
}

// fitsLibrary reports whether the library may read the container: it unpacks the parts below as a whole, without
// limits, and knows the body by its usual name alone.
func (a *officePackage) fitsLibrary(main string) bool {
	if main != defaultDocxPart || a.twice {
		return false
	}
	var total uint64
	for name, f := range a.files {
		if name == main || strings.Contains(name, "header") || strings.Contains(name, "footer") || strings.HasSuffix(name, "document.xml.rels") {
			total += f.UncompressedSize64
		}
	}
	return total <= maxLibraryBytes
}

// maxLibraryBytes is the most that the library may unpack at once. Larger documents are read as a stream.
const maxLibraryBytes = 64 << 20

// furniture reads headers or footers. Those that say the same are read once; page numbers are left out.
func (r *docxReader) furniture(rels []relation, kind string, emit func(domain.Block) error) error {
	for _, rel := range rels {
		if rel.kind() != kind || rel.External || r.once[rel.Target] {
			continue
		}
		r.once[rel.Target] = true
		w := &docxWalker{r: r, rels: byID(r.a.relations(rel.Target)), furniture: true}
		w.emit = func(b domain.Block) error {
			if r.once["text "+b.Text] || countLetters(b.Text) < 2 {
				return nil
			}
			r.once["text "+b.Text] = true
			if b.Kind == domain.BlockHeading { // what follows does not stand under it
				b.Kind, b.Level = domain.BlockParagraph, 0
			}
			return emit(b)
		}
		if err := r.a.walk(rel.Target, w.part); err != nil {
			return err
		}
	}
	return nil
}
