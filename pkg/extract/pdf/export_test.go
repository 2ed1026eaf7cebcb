package pdf

import (
	"bytes"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfmatch"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// Exported for tests outside the package.
const MaxHelpless = maxFailures

var StartPDFium = startPDFium

// LocateWithPDFium uses PDFium to find a span of a passage on the first page, as in a file that pdftext cannot open.
func LocateWithPDFium(t *testing.T, data []byte, text string, span [2]int) []domain.PageRectangle {
	t.Helper()
	p := &format.Parser{
		Ctx: t.Context(), Src: format.Source{Data: bytes.NewReader(data), Size: int64(len(data))}, Doc: &domain.Document{},
		Lim: format.Limits{CacheDir: extracttest.Compiled}.WithDefaults(),
	}
	s := &source{p: p, data: data, pageCache: map[int]page{}}
	if s.fallback() == nil {
		t.Fatal(s.pdfiumErr)
	}
	defer s.close()
	s.pages = s.pdfium.pages
	l := &locator{source: s, glyphs: map[int][]pdfmatch.Glyph{}, frames: map[int]pdftext.Frame{}}
	found, err := l.locate(format.Passage{Text: text, Page: 1, Spans: [][2]int{span}})
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}
