package extract

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/pdftext"
)

var update = flag.Bool("update", false, "write golden files anew")

// documents is the folder of the sample documents, which stands in the root of the module.
var documents = func() string {
	dir := "."
	for range 10 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Join(dir, "..")
	}
	return filepath.Join(dir, "testdata", "documents")
}()

// render writes a document in a form in which a change of structure shows.
func render(doc *domain.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title: %s\ntype: %s\nlanguage: %s\npages: %d\nroute: %s\n", doc.Title, doc.MIMEType, doc.Language, doc.Pages, doc.Route)
	for _, w := range doc.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for _, bl := range doc.Blocks {
		fmt.Fprintf(&b, "\n[%s", bl.Kind)
		if bl.Level > 0 {
			fmt.Fprintf(&b, " %d", bl.Level)
		}
		if bl.Page > 0 {
			fmt.Fprintf(&b, " page %d", bl.Page)
		}
		if bl.Sheet != "" {
			fmt.Fprintf(&b, " sheet %s", bl.Sheet)
		}
		fmt.Fprintf(&b, "] %s\n", bl.Text)
	}
	return b.String()
}

func parseBytes(t testing.TB, name string, data []byte) (*domain.Document, error) {
	t.Helper()
	return Parse(context.Background(), Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: name}, Limits{CacheDir: compiled})
}

// TestGolden reads the sample document of every format and compares structure and text with golden files.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(documents, "*.*"))
	if err != nil || len(files) < 12 {
		t.Fatalf("found %d sample documents, error %v; make them with go run ./testdata/gen", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := parseBytes(t, filepath.Base(file), data)
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			got := render(doc)
			golden := filepath.Join("testdata", "golden", filepath.Base(file)+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the document is read differently (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPDFium reads the sample PDF by the fallback, which must find the same words.
func TestPDFium(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiling PDFium takes seconds")
	}
	data, err := os.ReadFile(filepath.Join(documents, "aurora-x2-manual.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	p := &parser{ctx: context.Background(), doc: &domain.Document{}, lim: Limits{CacheDir: compiled}.withDefaults()}
	r, err := p.openPDFium(data)
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
