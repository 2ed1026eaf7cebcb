package extract_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
)

// TestLocateSamplePDF locates every sentence of the sample PDF, in a child process.
func TestLocateSamplePDF(t *testing.T) {
	t.Parallel()
	path := filepath.Join(extracttest.Documents, "aurora-x2-manual.pdf")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.pdf"}, format.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	x := extract.NewTestExtractor(t, extract.Options{Concurrency: 1})
	var passages []extract.Passage
	for _, b := range doc.Blocks {
		passages = append(passages, extract.Passage{Text: b.Text, Page: b.Page, Spans: [][2]int{{0, len(b.Text)}}})
	}
	found, err := x.Locate(t.Context(), extract.Request{Path: path}, passages)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range doc.Blocks {
		if len(found[i][0]) == 0 || found[i][0][0].Page != b.Page {
			t.Errorf("block %q of page %d has the rectangles %v", b.Text, b.Page, found[i][0])
		}
	}
	if _, err := x.Locate(t.Context(), extract.Request{Path: path}, []extract.Passage{{Text: "a", Page: 1, Spans: [][2]int{{0, 2}}}}); err == nil || !strings.Contains(err.Error(), "within its 1 bytes") {
		t.Errorf("error of a span outside its text = %v", err)
	}
	if _, err := x.Locate(t.Context(), extract.Request{Reader: strings.NewReader("plain text")}, passages); extract.KindOf(err) != extract.Unsupported {
		t.Errorf("error of a file without pages = %v", err)
	}
}
