package extract

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice/sluice/pkg/extract/format"
)

func NewTestExtractor(t *testing.T, o Options) *Extractor {
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

// NeverRead is a document that has a child of the tests stand still.
func NeverRead() Request {
	return Request{Reader: strings.NewReader(MisbehavePrefix + "wait"), Name: "slow.txt"}
}

func MustExtract(t *testing.T, x *Extractor, text string) {
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
	x := NewTestExtractor(t, Options{Concurrency: 2})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			text := fmt.Sprintf("# Part %d\n\nThe answer is %d.", i, i*i)
			doc, err := x.Extract(t.Context(), Request{Reader: strings.NewReader(text), Name: "a.md"})
			if err != nil {
				t.Errorf("Extract: %v", err)
				return
			}
			if len(doc.Blocks) != 2 || doc.Blocks[1].Text != fmt.Sprintf("The answer is %d.", i*i) || doc.MIMEType != format.TypeMarkdown {
				t.Errorf("document = %+v", doc)
			}
		})
	}
	wg.Wait()
	if n := len(x.Idle); n < 1 || n > 2 {
		t.Errorf("%d children are idle, want 1 or 2", n)
	}
}

func TestASlowDocumentFailsAlone(t *testing.T) {
	t.Parallel()
	x := NewTestExtractor(t, Options{Concurrency: 1, Timeout: 4 * time.Second})
	MustExtract(t, x, "a first document")
	slow := New(Options{Concurrency: 1, Timeout: 10 * time.Millisecond, Log: x.opts.Log})
	defer slow.Close()
	_, err := slow.Extract(t.Context(), NeverRead())
	if format.KindOf(err) != format.Resources || !strings.Contains(err.Error(), "longer than 0.03 seconds") {
		t.Fatalf("error = %v, want Resources that names the limit", err)
	}
	if len(slow.Idle) != 0 {
		t.Error("the child that was too slow is used again")
	}
	MustExtract(t, x, "another document")
}

func TestAChildThatDiedWhileIdleIsReplaced(t *testing.T) {
	t.Parallel()
	x := NewTestExtractor(t, Options{Concurrency: 1})
	MustExtract(t, x, "a first document")
	dead := x.Idle[0].Worker
	if err := dead.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(dead.Out); err != nil { // ends when the process has
		t.Fatal(err)
	}
	MustExtract(t, x, "the next document is read")
}

func TestChildrenIgnoreSignalsOfTheProcessGroup(t *testing.T) {
	t.Parallel()
	x := NewTestExtractor(t, Options{Concurrency: 1})
	MustExtract(t, x, "a first document")
	child := x.Idle[0].Worker
	for _, s := range []os.Signal{os.Interrupt, unix.SIGTERM, unix.SIGHUP} {
		if err := child.Process().Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	MustExtract(t, x, "the next document is read")
	if x.Idle[0].Worker != child {
		t.Error("the child ended and another took its place")
	}
}

func TestChildrenAreRecycledAndRetired(t *testing.T) {
	t.Parallel()
	x := NewTestExtractor(t, Options{Concurrency: 1, Recycle: 2})
	MustExtract(t, x, "one")
	child := x.Idle[0]
	MustExtract(t, x, "two")
	if len(x.Idle) != 0 || !child.Dead {
		t.Error("a child reads more documents than it should")
	}
	MustExtract(t, x, "three")
	child = x.Idle[0]
	x.retire(child)
	if len(x.Idle) != 0 || !child.Dead {
		t.Error("an idle child was not stopped")
	}
	if _, err := os.Stat(child.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the child's temporary files remain: %v", err)
	}
}
