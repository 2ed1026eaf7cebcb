package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/domain"
)

// Source is a document to parse: random access to its bytes and what is known about it.
type Source struct {
	Data     io.ReaderAt
	Size     int64  // bytes
	Name     string // file name; "" unknown
	Declared string // MIME type its sender declared; "" unknown
	URL      string // address of a page, to resolve what is relative to it; "" none
	// PlainRows asks for table rows as cells parted by tabs instead of "column: value; …".
	PlainRows bool
}

// bytes reads the whole source.
func (s Source) bytes() ([]byte, error) {
	buf := make([]byte, s.Size)
	n, err := s.Data.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	return buf[:n], nil
}

// Parse reads a document in this process, with all its blocks in memory. It returns *Error for whatever is wrong
// with the document, panics of parsers included; it cannot survive what kills the runtime. Use an Extractor for
// content from outside.
func Parse(ctx context.Context, src Source, lim Limits) (*domain.Document, error) {
	var blocks []domain.Block
	doc, err := parse(ctx, src, lim, func(b domain.Block) error {
		blocks = append(blocks, b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	doc.Blocks = blocks
	return doc, nil
}

// parse detects the format, runs its parser and streams blocks to emit. The document it returns has no blocks.
func parse(ctx context.Context, src Source, lim Limits, emit func(domain.Block) error) (doc *domain.Document, err error) {
	lim = lim.withDefaults()
	if src.Size > lim.MaxInput {
		return nil, fail(TooLarge, "the file has %s, more than the %s that are read", sizeText(src.Size), sizeText(lim.MaxInput))
	}
	head := make([]byte, min(src.Size, 4096))
	n, err := src.Data.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	head = head[:n]
	if n == 0 {
		return nil, fail(NoText, "the file is empty")
	}
	defer func() {
		if x := recover(); x != nil {
			err = &Error{Kind: Damaged, Message: "the file is damaged: it stopped the reader",
				Err: fmt.Errorf("%w: %v\n%s", errPanic, x, debug.Stack())}
		}
	}()
	file, emitted := &faultReader{ReaderAt: src.Data}, error(nil)
	src.Data = file
	p := &parser{ctx: ctx, src: src, lim: lim, doc: &domain.Document{MIMEType: DetectType(head, src.Name, src.Declared)}}
	p.out = &sink{left: lim.MaxText, max: lim.MaxText, maxBlocks: lim.MaxBlocks}
	p.out.emit = func(b domain.Block) error {
		emitted = emit(b)
		return emitted
	}
	if w := misnamed(src.Name, p.doc.MIMEType); w != "" {
		p.out.warn(w)
	}
	if err := p.run(head); err != nil {
		switch fault := file.fault.Load(); {
		case KindOf(err) != "", emitted != nil, ctx.Err() != nil:
			return nil, err
		case fault != nil:
			return nil, fmt.Errorf("reading the file: %w", *fault)
		}
		// Nothing but the content is left to blame.
		return nil, &Error{Kind: Damaged, Err: err, Message: "the file is damaged: it cannot be read as " + formatName(p.doc.MIMEType)}
	}
	if p.out.letters == 0 {
		return nil, fail(NoText, "the file contains no text")
	}
	p.titleByHeading()
	p.doc.Title = cutBytes(oneLine(cleanText(p.doc.Title, domain.BlockHeading)), maxTitle)
	p.doc.Language = cutBytes(oneLine(cleanText(p.doc.Language, domain.BlockHeading)), maxLanguage)
	p.doc.Warnings = p.out.warnings
	p.doc.LinkList = p.doc.MIMEType == TypeHTML && p.out.body.isList()
	return p.doc, nil
}

// titleByHeading uses the heading of level 1 as the title of a document without one, if there is exactly one. If there
// are several, each is the title of only a part.
func (p *parser) titleByHeading() {
	switch p.doc.MIMEType {
	case TypePptx: // each slide is a separate part
		if p.doc.Pages > 1 {
			return
		}
		fallthrough
	case TypeMarkdown, TypeDocx:
		if p.doc.Title == "" && p.out.tops == 1 {
			p.doc.Title = p.out.top
		}
	}
}

// errPanic is in the cause of a failure after a parser has panicked.
var errPanic = errors.New("panic")

// faultReader remembers that the file itself could not be read, which is no fault of its content. Parsers that read
// from several goroutines are served.
type faultReader struct {
	io.ReaderAt
	fault atomic.Pointer[error]
}

// ReadAt implements io.ReaderAt.
func (r *faultReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, at)
	// Where a damaged file says that something stands before its beginning, the reader says so, and is right.
	if err != nil && !errors.Is(err, io.EOF) && at >= 0 {
		r.fault.Store(&err)
	}
	return n, err
}

// formatName is a format's name for people.
func formatName(mimeType string) string {
	if name := formatNames[mimeType]; name != "" {
		return name
	}
	return mimeType
}

// misnamed warns of a file that is called a PDF or office document and holds something else: a page that says that the
// download failed, for example. It returns "" where name and content agree or the name promises nothing.
func misnamed(name, found string) string {
	named := typeByName(name)
	if named != TypePDF && !isContainer(named) || named == found || isContainer(named) && isContainer(found) {
		return ""
	}
	return fmt.Sprintf("the content is not what the file name says: it is named %s and was read as %s", formatNames[named], formatNames[found])
}

// formatNames are the formats' names for people.
var formatNames = map[string]string{
	TypeCSV: "CSV", TypeText: "plain text", TypeMarkdown: "Markdown", TypeHTML: "an HTML page", TypeJSON: "JSON", TypePDF: "a PDF",
	TypeMail: "a mail", TypeMHTML: "a web archive",
	TypeDocx: "a docx document", TypePptx: "a pptx presentation", TypeXlsx: "an xlsx workbook",
}

// parser is the state of parsing one document.
type parser struct {
	ctx context.Context
	src Source
	lim Limits
	doc *domain.Document
	out *sink

	nesting int // nesting depth of embedded files

	anchors map[*html.Node]string // of the headings and defined terms of a web page
}

func (p *parser) run(head []byte) error {
	if p.doc.MIMEType == typeOLE || (isContainer(p.doc.MIMEType) && head[0] == 0xd0) {
		return oleError(p.doc.MIMEType)
	}
	if p.doc.MIMEType == "application/zip" || isContainer(p.doc.MIMEType) {
		if flatOPCType(head) != "" {
			if err := p.unflatten(); err != nil {
				return err
			}
		}
		return p.container()
	}
	switch p.doc.MIMEType {
	case TypePDF:
		return p.pdf()
	case TypeHTML:
		return p.html()
	case TypeCSV:
		return p.csv()
	case TypeJSON:
		return p.json()
	case TypeMarkdown:
		return p.markdown()
	case TypeText:
		return p.text()
	case TypeMail:
		return p.mail()
	case TypeMHTML:
		return p.mhtml()
	}
	return unsupported(p.doc.MIMEType)
}

func unsupported(mimeType string) *Error {
	if mimeType == typeRTF {
		return fail(Unsupported, "RTF files cannot be read; save it as docx, PDF or plain text")
	}
	return fail(Unsupported, "files of type %s cannot be read; send PDF, docx, pptx, xlsx, csv, JSON, Markdown, HTML, eml, mht or plain text", mimeType)
}

// oleError tells an encrypted office file from one of the formats before 2007, by what it claims to be.
func oleError(mimeType string) *Error {
	if isContainer(mimeType) {
		return fail(Encrypted, "the file is protected with a password; remove the password and send it again")
	}
	return fail(Unsupported, "office files in the format before 2007 (.doc, .xls, .ppt) cannot be read; save it as docx, xlsx or pptx")
}
