// Package format is the base of all document readers. It contains the Format that each reader defines, the registry
// that chooses among formats, the Parser (one document's source, limits and sink), the errors, and text helpers.
// Readers import it; it imports none of them.
package format

import (
	"image"
	"io"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// Format is a file format: its names and the functions that recognise and read it. Each format has its own package, and
// the registry lists them all.
type Format struct {
	Type       string   // MIME type
	Aliases    []string // other MIME types that senders declare for this format
	Extensions []string // file name extensions, in lower case with the dot
	Name       string   // name for use in sentences: "a docx document"
	Label      string   // name for use in lists: "PDF"; "" for a container, which is not itself a document
	// Text is set for formats that are plain text, in any encoding.
	Text bool
	// Packed is set for formats that are zip files with parts.
	Packed bool
	// TitleFromHeading uses a level-1 heading as title if the document has no title and no other such heading.
	TitleFromHeading bool
	// Sniff recognises documents by their first bytes. For packed formats, these are the zip file's first bytes.
	// `named` is the type indicated by the file name or the declared type. Sniff may recognise text even if `named` is
	// another text format. If Sniff is nil, the format is chosen only by name or declared type.
	Sniff func(head []byte, named string) bool
	// Inside returns the type of the document in an open zip file, or "" if the format differs. Only packed formats
	// have it.
	Inside func(p *Parser) string
	// Flat recognises a packed format's single-text-file variant, and ReadFlat reads it. Both are nil if there is none.
	Flat     func(head []byte) bool
	ReadFlat func(p *Parser) error
	// Read reads a document, passing its blocks to the sink and recording its metadata.
	Read func(p *Parser) error
	// Locate finds passages from the document's text on its pages and returns rectangles for each span of each passage.
	// It is nil for formats without positions.
	Locate func(p *Parser, passages []Passage) ([][][]domain.PageRectangle, error)
	// Scan renders a page for OCR, rotated clockwise by the given number of quarter turns. Pages are counted from 1. It
	// is nil for formats without scanned pages.
	Scan func(p *Parser, page, turn int) (*image.Gray, error)
	// PictureSize reads a picture's width and height in pixels from the start of its file. It is nil for formats that
	// are not pictures.
	PictureSize func(file io.Reader) (width, height int, err error)
	// Scanned lays out pages recognised by OCR. Only one format has this function, and it lays out the pages of all
	// other formats.
	Scanned func(p *Parser, pages []scan.Page) error
	// Piece reads UTF-8 text in this format that is embedded in a document in another format. It is nil if no other
	// format embeds this one.
	Piece func(p *Parser, text io.Reader) error
}

// Registry is the list of formats in the order of detection.
type Registry struct {
	formats     []Format
	byName      map[string]*Format // by MIME type, aliases included
	byExtension map[string]*Format
}

// NewRegistry returns a registry with the given formats.
func NewRegistry(formats ...Format) *Registry {
	r := &Registry{formats: formats, byName: map[string]*Format{}, byExtension: map[string]*Format{}}
	for i := range formats {
		f := &formats[i]
		for _, t := range append([]string{f.Type}, f.Aliases...) {
			r.byName[t] = f
		}
		for _, e := range f.Extensions {
			r.byExtension[e] = f
		}
	}
	return r
}

// Formats returns the document formats that can be read.
func (r *Registry) Formats() []Format {
	return slices.DeleteFunc(slices.Clone(r.formats), func(f Format) bool { return f.Label == "" })
}

// byType returns the format with the given MIME type, or nil if there is none.
func (r *Registry) byType(mimeType string) *Format {
	if f := r.byName[mimeType]; f != nil && f.Type == mimeType {
		return f
	}
	return nil
}

// name returns a format's name for use in sentences.
func (r *Registry) name(mimeType string) string {
	if f := r.byType(mimeType); f != nil && f.Name != "" {
		return f.Name
	}
	return mimeType
}

// Packed returns an open zip file's format, judging by its parts, or nil if none matches.
func (r *Registry) Packed(p *Parser) *Format {
	for _, f := range r.formats {
		if f.Inside == nil {
			continue
		}
		if t := f.Inside(p); t != "" {
			return r.byType(t)
		}
	}
	return nil
}

// PackedNames lists the packed formats' first extensions, for error messages about files that may be any of them.
func (r *Registry) PackedNames() string {
	var names []string
	for _, f := range r.Formats() {
		if f.Packed {
			names = append(names, strings.TrimPrefix(f.Extensions[0], "."))
		}
	}
	return joinOr(names)
}

// joinOr joins words in the form "a, b or c".
func joinOr(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Unsupported returns the error for files of a type that cannot be read.
func (r *Registry) Unsupported(mimeType string) *Error {
	var labels []string
	for _, f := range r.Formats() {
		labels = append(labels, f.Label)
	}
	return Errorf(Unsupported, "files of type %s cannot be read; upload %s", mimeType, joinOr(labels))
}

// misnamedWarning returns a warning for a file with a binary format's extension but other content, such as an error
// page saved instead of a download. It returns "" if the extension matches the content or is unknown.
func (r *Registry) misnamedWarning(name, found string) string {
	named, is := r.Named(name), r.byType(found)
	if named == nil || named.Text || named == is || named.Packed && is != nil && is.Packed && is.Label != "" {
		return ""
	}
	return "the content does not match the file name: the name suggests " + named.Name + ", but the content was read as " + r.name(found)
}

// read reads a document whose type is p.Doc.MIMEType. `head` holds the file's first bytes.
func (r *Registry) read(p *Parser, head []byte) error {
	f := r.byType(p.Doc.MIMEType)
	switch {
	case p.Doc.MIMEType == TypeOLE:
		return Errorf(Unsupported, "Office files in the old formats (.doc, .xls, .ppt) cannot be read; save the file as docx, xlsx or pptx")
	case f == nil:
		return r.Unsupported(p.Doc.MIMEType)
	case f.Packed && head[0] == oleMagic[0]:
		return Errorf(Encrypted, "the file is password-protected; remove the password and upload the file again")
	case f.Flat != nil && f.Flat(head):
		return f.ReadFlat(p)
	case f.Packed:
		return p.ReadAs(TypeZip)
	}
	return f.Read(p)
}
