package pdf_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/pdf"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// TestPDFiumIsLeftWhereItIsNoHelp reads books with pages that pdftext cannot decode. PDFium can decode most characters
// on a page with 6 strange lines, but not on a page with 40.
func TestPDFiumIsLeftWhereItIsNoHelp(t *testing.T) {
	t.Parallel()
	pages := func(n, strangeLines int) []int { return slices.Repeat([]int{strangeLines}, n) }
	const warned = ": text may be missing, because some characters are unknown; the fallback reader PDFium was not tried because it could not read them on other pages"
	tests := map[string]struct {
		lines       []int
		route, warn string
	}{
		"for all pages where it knows most of each":     {pages(60, 6), "pdf/pdfium (undecoded)", ""},
		"for all pages of a short file it hardly knows": {pages(pdf.MaxHelpless-1, 40), "pdf/pdfium (undecoded)", ""},
		"not for more than it was no help with":         {pages(60, 40), "pdf/own, pdfium for pages 1 to 31 (undecoded)", "pages 32 to 60"},
		"for none of a long file, which is read twice":  {pages(80, 40), "pdf/own", "pages 1 to 80"},
		"again for pages that it knows":                 {append(pages(40, 40), pages(20, 6)...), "pdf/own, pdfium for pages 1 to 31, 48 to 60 (undecoded)", "pages 32 to 47"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.pdf", extracttest.StrangePDF(tt.lines...))
			if err != nil {
				t.Fatal(err)
			}
			if doc.Route != tt.route {
				t.Errorf("the route is %q, want %q", doc.Route, tt.route)
			}
			warn := ""
			for _, w := range doc.Warnings {
				if pages, found := strings.CutSuffix(w, warned); found {
					warn = pages
				}
			}
			if warn != tt.warn {
				t.Errorf("the warnings %q say that %q were read without PDFium, want %q", doc.Warnings, warn, tt.warn)
			}
			found := 0
			for _, b := range doc.Blocks {
				found += strings.Count(b.Text, "keeps line 11 of what")
			}
			if found != len(tt.lines) {
				t.Errorf("a line of every page is there %d times, want %d", found, len(tt.lines))
			}
		})
	}
}
