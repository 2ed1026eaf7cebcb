package xlsx

import (
	"encoding/xml"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// drawings emits a sheet's text boxes and chart titles in drawing order. Before each of them, it calls `name`, which
// writes the sheet's name the first time it is called.
func (w *workbook) drawings(s sheetRef, name func() error) error {
	emit := func(b domain.Block) error {
		if err := name(); err != nil {
			return err
		}
		b.Sheet = s.name
		return w.p.Out.Add(b)
	}
	for _, rel := range w.a.Relations(s.part) {
		if rel.Kind() != "drawing" || rel.External {
			continue
		}
		if err := w.drawing(rel.Target, emit); err != nil {
			return err
		}
	}
	return nil
}

func (w *workbook) drawing(part string, emit func(domain.Block) error) error {
	rels := ooxml.ByID(w.a.Relations(part))
	return w.a.Walk(part, func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			switch e.Name.Local {
			case "txBody":
				sc.Each(func(e xml.StartElement) bool {
					if e.Name.Local != "p" {
						return false
					}
					p := ooxml.ReadDrawnParagraph(sc, rels)
					sc.Stop(emit(domain.Block{Kind: domain.BlockParagraph, Text: p.Text, Links: p.Links}))
					return true
				})
				return true
			case "chart":
				rel, ok := rels[ooxml.RelationID(e, "id")]
				if !ok || rel.External {
					return false
				}
				// The chart's data and axis labels come from cells, which are read anyway. So only the title is read
				// here.
				titled := false
				title := func(b domain.Block) error {
					if titled || b.Kind != domain.BlockParagraph {
						return nil
					}
					titled = true
					return emit(b)
				}
				sc.Stop(w.a.Walk(rel.Target, func(chart *xmlscan.Scanner) { chart.Stop(w.a.Chart(chart, 0, title)) }))
				sc.Skip()
				return true
			case "Fallback":
				sc.Skip()
				return true
			}
			return false
		})
	})
}
