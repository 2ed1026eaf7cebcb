package extract

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/csv"
	"github.com/sluice/sluice/pkg/extract/docx"
	"github.com/sluice/sluice/pkg/extract/epub"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/html"
	"github.com/sluice/sluice/pkg/extract/image"
	"github.com/sluice/sluice/pkg/extract/json"
	"github.com/sluice/sluice/pkg/extract/mail"
	"github.com/sluice/sluice/pkg/extract/markdown"
	"github.com/sluice/sluice/pkg/extract/notebook"
	"github.com/sluice/sluice/pkg/extract/opendocument"
	"github.com/sluice/sluice/pkg/extract/outlook"
	"github.com/sluice/sluice/pkg/extract/pdf"
	"github.com/sluice/sluice/pkg/extract/pptx"
	"github.com/sluice/sluice/pkg/extract/rtf"
	"github.com/sluice/sluice/pkg/extract/sandbox"
	"github.com/sluice/sluice/pkg/extract/subtitle"
	"github.com/sluice/sluice/pkg/extract/text"
	"github.com/sluice/sluice/pkg/extract/xlsx"
	"github.com/sluice/sluice/pkg/extract/xml"
	"github.com/sluice/sluice/pkg/extract/yaml"
	"github.com/sluice/sluice/pkg/extract/zip"
)

// formats is the registry, in detection order: text formats recognised by content come before those recognised by name
// only.
var formats = format.NewRegistry(
	pdf.Format,
	image.PNG,
	image.JPEG,
	image.TIFF,
	image.WebP,
	epub.Format,
	opendocument.Text,
	opendocument.Spreadsheet,
	opendocument.Presentation,
	docx.Format,
	pptx.Format,
	xlsx.Format,
	zip.Format,
	rtf.Format,
	mail.Format,
	outlook.Format,
	mail.WebArchive,
	html.Format,
	xml.Format,
	subtitle.WebVTT,
	subtitle.SubRip,
	notebook.Format,
	json.Format,
	yaml.Format,
	csv.Format,
	markdown.Format,
	text.Format,
)

// Formats returns the document formats that can be read.
func Formats() []format.Format { return formats.Formats() }

// Named returns the format for the extension of a file name or URL, or nil if the extension is unknown.
func Named(name string) *format.Format { return formats.Named(name) }

// Declared returns the format with the given MIME type or alias, or nil if there is none.
func Declared(mimeType string) *format.Format { return formats.Declared(mimeType) }

// DetectType returns a document's MIME type. It examines the first bytes (about 4 KiB), the file name or URL, and the
// type declared by the sender; each may be empty. The type may be one that cannot be read; see Formats.
func DetectType(head []byte, name, declared string) string {
	return formats.Detect(head, name, declared)
}

// Stream reads a document in this process and emits each block as soon as it is read. The returned document has no
// blocks. Errors and panics are handled as in Parse.
func Stream(ctx context.Context, src format.Source, lim format.Limits, emit func(domain.Block) error) (*domain.Document, error) {
	return formats.Parse(ctx, src, lim, emit)
}

// Parse reads a document in this process and keeps all its blocks in memory. It returns an *Error if the document
// cannot be read or a parser panics. It does not survive fatal runtime errors such as running out of memory: use an
// Extractor for untrusted content.
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

// Locate finds passages from a document's text on its pages, in this process. See Extractor.Locate.
func Locate(ctx context.Context, src format.Source, lim format.Limits, passages []format.Passage) ([][][]domain.PageRectangle, error) {
	return formats.Locate(ctx, src, lim, passages)
}

// RunChildIfAsked does nothing unless an Extractor started this process as a child. In a child, it serves requests and
// never returns. It must be the first call in every main and TestMain.
func RunChildIfAsked() { sandbox.RunIfAsked(ChildTasks()) }

// ChildTasks returns the functions that a child uses to serve requests.
func ChildTasks() sandbox.Tasks {
	return sandbox.Tasks{Parse: Stream, Draw: pdf.Picture, Locate: Locate, Scan: formats.Scan}
}
