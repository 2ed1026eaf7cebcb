package pdf

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// TestPDFium reads the sample PDF with PDFium, which must find the same words as pdftext.
func TestPDFium(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiling PDFium takes seconds")
	}
	data, err := os.ReadFile(filepath.Join(extracttest.Documents, "aurora-x2-manual.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	p := &format.Parser{Ctx: context.Background(), Doc: &domain.Document{}, Lim: format.Limits{CacheDir: extracttest.Compiled}.WithDefaults()}
	r, err := openPDFium(p, data)
	if err != nil {
		t.Fatalf("openPDFium: %v", err)
	}
	defer r.close()
	wants := []string{"warranty of 7 years", "duplex steel 1.4462"}
	if r.pages != len(wants) || r.title != "Aurora X2 Product Manual" {
		t.Fatalf("pages = %d, title = %q", r.pages, r.title)
	}
	own, err := pdftext.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for i, want := range wants {
		read, err := r.page(t.Context(), i, nil)
		if err != nil {
			t.Fatalf("page %d: %v", i, err)
		}
		ownPage, err := own.Page(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		var got, other []string
		for _, l := range read.lines {
			got = append(got, fmt.Sprintf("%g %v %d %s", l.Size, l.Bold, l.Turn, l.Text()))
		}
		for _, l := range ownPage.Lines {
			other = append(other, fmt.Sprintf("%g %v %d %s", l.Size, l.Bold, l.Turn, l.Text()))
		}
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("page %d has no %q: %q", i, want, got)
		}
		if diff := cmp.Diff(other, got); diff != "" {
			t.Errorf("PDFium's page %d has other lines than our own (-own +PDFium):\n%s", i, diff)
		}
		if read.known == 0 || read.known > read.chars {
			t.Errorf("PDFium knows %d of %d characters of page %d", read.known, read.chars, i)
		}
		if r.calls <= calls {
			t.Errorf("page %d is not counted: %d calls after %d", i, r.calls, calls)
		}
		calls = r.calls
	}
}
