//go:build linux

package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func newTestExtractor(t *testing.T, o Options) *Extractor {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	if o.CacheDir == "" {
		o.CacheDir = t.TempDir()
	}
	x := New(o)
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return x
}

// neverRead is a document that has a child of the tests stand still.
func neverRead() Request {
	return Request{Reader: strings.NewReader(askFor + "wait"), Name: "slow.txt"}
}

func mustExtract(t *testing.T, x *Extractor, text string) {
	t.Helper()
	doc, err := x.Extract(t.Context(), Request{Reader: strings.NewReader(text), Name: "a.txt"})
	if err != nil {
		t.Fatalf("Extract: %v", err)
	}
	if len(doc.Blocks) != 1 || doc.Blocks[0].Text != text {
		t.Fatalf("blocks = %+v, want one with %q", doc.Blocks, text)
	}
}

func TestExtractReadsManyDocumentsInFewChildren(t *testing.T) {
	t.Parallel()
	x := newTestExtractor(t, Options{Concurrency: 2})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			text := fmt.Sprintf("# Part %d\n\nThe answer is %d.", i, i*i)
			doc, err := x.Extract(t.Context(), Request{Reader: strings.NewReader(text), Name: "a.md"})
			if err != nil {
				t.Errorf("Extract: %v", err)
				return
			}
			if len(doc.Blocks) != 2 || doc.Blocks[1].Text != fmt.Sprintf("The answer is %d.", i*i) || doc.MIMEType != TypeMarkdown {
				t.Errorf("document = %+v", doc)
			}
		})
	}
	wg.Wait()
	if n := len(x.idle); n < 1 || n > 2 {
		t.Errorf("%d children are idle, want 1 or 2", n)
	}
}

func TestADocumentThatNeedsTooMuchMemoryCostsOnlyItself(t *testing.T) {
	t.Parallel()
	x := newTestExtractor(t, Options{Concurrency: 1, MaxMemory: 192 << 20})
	page := "<html><body>" + strings.Repeat("<p>x</p>", 1_500_000)
	_, err := x.Extract(t.Context(), Request{Reader: strings.NewReader(page), Name: "big.html"})
	if KindOf(err) != Resources || !strings.Contains(err.Error(), "more than 192 MiB of memory") {
		t.Fatalf("error = %.300v, want Resources that names the limit", err)
	}
	mustExtract(t, x, "the next document is read")
}

func TestADocumentThatTakesTooLongCostsOnlyItself(t *testing.T) {
	t.Parallel()
	x := newTestExtractor(t, Options{Concurrency: 1, Timeout: 4 * time.Second})
	mustExtract(t, x, "a first document")
	slow := New(Options{Concurrency: 1, Timeout: 10 * time.Millisecond, Log: x.opts.Log})
	defer slow.Close()
	_, err := slow.Extract(t.Context(), neverRead())
	if KindOf(err) != Resources || !strings.Contains(err.Error(), "longer than 0.03 seconds") {
		t.Fatalf("error = %v, want Resources that names the limit", err)
	}
	if len(slow.idle) != 0 {
		t.Error("the child that was too slow is used again")
	}
	mustExtract(t, x, "another document")
}

func TestExtractEndsWithItsContext(t *testing.T) {
	t.Parallel()
	x := newTestExtractor(t, Options{Concurrency: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := x.Extract(ctx, neverRead())
	if !errors.Is(err, context.DeadlineExceeded) || KindOf(err) != "" {
		t.Errorf("error = %v, want the context's and no fault of the document", err)
	}
}

func TestCloseEndsDocumentsThatAreBeingRead(t *testing.T) {
	t.Parallel()
	x := newTestExtractor(t, Options{Concurrency: 1})
	document, w := io.Pipe()
	result := make(chan error, 1)
	go func() {
		// The document comes through a pipe, so that the test knows when it is being read.
		_, err := x.Extract(context.Background(), Request{Reader: document, Name: "slow.txt"})
		result <- err
	}()
	if _, err := io.WriteString(w, askFor+"wait"); err != nil {
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
	if _, err := x.Extract(t.Context(), Request{Reader: strings.NewReader("late"), Name: "a.txt"}); err == nil {
		t.Error("Extract works after Close")
	}
}

func TestAChildThatDiedWhileIdleIsReplaced(t *testing.T) {
	t.Parallel()
	x := newTestExtractor(t, Options{Concurrency: 1})
	mustExtract(t, x, "a first document")
	dead := x.idle[0].worker
	if err := dead.process().Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(dead.out); err != nil { // ends when the process has
		t.Fatal(err)
	}
	mustExtract(t, x, "the next document is read")
}

func TestAChildIsNotEndedByASignalMeantForTheWholeGroup(t *testing.T) {
	t.Parallel()
	x := newTestExtractor(t, Options{Concurrency: 1})
	mustExtract(t, x, "a first document")
	child := x.idle[0].worker
	for _, s := range []os.Signal{os.Interrupt, unix.SIGTERM, unix.SIGHUP} {
		if err := child.process().Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	mustExtract(t, x, "the next document is read")
	if x.idle[0].worker != child {
		t.Error("the child ended and another took its place")
	}
}

func TestChildrenAreRecycledAndRetired(t *testing.T) {
	t.Parallel()
	x := newTestExtractor(t, Options{Concurrency: 1, Recycle: 2})
	mustExtract(t, x, "one")
	child := x.idle[0]
	mustExtract(t, x, "two")
	if len(x.idle) != 0 || !child.dead {
		t.Error("a child reads more documents than it should")
	}
	mustExtract(t, x, "three")
	child = x.idle[0]
	x.retire(child)
	if len(x.idle) != 0 || !child.dead {
		t.Error("an idle child was not stopped")
	}
	if _, err := os.Stat(child.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the child's temporary files remain: %v", err)
	}
}

// TestPDFsWithoutContentAreRefusedEarly looks for PDFium in the cache of compiled code, where it would be after seconds.
func TestPDFsWithoutContentAreRefusedEarly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data, want string
		kind       Kind
	}{
		"a trailer alone": {"%PDF-1.4\ntrailer << /Root 1 0 R /Encrypt 2 0 R >>\nstartxref\n999999\n%%EOF\n",
			"the PDF is damaged: there are no pages in it; make it anew, or send the document in another format", Damaged},
		"a header alone": {"%PDF-1.7\n",
			"the PDF is damaged: there are no pages in it; make it anew, or send the document in another format", Damaged},
		"an empty page": {string(pdfOf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R >>")),
			"the file has no text: its page is empty", NoText},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			x := newTestExtractor(t, Options{Concurrency: 1, CacheDir: cache})
			_, err := x.Extract(t.Context(), Request{Reader: strings.NewReader(tt.data), Name: "a.pdf"})
			var refused *Error
			if !errors.As(err, &refused) || refused.Kind != tt.kind || refused.Message != tt.want {
				t.Errorf("error = %v, want kind %q and message %q", err, tt.kind, tt.want)
			}
			if files, err := os.ReadDir(cache); err != nil || len(files) > 0 {
				t.Errorf("PDFium was started: the cache holds %d files, error %v", len(files), err)
			}
		})
	}
}

// TestPDFiumIsGivenBack has one child meet two files that PDFium cannot open: it has one instance of it, and waits a
// minute for one that is not given back.
func TestPDFiumIsGivenBack(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiling PDFium takes seconds")
	}
	data, err := os.ReadFile(filepath.Join(documents, "aurora-x2-manual.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err = parseBytes(t, "a.pdf", data[:len(data)/4]); KindOf(err) != Damaged || strings.Contains(err.Error(), "instance") {
			t.Fatalf("error = %v, want Damaged by PDFium's own words", err)
		}
	}
}

func TestErrorsOfDocumentsReachTheCaller(t *testing.T) {
	t.Parallel()
	x := newTestExtractor(t, Options{Concurrency: 1, MaxInput: 1000})
	tests := map[string]struct {
		name, data string
		want       Kind
	}{
		"a picture is unsupported":                {"a.png", "\x89PNG\r\n\x1a\n\x00\x00", Unsupported},
		"a damaged docx is damaged":               {"a.docx", "PK\x03\x04 and then nothing of a zip file", Damaged},
		"a file above the input limit is refused": {"a.txt", strings.Repeat("a", 1001), TooLarge},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := x.Extract(t.Context(), Request{Reader: strings.NewReader(tt.data), Name: tt.name})
			if KindOf(err) != tt.want {
				t.Errorf("error = %v, want kind %q", err, tt.want)
			}
		})
	}
}
