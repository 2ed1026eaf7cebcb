package pdf_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/pdf"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// FuzzPDF reads mutated files. It covers their structure, the layout, and the choice of reader.
func FuzzPDF(f *testing.F) {
	if testing.Short() {
		f.Skip("compiling PDFium takes seconds")
	}
	// Compile PDFium first, because that takes longer than a single input is allowed to take.
	if _, err := pdf.StartPDFium(extracttest.Compiled); err != nil {
		f.Fatal(err)
	}
	const catalog, font = "<< /Type /Catalog /Pages 2 0 R >>", "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
	readtest.Format(f, ".pdf",
		string(extracttest.PDF(catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /Contents 4 0 R "+font+" >>",
			extracttest.Stream("", "BT /F1 12 Tf 72 700 Td (one) Tj 0 -14 Td [(t) -300 (wo)] TJ ET"))))
}
