//go:build linux

package extract_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestADocumentWithTooMuchMemoryFailsAlone(t *testing.T) {
	t.Parallel()
	x := extract.NewTestExtractor(t, extract.Options{Concurrency: 1, MaxMemory: 192 << 20})
	page := "<html><body>" + strings.Repeat("<p>x</p>", 1_500_000)
	_, err := x.Extract(t.Context(), extract.Request{Reader: strings.NewReader(page), Name: "big.html"})
	if format.KindOf(err) != format.Resources || !strings.Contains(err.Error(), "more than 192 MiB of memory") {
		t.Fatalf("error = %.300v, want Resources that names the limit", err)
	}
	extract.MustExtract(t, x, "the next document is read")
}

func TestExtractEndsWithItsContext(t *testing.T) {
	t.Parallel()
	x := extract.NewTestExtractor(t, extract.Options{Concurrency: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := x.Extract(ctx, extract.NeverRead())
	if !errors.Is(err, context.DeadlineExceeded) || format.KindOf(err) != "" {
		t.Errorf("error = %v, want the context's and no fault of the document", err)
	}
}

func TestCloseEndsDocumentsThatAreBeingRead(t *testing.T) {
	t.Parallel()
	x := extract.NewTestExtractor(t, extract.Options{Concurrency: 1})
	document, w := io.Pipe()
	result := make(chan error, 1)
	go func() {
		// The document is a pipe. The test's write to the pipe returns only once the document is being read.
		_, err := x.Extract(context.Background(), extract.Request{Reader: document, Name: "slow.txt"})
		result <- err
	}()
	if _, err := io.WriteString(w, extract.MisbehavePrefix+"wait"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := <-result; err == nil {
		t.Error("Extract succeeded after Close")
	}
	if _, err := x.Extract(t.Context(), extract.Request{Reader: strings.NewReader("late"), Name: "a.txt"}); err == nil {
		t.Error("Extract works after Close")
	}
}

// TestPDFsWithoutContentAreRefusedEarly checks that PDFs without content are rejected before PDFium is compiled.
// Compiling would leave code in the cache folder.
func TestPDFsWithoutContentAreRefusedEarly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data, want string
		kind       format.Kind
	}{
		"a trailer alone": {"%PDF-1.4\ntrailer << /Root 1 0 R /Encrypt 2 0 R >>\nstartxref\n999999\n%%EOF\n",
			"the PDF is damaged: it has no pages; export it again, or upload the document in another format", format.Damaged},
		"a header alone": {"%PDF-1.7\n",
			"the PDF is damaged: it has no pages; export it again, or upload the document in another format", format.Damaged},
		"an empty page": {string(extracttest.PDF("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R >>")),
			"the file has no text: its page is empty", format.NoText},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			x := extract.NewTestExtractor(t, extract.Options{Concurrency: 1, CacheDir: cache})
			_, err := x.Extract(t.Context(), extract.Request{Reader: strings.NewReader(tt.data), Name: "a.pdf"})
			var refused *format.Error
			if !errors.As(err, &refused) || refused.Kind != tt.kind || refused.Message != tt.want {
				t.Errorf("error = %v, want kind %q and message %q", err, tt.kind, tt.want)
			}
			if files, err := os.ReadDir(cache); err != nil || len(files) > 0 {
				t.Errorf("PDFium was started: the cache holds %d files, error %v", len(files), err)
			}
		})
	}
}

// TestPDFiumIsReleased reads two files that PDFium cannot open. There is only one PDFium instance. If the first file
// didn't release it, reading the second file would fail after waiting for a minute.
func TestPDFiumIsReleased(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiling PDFium takes seconds")
	}
	data, err := os.ReadFile(filepath.Join(extracttest.Documents, "aurora-x2-manual.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err = readtest.Parse(t, "a.pdf", data[:len(data)/4]); format.KindOf(err) != format.Damaged || strings.Contains(err.Error(), "instance") {
			t.Fatalf("error = %v, want Damaged by PDFium's own words", err)
		}
	}
}

func TestErrorsOfDocumentsReachTheCaller(t *testing.T) {
	t.Parallel()
	x := extract.NewTestExtractor(t, extract.Options{Concurrency: 1, MaxInput: 1000})
	tests := map[string]struct {
		name, data string
		want       format.Kind
	}{
		"a picture has no text":                   {"a.png", "\x89PNG\r\n\x1a\n\x00\x00", format.NoText},
		"a damaged docx is damaged":               {"a.docx", "PK\x03\x04 and then nothing of a zip file", format.Damaged},
		"a file above the input limit is refused": {"a.txt", strings.Repeat("a", 1001), format.TooLarge},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := x.Extract(t.Context(), extract.Request{Reader: strings.NewReader(tt.data), Name: tt.name})
			if format.KindOf(err) != tt.want {
				t.Errorf("error = %v, want kind %q", err, tt.want)
			}
		})
	}
}
