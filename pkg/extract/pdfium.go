package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

// pdfiumPages bounds the memory of the sandbox, in WebAssembly pages of 64 KiB: 256 MiB.
const pdfiumPages = 4096

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
		config := wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfiumPages)
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

// pdfiumResult is what PDFium made of a file.
type pdfiumResult struct {
	title   string
	texts   []string // by page
	empty   []int    // pages without text, from 1
	pages   int
	letters int
}

// readPDFium reads all pages. A page that PDFium cannot read counts as empty.
func (p *parser) readPDFium(data []byte) (r *pdfiumResult, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("PDFium: %v", x)
		}
	}()
	pool, err := startPDFium(p.lim.CacheDir)
	if err != nil {
		return nil, err
	}
	instance, err := pool.GetInstance(time.Minute)
	if err != nil {
		return nil, fmt.Errorf("starting an instance of PDFium: %w", err)
	}
	defer func() { _ = instance.Close() }() // a trapped instance cannot close in order; it is dropped either way
	doc, err := instance.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return nil, fail(Encrypted, "the file is protected with a password; remove the password and send it again")
	case err != nil:
		return nil, fmt.Errorf("opening with PDFium: %w", err)
	}
	count, err := instance.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return nil, fmt.Errorf("counting pages with PDFium: %w", err)
	}
	if count.PageCount > p.lim.MaxPages {
		return nil, fail(TooLarge, "the file has %d pages, more than the %d that are read", count.PageCount, p.lim.MaxPages)
	}
	r = &pdfiumResult{pages: count.PageCount}
	if meta, err := instance.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: doc.Document, Tag: "Title"}); err == nil {
		r.title = meta.Value
	}
	var size int64
	for i := range count.PageCount {
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		text := ""
		page, err := instance.GetPageText(&requests.GetPageText{Page: requests.Page{
			ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}}})
		if err == nil {
			text = page.Text
		}
		letters := countLetters(text)
		if letters == 0 {
			r.empty = append(r.empty, i+1)
		}
		if size += int64(len(text)); size > p.lim.MaxText {
			return nil, fail(TooLarge, "the document holds more than %s of text", sizeText(p.lim.MaxText))
		}
		r.letters += letters
		r.texts = append(r.texts, text)
	}
	return r, nil
}
