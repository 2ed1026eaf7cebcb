package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/sandbox"
	"github.com/sluice/sluice/pkg/extract/tesseract"
)

// clockFactor is the ratio of a document's wall-clock limit to its CPU time limit.
const clockFactor = 3

// Limits for an Extractor that renders pages. They leave room for compiling PDFium, which takes more time and memory
// than rendering and is necessary if the cache folder doesn't contain the compiled code yet.
const (
	DrawMemory  = 1 << 30          // bytes
	DrawTimeout = 20 * time.Second // CPU time
)

// PictureTime is the default of Options.PictureTime.
const PictureTime = 10 * time.Minute

// Options configure an Extractor. Zero fields get their defaults.
type Options struct {
	// Concurrency is the maximum number of child processes, each of which reads one document at a time. If there are
	// several children, one is reserved for workspaces that are not using any other child, so a workspace with many
	// documents can't block the other workspaces. Default: the number of processors, but at most 4, plus 1.
	Concurrency int
	// Direct is the maximum size, in bytes, of plain text and CSV files to read in this process instead of waiting for
	// a child. The readers for these two formats are simple and run in linear time. With the default of 0, every file
	// is read in a child.
	Direct int64
	// MaxMemory is the maximum memory for reading one document, in bytes. Default 2 GiB.
	MaxMemory int64
	// Timeout is the maximum CPU time for reading a large document; see cpuLimit. The wall-clock limit is clockFactor
	// times Timeout, so that valid documents don't fail on a busy machine. Default 2 minutes.
	Timeout time.Duration
	// MaxText is the maximum size of a document's text, in bytes. Default 64 MiB.
	MaxText int64
	// MaxInput is the maximum size of a document, in bytes. Default 256 MiB.
	MaxInput int64
	// CacheDir is the folder for PDFium's compiled code. All children share it, and it is kept across restarts.
	// Default: a folder in the user's cache directory.
	CacheDir string
	// TempDir is the folder for documents being read. Files that a killed process leaves there are not removed.
	// Default: the system's temporary folder.
	TempDir string
	// IdleAfter is how long a child may be idle before it is stopped. Default 30 seconds.
	IdleAfter time.Duration
	// Recycle is the number of documents after which a child is replaced. Default 200.
	Recycle int
	// Tesseract is the path to the OCR program, "off" to disable OCR, or "" to look for tesseract in the PATH.
	Tesseract string
	// Recognisers is the maximum number of pages to run through OCR concurrently. Each page keeps a processor busy for
	// seconds. Default: half of the processors, but at least 1.
	Recognisers int
	// MaxScans is the maximum number of a document's pages to run through OCR. Default 1,000.
	MaxScans int
	// MaxPictures is the maximum number of pictures within a document, such as screenshots in a presentation, to run
	// through OCR. With the default of 0, their text is not read.
	MaxPictures int
	// PictureTime is the maximum time to spend on OCR of a document's pictures, all of them together. Default
	// PictureTime.
	PictureTime time.Duration
	// Log receives a warning for each child that dies. Defaults to slog.Default().
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = min(runtime.NumCPU(), 4) + 1
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = 2 << 30
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.CacheDir == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			o.CacheDir = dir + "/sluice"
		}
	}
	// A child has its own working directory, so resolve relative paths here.
	for _, dir := range []*string{&o.CacheDir, &o.TempDir} {
		if abs, err := filepath.Abs(*dir); err == nil && *dir != "" {
			*dir = abs
		}
	}
	if o.IdleAfter <= 0 {
		o.IdleAfter = 30 * time.Second
	}
	if o.Recycle <= 0 {
		o.Recycle = 200
	}
	if o.Recognisers <= 0 {
		o.Recognisers = max(runtime.NumCPU()/2, 1)
	}
	if o.MaxScans <= 0 {
		o.MaxScans = 1000
	}
	o.PictureTime = cmp.Or(o.PictureTime, PictureTime)
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

const (
	// smallFileTime is the CPU time limit for the smallest files. It leaves enough time to compile PDFium in a new data
	// directory, which takes several seconds.
	smallFileTime = 15 * time.Second
	// largeFile is the minimum size, in bytes, of a file that may use the full CPU time limit.
	largeFile = 2 << 20
)

// cpuLimit returns the CPU time limit for a file of the given size. A small file that takes a long time is hostile or
// damaged and would only tie up a child.
func (o Options) cpuLimit(size int64) time.Duration {
	least := min(smallFileTime, o.Timeout)
	share := float64(min(size, largeFile)) / largeFile
	return (least + time.Duration(share*float64(o.Timeout-least))).Truncate(time.Millisecond)
}

// Request is a document to read, as a file or as a stream.
type Request struct {
	Workspace string    // workspaces are served in turn; a document without one counts as its own workspace
	Path      string    // a file that this process can open; "" if Reader is set
	Reader    io.Reader // the document's bytes; written to a temporary file first
	Name      string    // file name, a hint for the format; "" if unknown
	Declared  string    // MIME type declared by the sender, with parameters; "" if unknown
	URL       string    // address of the page; "" if none
	// Key identifies the document's content for Locate. It may be empty.
	Key string
	// PlainRows writes table rows as tab-separated cells instead of "column: value; …".
	PlainRows bool
	// Languages are the languages of scanned pages in Tesseract's notation, such as eng or deu. If empty, the languages
	// installed for each page's script are tried.
	Languages []string
	// Defer makes Extract return a Scanned error instead of spending seconds per page on OCR. If a document has text as
	// well as pictures, Extract returns the text and lists the pictures in the document's Unread. Defer has no effect if
	// Tesseract is not installed.
	Defer bool
	// Progress, if set, is called before OCR of each page with the number of pages done and the total.
	Progress func(done, total int)
}

// Extractor reads documents in child processes. It is safe for concurrent use.
type Extractor struct {
	opts   Options
	limits format.Limits
	slots  *admission.Gate
	ocr    *tesseract.Program
	pages  *admission.Gate // limits the pages whose text is being recognised
	known  knownPages      // pages recognised by Locate
	ctx    context.Context // cancelled by Close
	cancel context.CancelCauseFunc

	mu            sync.Mutex
	Idle          []*idleWorker // the last one was used most recently
	closed        bool
	active        sync.WaitGroup
	reportMissing sync.Once
}

// idleWorker is an idle child and the timer that stops it.
type idleWorker struct {
	*sandbox.Worker
	clock *time.Timer
}

// errClosed is returned for requests after Close.
var errClosed = errors.New("the extractor is closed")

// New returns an Extractor. It starts child processes on demand; Close stops them.
func New(o Options) *Extractor {
	o = o.withDefaults()
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Extractor{
		opts:   o,
		limits: format.Limits{MaxInput: o.MaxInput, MaxText: o.MaxText, CacheDir: o.CacheDir}.WithDefaults(),
		slots:  admission.New(admission.Options{Limit: o.Concurrency, Spare: 1, Waiting: -1}),
		ocr:    tesseract.Find(o.Tesseract),
		pages:  admission.New(admission.Options{Limit: o.Recognisers, Waiting: -1}),
		ctx:    ctx,
		cancel: cancel,
	}
}

// Extract reads one document. If no child is free, it waits, and waiting workspaces take turns. Scanned pages go
// through OCR first (see recognition). An *Error means that the document cannot be read, and retrying would not help.
// Other errors come from the child process or the context, so a retry may succeed.
func (x *Extractor) Extract(ctx context.Context, req Request) (*domain.Document, error) {
	ctx, req, done, err := x.begin(ctx, req)
	if err != nil {
		return nil, err
	}
	defer done()
	return x.extract(ctx, req)
}

// Draw renders a page of a PDF as a PNG image. Pages are counted from 1. Like Extract, it may wait for a free child,
// and it returns the same kinds of errors.
func (x *Extractor) Draw(ctx context.Context, req Request, page int) ([]byte, error) {
	if page < 1 {
		return nil, format.Errorf(format.NoPage, "there is no page %d; page numbers start at 1", page)
	}
	answer, err := x.ask(ctx, req, task{page: page})
	return answer.Picture, err
}

// Locate finds passages from a document's text on its pages. For each span of each passage, it returns rectangles,
// usually one per line, or none if the text is not found. Only pages around the passages are read. If Request.Key is
// set, scanned pages go through OCR, and their text is kept for later calls. Like Extract, Locate may wait for a free
// child, and it returns the same kinds of errors. It also returns an Unsupported error for formats without positions.
func (x *Extractor) Locate(ctx context.Context, req Request, passages []Passage) ([][][]domain.PageRectangle, error) {
	if len(passages) == 0 {
		return nil, nil
	}
	if err := format.CheckPassages(passages); err != nil {
		return nil, err
	}
	return x.locate(ctx, req, passages)
}

// task tells a child to render `page`, to locate `passages` or, if neither is set, to read the document.
type task struct {
	page       int
	passages   []Passage
	scans      format.Scans
	recognised string // file with recognised pages; "" if there are none
}

func (t task) reads() bool { return t.page == 0 && t.passages == nil }

// begin registers a request, so that Close waits for it. It spools a stream to a file first. Closing the Extractor
// cancels the returned context. The caller must call the returned function when the request is done.
func (x *Extractor) begin(ctx context.Context, req Request) (context.Context, Request, func(), error) {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil, req, nil, errClosed
	}
	x.active.Add(1)
	x.mu.Unlock()
	cleanup := []func(){x.active.Done}
	done := func() {
		for _, f := range slices.Backward(cleanup) {
			f()
		}
	}
	if req.Path == "" { // the stream may be slow, so read it before waiting for a child
		path, err := x.spool(req.Reader)
		if err != nil {
			done()
			return nil, req, nil, err
		}
		cleanup = append(cleanup, func() { os.Remove(path) })
		req.Path = path
	}
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(x.ctx, func() { cancel(errClosed) })
	cleanup = append(cleanup, func() { cancel(nil) }, func() { detach() })
	return ctx, req, done, nil
}

// ask passes one request to a child.
func (x *Extractor) ask(ctx context.Context, req Request, t task) (none sandbox.Answer, err error) {
	ctx, req, done, err := x.begin(ctx, req)
	if err != nil {
		return none, err
	}
	defer done()
	return x.askNext(ctx, req, t)
}

// askNext waits until it's the workspace's turn and then passes the request to a child.
func (x *Extractor) askNext(ctx context.Context, req Request, t task) (none sandbox.Answer, err error) {
	f, size, err := openDocument(req.Path)
	if err != nil {
		return none, err
	}
	defer f.Close()
	if t.reads() && size <= x.opts.Direct && isSimple(f, req) {
		doc, err := Parse(ctx, format.Source{Data: f, Size: size, Name: req.Name, Declared: req.Declared, URL: req.URL, PlainRows: req.PlainRows}, x.limits)
		return sandbox.Answer{Document: doc}, err
	}
	slot, ok := x.slots.Enter(ctx, cmp.Or(req.Workspace, req.Path))
	if !ok {
		if x.ctx.Err() != nil {
			return none, errClosed
		}
		return none, fmt.Errorf("waiting for an extraction process: %w", context.Cause(ctx))
	}
	defer slot.Leave()
	return x.askChild(ctx, f, x.request(req, t, size), t.recognised)
}

func (x *Extractor) request(req Request, t task, size int64) sandbox.Request {
	limit := x.opts.cpuLimit(size)
	return sandbox.Request{
		Path: req.Path, Name: req.Name, Declared: req.Declared, URL: req.URL, PlainRows: req.PlainRows,
		CPUSeconds: uint64(limit.Seconds()) + 1, Limits: x.limits, Page: t.page, Passages: t.passages,
		Scans: t.scans, Recognised: t.recognised != "",
	}
}

// isSimple reports whether the file is plain text or CSV. Like Parse, it decides by the file's first bytes.
func isSimple(f *os.File, req Request) bool {
	head := make([]byte, format.HeadBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false // a child reports the error
	}
	switch DetectType(head[:n], req.Name, req.Declared) {
	case format.TypeText, format.TypeCSV:
		return true
	}
	return false
}

// askChild passes a request to an idle or new child. `recognised` is the path to a file with recognised pages, or "" if
// there are none.
func (x *Extractor) askChild(ctx context.Context, f *os.File, child sandbox.Request, recognised string) (none sandbox.Answer, err error) {
	for attempt := 0; ; attempt++ {
		w, err := x.take()
		if err != nil {
			return none, err
		}
		if recognised != "" {
			if err := w.GiveRecognised(recognised); err != nil {
				x.release(w)
				return none, err
			}
		}
		answer, err := w.Ask(ctx, f, child, x.opts.MaxMemory, clockFactor*x.opts.Timeout)
		if err == nil && child.Scan {
			answer.Scan, err = w.Picture()
		}
		if recognised != "" {
			w.ForgetRecognised()
		}
		if w.HasExited && ctx.Err() == nil {
			x.opts.Log.WarnContext(ctx, "the extraction process crashed while reading a document", "name", child.Name, "error", err)
		}
		x.logMissingRights(w)
		x.release(w)
		if errors.Is(err, sandbox.ErrNotStarted) && attempt == 0 {
			continue // the child died while idle, so the document is not to blame
		}
		return answer, err
	}
}

// openDocument opens a regular file. Pipes and other special files are rejected, because opening or reading them could
// block forever.
func openDocument(path string) (f *os.File, size int64, err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("opening the document: %w", err)
	}
	if f, err = os.Open(path); err != nil {
		return nil, 0, fmt.Errorf("opening the document: %w", err)
	}
	if info, err = f.Stat(); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("opening the document: %w", err), f.Close())
	}
	return f, info.Size(), nil
}

// logMissingRights logs, once, which child restrictions the system does not support.
func (x *Extractor) logMissingRights(w *sandbox.Worker) {
	if len(w.Missing) > 0 {
		x.reportMissing.Do(func() {
			x.opts.Log.Info("extraction processes run with fewer restrictions than intended: the system does not support all of them", "missing", strings.Join(w.Missing, "; "))
		})
	}
}

var spoolBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// spool copies the stream to a temporary file, because parsers need random access.
func (x *Extractor) spool(r io.Reader) (path string, err error) {
	f, err := os.CreateTemp(x.opts.TempDir, "sluice-document-")
	if err != nil {
		return "", fmt.Errorf("creating a temporary file for the document: %w", err)
	}
	buffer := spoolBuffers.Get().(*[64 << 10]byte)
	defer spoolBuffers.Put(buffer)
	// Hide the file's ReadFrom, because it would allocate a new buffer each time.
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, io.LimitReader(r, x.limits.MaxInput+1), buffer[:])
	if err == nil && n > x.limits.MaxInput {
		err = format.Errorf(format.TooLarge, "the file is larger than the limit of %s", format.SizeText(x.limits.MaxInput))
	} else if err != nil {
		err = fmt.Errorf("writing the document to a temporary file: %w", err)
	}
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("writing the document to a temporary file: %w", closeErr)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// take returns an idle child or, if there is none, starts one.
func (x *Extractor) take() (*sandbox.Worker, error) {
	x.mu.Lock()
	if n := len(x.Idle); n > 0 {
		w := x.Idle[n-1]
		x.Idle = x.Idle[:n-1]
		w.clock.Stop()
		x.mu.Unlock()
		return w.Worker, nil
	}
	x.mu.Unlock()
	return sandbox.Start(x.opts.MaxMemory, x.opts.TempDir, x.opts.CacheDir)
}

// release keeps a child for the next document, or stops it if it is due for replacement.
func (x *Extractor) release(w *sandbox.Worker) {
	if w.HasExited {
		return
	}
	x.mu.Lock()
	if x.closed || w.Expired || w.Read >= x.opts.Recycle {
		x.mu.Unlock()
		w.Stop()
		return
	}
	iw := &idleWorker{Worker: w}
	iw.clock = time.AfterFunc(x.opts.IdleAfter, func() { x.retire(iw) })
	x.Idle = append(x.Idle, iw)
	x.mu.Unlock()
}

// retire stops a child that has been idle for IdleAfter, unless it has been taken since.
func (x *Extractor) retire(iw *idleWorker) {
	x.mu.Lock()
	found := false
	for i, other := range x.Idle {
		if other == iw {
			x.Idle = append(x.Idle[:i], x.Idle[i+1:]...)
			found = true
			break
		}
	}
	if found {
		x.active.Add(1)
		defer x.active.Done()
	}
	x.mu.Unlock()
	if found {
		iw.Stop()
	}
}

// Close stops all children and waits for them. Any documents still being read fail. It's safe to call Close twice.
func (x *Extractor) Close() error {
	x.cancel(errClosed)
	x.mu.Lock()
	x.closed = true
	idle := x.Idle
	x.Idle = nil
	x.mu.Unlock()
	for _, w := range idle {
		w.clock.Stop()
		w.Stop()
	}
	x.active.Wait()
	return nil
}
