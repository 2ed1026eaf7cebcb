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

// pdfiumPages bounds the memory of the sandbox, in WebAssembly pages of 64 KiB: 256 MiB.
const pdfiumPages = 4096

// pdfiumGC is the growth of the heap, in percent, at which garbage is collected while a file is open in PDFium: every
// call into the sandbox leaves 10 KiB, and what stays is large and cheap to look through.
const pdfiumGC = 20

// pdfiumRuntime is the compiled PDFium of this process. Compiling takes seconds, so it is done at most once, and
// only by a process that meets a file which needs it.
var pdfiumRuntime struct {
	once sync.Once
	pool pdfium.Pool
	err  error
}

func startPDFium(cacheDir string) (pdfium.Pool, error) {
	r := &pdfiumRuntime
	r.once.Do(func() {
		defer compileAlone(cacheDir)()
		config := wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfiumPages).WithCloseOnContextDone(true)
		if cacheDir != "" {
			if cache, err := wazero.NewCompilationCacheWithDir(cacheDir); err == nil {
				config = config.WithCompilationCache(cache)
			}
		}
		r.pool, r.err = webassembly.Init(webassembly.Config{
			Context: context.Background(), MinIdle: 0, MaxIdle: 1, MaxTotal: 1,
			FSConfig:      wazero.NewFSConfig(), // no files: the default would show it the whole disk
			RuntimeConfig: config,
			Stdout:        io.Discard, Stderr: io.Discard,
		})
	})
	if r.err != nil {
		return nil, fmt.Errorf("starting PDFium: %w", r.err)
	}
	return r.pool, nil
}

// compileAlone waits until no other process compiles into the folder, and keeps others from it until the function is called
// that it returns: children that need PDFium at the same moment would each compile it for seconds, where all but the first
// find it there. Without a lock there is only more work.
func compileAlone(cacheDir string) (done func()) {
	if cacheDir == "" {
		return func() {}
	}
	lock := flock.New(filepath.Join(cacheDir, "compiling"))
	if err := lock.Lock(); err != nil {
		return func() {}
	}
	return func() { _ = lock.Unlock() }
}

// pdfiumReader is a file open in PDFium. Close it.
type pdfiumReader struct {
	instance pdfium.Pdfium
	doc      references.FPDF_DOCUMENT
	pages    int
	title    string
	calls    int         // into the sandbox, for characters and objects
	gc       int         // what collected garbage before
	unwatch  func() bool // ends the watch that kills the instance when the context is done
}

// openPDFium opens a file in PDFium, which reads it where it lies in memory. It returns an Encrypted *Error for files
// that need a password.
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
	r.unwatch = context.AfterFunc(p.Ctx, func() { _ = instance.Kill() })
	opened := false
	defer func() {
		if !opened {
			r.close()
		}
	}()
	doc, err := instance.OpenDocument(&requests.OpenDocument{FileReader: bytes.NewReader(data), FileReaderSize: int64(len(data))})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return nil, format.Errorf(format.Encrypted, "the file is protected with a password; remove the password and send it again")
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

// close gives the instance back. One that has trapped cannot close in order; it is dropped either way.
func (r *pdfiumReader) close() {
	var err error
	defer recoverPDFium(&err)
	r.unwatch()
	debug.SetGCPercent(r.gc)
	_ = r.instance.Close()
}

// recoverPDFium turns a panic inside the sandbox's host into an error.
func recoverPDFium(err *error) {
	if x := recover(); x != nil {
		*err = fmt.Errorf("PDFium: %v", x)
	}
}

// hasImage reports whether page i, from 0, shows a picture.
func (r *pdfiumReader) hasImage(i int) (has bool) {
	var err error
	defer recoverPDFium(&err)
	const most, image = 200, 3 // objects that are looked at; PDFium's number for pictures
	page := r.pageAt(i)
	count, err := r.instance.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return false
	}
	for n := range min(count.Count, most) {
		r.calls += 2 // for an object and its kind
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
