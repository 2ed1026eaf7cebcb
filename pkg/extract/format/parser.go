package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// HeadBytes is the number of leading bytes used to detect a document's format.
const HeadBytes = 4096

// Source is a document to parse: its content, with random access, and its metadata.
type Source struct {
	Data     io.ReaderAt
	Size     int64  // bytes
	Name     string // file name; "" if unknown
	Declared string // MIME type declared by the sender; "" if unknown
	URL      string // the page's address, to which relative links refer; "" if none
	// PlainRows writes table rows as tab-separated cells instead of "column: value; …".
	PlainRows bool
	Scans     Scans
}

// Scans controls how readers handle pages that need OCR.
type Scans struct {
	// Report makes a reader fail with an error of kind Scanned that lists the pages missing from Pages. Otherwise these
	// pages are read without OCR.
	Report bool `json:"report,omitempty"`
	// Hint tells users what to do about pages without recognised text. It is "" if OCR is not set up.
	Hint string `json:"hint,omitempty"`
	// Limit is the maximum number of pages for OCR, or 0 if OCR is not set up.
	Limit int `json:"limit,omitempty"`
	// Pictures is the maximum number of pictures per document for OCR. 0 means their text is not read.
	Pictures int `json:"pictures,omitempty"`
	// Pages maps page numbers to OCR results. In formats without scanned pages, the keys are the numbers of pictures
	// within the document.
	Pages map[int]scan.Page `json:"-"`
}

// NoOCR is the hint for documents read without OCR.
const NoOCR = "install Tesseract on the machine that processes documents and re-index the file, or add a text layer"

// Advice returns what users can do about unrecognised pages.
func (s Scans) Advice() string { return cmp.Or(s.Hint, NoOCR) }

// Bytes reads the whole source.
func (s Source) Bytes() ([]byte, error) {
	buf := make([]byte, s.Size)
	n, err := s.Data.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	return buf[:n], nil
}

// readHead returns a document's first HeadBytes. It fails if the document is too large.
func readHead(src Source, lim Limits) ([]byte, error) {
	if src.Size > lim.MaxInput {
		return nil, Errorf(TooLarge, "the file has %s; the limit is %s", SizeText(src.Size), SizeText(lim.MaxInput))
	}
	head := make([]byte, min(src.Size, HeadBytes))
	n, err := src.Data.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	return head[:n], nil
}

// recoverPanic turns a reader's panic into an error. It must be deferred.
func recoverPanic(err *error) {
	if x := recover(); x != nil {
		*err = &Error{Kind: Damaged, Message: "the file is damaged: reading it failed unexpectedly",
			Err: fmt.Errorf("%w: %v\n%s", ErrPanic, x, debug.Stack())}
	}
}

// Parse detects a document's format, reads it and passes its blocks to `emit` one by one. The returned document has no
// blocks. Parse returns an *Error if the document cannot be read or a reader panics.
func (r *Registry) Parse(ctx context.Context, src Source, lim Limits, emit func(domain.Block) error) (doc *domain.Document, err error) {
	lim = lim.WithDefaults()
	head, err := readHead(src, lim)
	if err != nil {
		return nil, err
	}
	if len(head) == 0 {
		return nil, Errorf(NoText, "the file is empty")
	}
	defer recoverPanic(&err)
	file, emitted := &faultReader{ReaderAt: src.Data}, error(nil)
	src.Data = file
	p := &Parser{Ctx: ctx, Src: src, Lim: lim, Formats: r, Doc: &domain.Document{MIMEType: r.Detect(head, src.Name, src.Declared)}}
	if src.Scans.Pictures > 0 {
		p.pictures = newPictures(src.Scans)
	}
	p.Out = &Sink{Left: lim.MaxText, Max: lim.MaxText, maxBlocks: lim.MaxBlocks}
	p.Out.Emit = func(b domain.Block) error {
		emitted = emit(b)
		return emitted
	}
	if w := r.misnamedWarning(src.Name, p.Doc.MIMEType); w != "" {
		p.Out.Warn(w)
	}
	if err := r.read(p, head); err != nil {
		switch fault := file.fault.Load(); {
		case KindOf(err) != "", emitted != nil, ctx.Err() != nil:
			return nil, err
		case fault != nil:
			return nil, fmt.Errorf("reading the file: %w", *fault)
		}
		// Everything else has been ruled out, so the content is damaged.
		return nil, &Error{Kind: Damaged, Err: err, Message: "the file is damaged: it cannot be read as " + r.name(p.Doc.MIMEType)}
	}
	p.pictures.finish(p)
	switch {
	case p.Out.Letters > 0 || len(p.Doc.Unread) > 0:
	case len(src.Scans.Pages) > 0:
		return nil, Errorf(NoText, "the file contains no text, and no text was recognised in its pictures")
	default:
		return nil, Errorf(NoText, "the file contains no text")
	}
	// A level-1 heading is the document's title if it is the only one and the document has at most one page. In a
	// longer document, the heading may belong to only a part of it.
	if f := r.byType(p.Doc.MIMEType); f.TitleFromHeading && p.Doc.Title == "" && p.Out.topHeadings == 1 && p.Doc.Pages <= 1 {
		p.Doc.Title = p.Out.firstHeading
	}
	p.Doc.Title = Cut(OneLine(cleanText(p.Doc.Title, domain.BlockHeading)), MaxTitle)
	p.Doc.Language = Cut(OneLine(cleanText(p.Doc.Language, domain.BlockHeading)), maxLanguage)
	p.Doc.Warnings = p.Out.Warnings
	return p.Doc, nil
}

// ErrPanic is in an error's chain if a parser panicked.
var ErrPanic = errors.New("panic")

// faultReader remembers I/O errors, so that they aren't mistaken for a damaged document. It is safe for concurrent use.
type faultReader struct {
	io.ReaderAt
	fault atomic.Pointer[error]
}

// ReadAt implements io.ReaderAt.
func (r *faultReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, at)
	// Negative offsets come from damaged content, not from I/O errors.
	if err != nil && !errors.Is(err, io.EOF) && at >= 0 {
		r.fault.Store(&err)
	}
	return n, err
}

// Parser holds the state of reading one document.
type Parser struct {
	Ctx context.Context
	Src Source
	Lim Limits
	Doc *domain.Document
	Out *Sink

	Formats   *Registry // for embedded documents
	Container any       // a packed document's open container; nil until it is opened
	Nesting   int       // nesting depth of embedded files
	pictures  *pictures // shared with the parsers of embedded files; nil if pictures are not read
}

// ReadAs reads the source as a document of the given type.
func (p *Parser) ReadAs(mimeType string) error { return p.Formats.byType(mimeType).Read(p) }

// Piece reads a section of the document, such as HTML in a mail, with another text format's reader.
func (p *Parser) Piece(mimeType string, text io.Reader) error {
	return p.Formats.byType(mimeType).Piece(p, text)
}
