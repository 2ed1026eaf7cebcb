package extract

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/csv"
	"github.com/sluice/sluice/pkg/extract/docx"
	"github.com/sluice/sluice/pkg/extract/epub"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/html"
	"github.com/sluice/sluice/pkg/extract/json"
	"github.com/sluice/sluice/pkg/extract/mail"
	"github.com/sluice/sluice/pkg/extract/markdown"
	"github.com/sluice/sluice/pkg/extract/odt"
	"github.com/sluice/sluice/pkg/extract/pdf"
	"github.com/sluice/sluice/pkg/extract/pptx"
	"github.com/sluice/sluice/pkg/extract/sandbox"
	"github.com/sluice/sluice/pkg/extract/text"
	"github.com/sluice/sluice/pkg/extract/xlsx"
	"github.com/sluice/sluice/pkg/extract/zip"
)

// formats is the registry, in the order in which they are asked whether a document is theirs. The text formats that
// can be recognised come before those that go by their names.
var formats = format.NewRegistry(
	pdf.Format,
	epub.Format,
	odt.Format,
	docx.Format,
	pptx.Format,
	xlsx.Format,
	zip.Format,
	mail.Format,
	mail.WebArchive,
	html.Format,
	json.Format,
	csv.Format,
	markdown.Format,
	text.Format,
)

// Formats are the formats of documents that can be read.
func Formats() []format.Format { return formats.Formats() }

// Named is the format whose extension a file name or address has; nil for none.
func Named(name string) *format.Format { return formats.Named(name) }

// Declared is the format of a declared MIME type, by any of its names; nil for none.
func Declared(mimeType string) *format.Format { return formats.Declared(mimeType) }

// DetectType returns the MIME type of a document by its first bytes (give it some 4 KiB), its file name or address, and
// the type its sender declared; each may be empty. Formats says which types can be read.
func DetectType(head []byte, name, declared string) string {
	return formats.Detect(head, name, declared)
}

// Stream reads a document in this process and passes its blocks on as they come; the document that it returns has none.
// Parse says what it can survive.
func Stream(ctx context.Context, src format.Source, lim format.Limits, emit func(domain.Block) error) (*domain.Document, error) {
	return formats.Parse(ctx, src, lim, emit)
}

// Parse reads a document in this process, with all its blocks in memory. It returns *Error for whatever is wrong
// with the document, panics of parsers included; it cannot survive what kills the runtime. Use an Extractor for
// content from outside.
func Parse(ctx context.Context, src format.Source, lim format.Limits) (*domain.Document, error) {
	var blocks []domain.Block
	doc, err := Stream(ctx, src, lim, func(b domain.Block) error {
		blocks = append(blocks, b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	doc.Blocks = blocks
	return doc, nil
}

// RunChildIfAsked turns the process into a child that reads documents, and does not return, when an Extractor
// started it as one; otherwise it does nothing. Call it first thing in every main and TestMain.
func RunChildIfAsked() { sandbox.RunIfAsked(Stream) }
