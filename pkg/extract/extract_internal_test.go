package extract

import (
	"cmp"
	"context"
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
	"github.com/sluice/sluice/pkg/extract/tesseract"
)

func NewTestExtractor(t *testing.T, o Options) *Extractor {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	if o.CacheDir == "" {
		o.CacheDir = t.TempDir()
	}
	o.Tesseract = cmp.Or(o.Tesseract, tesseract.Off) // makes results independent of the machine
	x := New(o)
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return x
}

// NeverRead returns a request for a document that makes the child wait forever, so that reading it never finishes.
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
	if _, err := io.ReadAll(dead.Out); err != nil { // returns once the process has exited
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
	if len(x.Idle) != 0 || !child.HasExited {
		t.Error("a child reads more documents than it should")
	}
	MustExtract(t, x, "three")
	child = x.Idle[0]
	x.retire(child)
	if len(x.Idle) != 0 || !child.HasExited {
		t.Error("an idle child was not stopped")
	}
	if _, err := os.Stat(child.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the child's temporary files remain: %v", err)
	}
}

func TestSmallFilesGetLittleTime(t *testing.T) {
	t.Parallel()
	o := Options{Timeout: 2 * time.Minute}
	for size, want := range map[int64]time.Duration{
		0: 15 * time.Second, 3 << 10: 15153 * time.Millisecond, 1 << 20: 67500 * time.Millisecond, 2 << 20: 2 * time.Minute, 200 << 20: 2 * time.Minute,
	} {
		if got := o.cpuLimit(size); got != want {
			t.Errorf("%d bytes may take %v, want %v", size, got, want)
		}
	}
	if got := (Options{Timeout: time.Second}).cpuLimit(0); got != time.Second {
		t.Errorf("with a limit of a second, a small file may take %v", got)
	}
}

// TestSimpleFilesNeedNoChild reads plain text and a small CSV file while all children are busy.
func TestSimpleFilesNeedNoChild(t *testing.T) {
	t.Parallel()
	x := NewTestExtractor(t, Options{Concurrency: 2, Direct: 1000})
	for _, workspace := range []string{"one", "another"} { // the second gets the child reserved for other workspaces
		slot, ok := x.slots.Enter(t.Context(), workspace)
		if !ok {
			t.Fatal("no child is free")
		}
		defer slot.Leave()
	}
	for name, content := range map[string]string{"note.txt": "The answer.", "table.csv": "name,answer\nall,42\n"} {
		doc, err := x.Extract(t.Context(), Request{Name: name, Reader: strings.NewReader(content)})
		if err != nil || len(doc.Blocks) == 0 {
			t.Errorf("%s: %+v, %v", name, doc, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, content := range map[string]string{"page.html": "<p>The answer.", "long.txt": strings.Repeat("The answer. ", 100)} {
		if _, err := x.Extract(ctx, Request{Name: name, Reader: strings.NewReader(content)}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s did not wait for a child: %v", name, err)
		}
	}
}

// TestAChildIsKeptForOtherWorkspaces has one workspace use all the children that it is allowed to use. That workspace's
// next document must wait, but another workspace's document must be read.
func TestAChildIsKeptForOtherWorkspaces(t *testing.T) {
	t.Parallel()
	x := NewTestExtractor(t, Options{Concurrency: 3})
	for range 2 {
		if _, ok := x.slots.Enter(t.Context(), "many"); !ok {
			t.Fatal("no child is free")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Extract(ctx, Request{Workspace: "many", Reader: strings.NewReader("# One more")}); !errors.Is(err, context.Canceled) {
		t.Errorf("one more document was read: %v", err)
	}
	if _, err := x.Extract(t.Context(), Request{Workspace: "few", Name: "a.md", Reader: strings.NewReader("# The answer")}); err != nil {
		t.Error(err)
	}
}
