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

// formats is the registry of formats, in detection order. Text formats that are recognised by content come before those
// that are recognised by name only.
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

// Formats returns the formats of documents that can be read.
func Formats() []format.Format { return formats.Formats() }

// Named returns the format for the extension of a file name or address, or nil.
func Named(name string) *format.Format { return formats.Named(name) }

// Declared returns the format of a declared MIME type or of one of its aliases, or nil.
func Declared(mimeType string) *format.Format { return formats.Declared(mimeType) }

// DetectType returns the MIME type of a document from its first bytes (about 4 KiB), its file name or address, and the
// type declared by the sender. Each may be empty. Formats lists the types that can be read.
func DetectType(head []byte, name, declared string) string {
	return formats.Detect(head, name, declared)
}

// Stream reads a document in this process and passes each block to emit as it is read. The returned document has no
// blocks. Errors and panics are handled as in Parse.
func Stream(ctx context.Context, src format.Source, lim format.Limits, emit func(domain.Block) error) (*domain.Document, error) {
	return formats.Parse(ctx, src, lim, emit)
}

// Parse reads a document in this process, with all its blocks in memory. It returns an *Error if the document cannot be
// read or a parser panics. It does not survive fatal runtime errors, such as running out of memory, so use an Extractor
// for untrusted content.
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

// RunChildIfAsked runs the process as a child that reads documents, and does not return, if an Extractor started it.
// Otherwise it does nothing. It must be the first call in every main and TestMain.
func RunChildIfAsked() { sandbox.RunIfAsked(Stream) }
