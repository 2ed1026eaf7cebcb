package pdf_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
)

// BenchmarkPDFPages measures how many pages of ordinary text are read per second.
func BenchmarkPDFPages(b *testing.B) {
	const pages = 200
	data := extracttest.BookPDF(pages)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, err := extract.Stream(b.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "book.pdf"}, format.Limits{},
			func(block domain.Block) error { _, err := io.WriteString(io.Discard, block.Text); return err })
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(pages*b.N)/b.Elapsed().Seconds(), "pages/s")
}
