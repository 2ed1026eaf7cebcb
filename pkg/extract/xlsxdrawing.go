package extract

import (
	"encoding/xml"

	"github.com/sluice/sluice/pkg/domain"
)

// drawings emits what stands in text boxes and titles of charts upon a sheet, in the order in which they were drawn. name
// is called before the first.
func (w *workbook) drawings(s sheetRef, name func() error) error {
	emit := func(b domain.Block) error {
		if err := name(); err != nil {
			return err
		}
		b.Sheet = s.name
		return w.p.out.add(b)
	}
	for _, rel := range w.a.relations(s.part) {
		if rel.kind() != "drawing" || rel.External {
			continue
		}
		if err := w.drawing(rel.Target, emit); err != nil {
			return err
		}
	}
	return nil
}

func (w *workbook) drawing(part string, emit func(domain.Block) error) error {
	rels := byID(w.a.relations(part))
	return w.a.walk(part, func(sc *xmlScanner) {
		sc.descend(func(e xml.StartElement) bool {
			switch e.Name.Local {
			case "txBody":
				sc.each(func(e xml.StartElement) bool {
					if e.Name.Local != "p" {
						return false
					}
					p := readDrawnParagraph(sc, rels)
					sc.stop(emit(domain.Block{Kind: domain.BlockParagraph, Text: p.text, Links: p.links}))
					return true
				})
				return true
			case "chart":
				rel, ok := rels[relationID(e, "id")]
				if !ok || rel.External {
					return false
				}
				// What it draws stands in the cells of some sheet, names of axes included; its title stands nowhere else.
				titled := false
				title := func(b domain.Block) error {
					if titled || b.Kind != domain.BlockParagraph {
						return nil
					}
					titled = true
					return emit(b)
				}
				sc.stop(w.a.walk(rel.Target, func(chart *xmlScanner) { chart.stop(w.a.chart(chart, 0, title)) }))
				sc.skip()
				return true
			case "Fallback":
				sc.skip()
				return true
			}
			return false
		})
	})
}
