package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/klippa-app/go-pdfium"

	"github.com/sluice/sluice/pkg/extract/format"

	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

// pdfiumPages is the sandbox's maximum memory in WebAssembly pages of 64 KiB: 256 MiB.
const pdfiumPages = 4096

// pdfiumGC is the heap growth, in percent, that triggers a garbage collection while PDFium has a file open. Every
// sandbox call leaves 10 KiB of garbage, so frequent collections save much memory, and they are cheap because the live
// heap is quick to scan.
const pdfiumGC = 20

// pdfiumRuntime is this process's compiled PDFium. It is compiled once, and only if a file needs it, because that takes
// seconds.
var pdfiumRuntime struct {
	once sync.Once
	pool pdfium.Pool
	err  error
}

func startPDFium(cacheDir string) (pdfium.Pool, error) {
	r := &pdfiumRuntime
	r.once.Do(func() {
		defer lockCompilation(cacheDir)()
		config := wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfiumPages).WithCloseOnContextDone(true)
		if cacheDir != "" {
			if cache, err := wazero.NewCompilationCacheWithDir(cacheDir); err == nil {
				config = config.WithCompilationCache(cache)
			}
		}
		r.pool, r.err = webassembly.Init(webassembly.Config{
			Context: context.Background(), MinIdle: 0, MaxIdle: 1, MaxTotal: 1,
			FSConfig:      wazero.NewFSConfig(), // no files: the default would expose the whole disk
			RuntimeConfig: config,
			Stdout:        io.Discard, Stderr: io.Discard,
		})
	})
	if r.err != nil {
		return nil, fmt.Errorf("starting PDFium: %w", r.err)
	}
	return r.pool, nil
}

// lockCompilation keeps other processes from compiling PDFium into the folder until `done` is called. The process that
// has the lock compiles PDFium, and the other processes use the result. Without the lock, all child processes that need
// PDFium at the same time would spend seconds compiling it. If locking fails, the only harm is this extra work.
func lockCompilation(cacheDir string) (done func()) {
	if cacheDir == "" {
		return func() {}
	}
	lock := flock.New(filepath.Join(cacheDir, "compiling"))
	if err := lock.Lock(); err != nil {
		return func() {}
	}
	return func() { _ = lock.Unlock() }
}

// pdfiumReader reads a file that PDFium has open. It must be closed.
type pdfiumReader struct {
	instance  pdfium.Pdfium
	doc       references.FPDF_DOCUMENT
	pages     int
	title     string
	calls     int         // sandbox calls for characters and objects
	gc        int         // previous garbage collection percentage
	stopWatch func() bool // stops the function that kills the instance when the context is done
}

// openPDFium opens a file in PDFium, which reads it straight from memory. It returns an Encrypted *Error if a password
// is needed.
func openPDFium(p *format.Parser, data []byte) (_ *pdfiumReader, err error) {
	defer recoverPDFium(&err)
	pool, err := startPDFium(p.Lim.CacheDir)
	if err != nil {
		return nil, err
	}
	instance, err := pool.GetInstance(time.Minute)
	if err != nil {
		return nil, fmt.Errorf("starting an instance of PDFium: %w", err)
	}
	r := &pdfiumReader{instance: instance, gc: debug.SetGCPercent(pdfiumGC)}
	r.stopWatch = context.AfterFunc(p.Ctx, func() { _ = instance.Kill() })
	opened := false
	defer func() {
		if !opened {
			r.close()
		}
	}()
	doc, err := instance.OpenDocument(&requests.OpenDocument{FileReader: bytes.NewReader(data), FileReaderSize: int64(len(data))})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return nil, format.Errorf(format.Encrypted, "the file is password-protected; remove the password and upload the file again")
	case err != nil:
		return nil, fmt.Errorf("opening with PDFium: %w", err)
	}
	r.doc = doc.Document
	count, err := instance.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: r.doc})
	if err != nil {
		return nil, fmt.Errorf("counting pages with PDFium: %w", err)
	}
	r.pages = count.PageCount
	if meta, err := instance.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: r.doc, Tag: "Title"}); err == nil {
		r.title = meta.Value
	}
	opened = true
	return r, nil
}

// close returns the sandbox instance to the pool. Closing fails after a trap; the pool then drops the instance.
func (r *pdfiumReader) close() {
	var err error
	defer recoverPDFium(&err)
	r.stopWatch()
	debug.SetGCPercent(r.gc)
	_ = r.instance.Close()
}

// recoverPDFium converts a panic in the sandbox's host to an error.
func recoverPDFium(err *error) {
	if x := recover(); x != nil {
		*err = fmt.Errorf("PDFium: %v", x)
	}
}

// hasImage reports whether page i, counted from 0, shows a picture.
func (r *pdfiumReader) hasImage(i int) (has bool) {
	var err error
	defer recoverPDFium(&err)
	const most, image = 200, 3 // maximum number of objects to examine; PDFium's type number for pictures
	page := r.pageAt(i)
	count, err := r.instance.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return false
	}
	for n := range min(count.Count, most) {
		r.calls += 2 // one for the object, one for its type
		object, err := r.instance.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: n})
		if err != nil {
			return false
		}
		if kind, err := r.instance.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object.PageObject}); err == nil && kind.Type == image {
			return true
		}
	}
	return false
}

func (r *pdfiumReader) pageAt(i int) requests.Page {
	return requests.Page{ByIndex: &requests.PageByIndex{Document: r.doc, Index: i}}
}
