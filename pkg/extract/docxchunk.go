package extract

import (
	"bytes"
	"errors"

	"github.com/sluice/sluice/pkg/domain"
)

// maxChunkNesting is how many documents may stand one inside another.
const maxChunkNesting = 2

// chunk reads a document that is embedded whole in the place of paragraphs: a page, plain text, or another docx.
func (w *docxWalker) chunk(id string) {
	rel, ok := w.rels[id]
	if !ok || rel.External || w.r.nesting >= maxChunkNesting || w.r.once[rel.Target] {
		return
	}
	w.r.once[rel.Target] = true
	data, err := w.r.a.read(rel.Target)
	var refused *Error
	if errors.As(err, &refused) {
		w.sc.stop(err)
		return
	}
	if len(data) == 0 {
		return
	}
	w.flush()
	p := *w.r.p
	p.doc = &domain.Document{} // it gives the document no title of its own
	p.out = &sink{emit: w.emit, left: p.lim.MaxText, max: p.lim.MaxText}
	p.src = Source{Data: bytes.NewReader(data), Size: int64(len(data)), PlainRows: p.src.PlainRows}
	err = w.embedded(&p, data, rel.Target)
	for _, warning := range p.out.warnings {
		w.r.p.out.warn(warning)
	}
	if errors.As(err, &refused) && refused.Kind != TooLarge {
		w.r.p.out.warn("a document embedded in this one could not be read: " + refused.Message)
		return
	}
	w.sc.stop(err)
}

func (w *docxWalker) embedded(p *parser, data []byte, name string) error {
	switch kind := p.formats.Detect(data[:min(len(data), 4096)], name, ""); kind {
	case TypeHTML:
		return p.readAs(TypeHTML)
	case TypeText, TypeMarkdown, TypeCSV:
		return p.readAs(TypeText)
	case TypeMail, TypeMHTML: // a page with its pictures, as Word puts it together
		return p.readAs(TypeMHTML)
	case TypeDocx, TypeZip:
		if flatOPCType(data) != "" {
			if err := p.unflatten(); err != nil {
				return err
			}
		}
		p.lim.MaxUnpacked = w.r.a.left // what the outer document has not used
		a, err := openArchive(p, "docx document")
		if err != nil {
			return err
		}
		err = p.docxParts(newPackage(a), w.emit, w.r.nesting+1)
		w.r.a.left = a.left
		return err
	default:
		return p.formats.unsupported(kind)
	}
}
