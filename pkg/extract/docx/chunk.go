package docx

import (
	"bytes"
	"errors"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/zip"
)

// maxChunkNesting is the maximum nesting depth of embedded documents.
const maxChunkNesting = 2

// chunk reads a document that is embedded between the paragraphs of the current one: a web page, plain text, or another
// docx. `id` identifies the relationship to the embedded document.
func (w *walker) chunk(id string) {
	rel, ok := w.rels[id]
	if !ok || rel.External || w.r.nesting >= maxChunkNesting || w.r.seen[rel.Target] {
		return
	}
	w.r.seen[rel.Target] = true
	data, err := w.r.a.Read(rel.Target)
	var refused *format.Error
	if errors.As(err, &refused) {
		w.sc.Stop(err)
		return
	}
	if len(data) == 0 {
		return
	}
	w.flush()
	p := *w.r.p
	p.Doc = &domain.Document{} // discarded, so that the chunk cannot set the title
	p.Out = &format.Sink{Emit: w.emit, Left: p.Lim.MaxText, Max: p.Lim.MaxText}
	p.Src = format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), PlainRows: p.Src.PlainRows}
	err = w.embedded(&p, data, rel.Target)
	for _, warning := range p.Out.Warnings {
		w.r.p.Out.Warn(warning)
	}
	if errors.As(err, &refused) && refused.Kind != format.TooLarge {
		w.r.p.Out.Warn("an embedded document could not be read: " + refused.Message)
		return
	}
	w.sc.Stop(err)
}

func (w *walker) embedded(p *format.Parser, data []byte, name string) error {
	switch kind := p.Formats.Detect(data[:min(len(data), 4096)], name, ""); kind {
	case format.TypeHTML:
		return p.ReadAs(format.TypeHTML)
	case format.TypeText, format.TypeMarkdown, format.TypeCSV:
		return p.ReadAs(format.TypeText)
	case format.TypeMail, format.TypeMHTML: // a web page with its pictures, as Word saves it
		return p.ReadAs(format.TypeMHTML)
	case ooxml.TypeDocx, format.TypeZip:
		if ooxml.FlatType(data) != "" {
			if err := ooxml.Unflatten(p); err != nil {
				return err
			}
		}
		p.Lim.MaxUnpacked = w.r.a.Left // the remainder of the outer document's budget
		a, err := zip.Open(p, "docx document")
		if err != nil {
			return err
		}
		err = docxParts(p, ooxml.NewPackage(a), w.emit, w.r.nesting+1)
		w.r.a.Left = a.Left
		return err
	default:
		return p.Formats.Unsupported(kind)
	}
}
