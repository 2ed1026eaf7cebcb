// Package format holds what all readers of documents share: the Format that each of them is, the registry that chooses
// among them, the Parser with the source, limits and sink of one document, the errors, and helpers for text. Readers
// import it; it imports none of them.
package format

import (
	"io"
	"slices"
	"strings"
)

// Format is a file format: its names, and how it is recognised and read. A package of its own has each; the registry lists
// them.
type Format struct {
	Type       string   // MIME type
	Aliases    []string // other MIME types under which senders declare it
	Extensions []string // of file names, in lower case with the dot
	Name       string   // in sentences: "a PDF"
	Label      string   // in lists for people: "PDF"; "" for a container that is no document itself
	// Text says that documents are text, in any encoding and without control characters.
	Text bool
	// Packed says that documents are zip files with parts.
	Packed bool
	// TitleFromHeading says that the only heading of level 1 is the title of a document without one.
	TitleFromHeading bool
	// Sniff recognises documents by their first bytes, those of packed formats among the first parts of a zip file. Text
	// formats take documents so that are named as another text format; they go by their names alone where Sniff is nil. named
	// is the type of the format that name and declaration say.
	Sniff func(head []byte, named string) bool
	// Inside returns the type of the format whose parts the opened zip file has; "" for none. For packed formats.
	Inside func(p *Parser) string
	// Flat recognises documents of a packed format that are one text file, which ReadFlat reads; nil for none.
	Flat     func(head []byte) bool
	ReadFlat func(p *Parser) error
	// Read reads a document: it passes blocks to the sink and fills in what the document says of itself.
	Read func(p *Parser) error
	// Piece reads UTF-8 text that stands inside a document of another format; nil where no format has such.
	Piece func(p *Parser, text io.Reader) error
}

// Registry is the list of formats, in the order in which they are asked whether a document is theirs.
type Registry struct {
	formats     []Format
	byName      map[string]*Format // by MIME type and by aliases
	byExtension map[string]*Format
}

// NewRegistry lists formats.
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

// Formats are the formats of documents that can be read.
func (r *Registry) Formats() []Format {
	return slices.DeleteFunc(slices.Clone(r.formats), func(f Format) bool { return f.Label == "" })
}

// byType is the format with the MIME type; nil for none.
func (r *Registry) byType(mimeType string) *Format {
	if f := r.byName[mimeType]; f != nil && f.Type == mimeType {
		return f
	}
	return nil
}

// name is a format's name in sentences.
func (r *Registry) name(mimeType string) string {
	if f := r.byType(mimeType); f != nil && f.Name != "" {
		return f.Name
	}
	return mimeType
}

// Packed is the format whose parts the opened zip file has; nil for none.
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

// PackedNames names the packed formats by their first extensions, for errors of files that may be of any.
func (r *Registry) PackedNames() string {
	var names []string
	for _, f := range r.Formats() {
		if f.Packed {
			names = append(names, strings.TrimPrefix(f.Extensions[0], "."))
		}
	}
	return oneOf(names)
}

// oneOf joins words as in "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Unsupported is the error for files of a type that cannot be read.
func (r *Registry) Unsupported(mimeType string) *Error {
	if mimeType == TypeRTF {
		return Errorf(Unsupported, "RTF files cannot be read; save it as docx, PDF or plain text")
	}
	var labels []string
	for _, f := range r.Formats() {
		labels = append(labels, f.Label)
	}
	return Errorf(Unsupported, "files of type %s cannot be read; send %s", mimeType, oneOf(labels))
}

// misnamed warns of a file whose name promises a format that is no text, and that holds something else: a page that says
// that the download failed, for example. It returns "" where name and content agree or the name promises nothing.
func (r *Registry) misnamed(name, found string) string {
	named, is := r.Named(name), r.byType(found)
	if named == nil || named.Text || named == is || named.Packed && is != nil && is.Packed && is.Label != "" {
		return ""
	}
	return "the content is not what the file name says: it is named " + named.Name + " and was read as " + r.name(found)
}

// read reads a document of the type that p.doc has. head are its first bytes.
func (r *Registry) read(p *Parser, head []byte) error {
	f := r.byType(p.Doc.MIMEType)
	switch {
	case p.Doc.MIMEType == TypeOLE:
		return Errorf(Unsupported, "office files in the format before 2007 (.doc, .xls, .ppt) cannot be read; save it as docx, xlsx or pptx")
	case f == nil:
		return r.Unsupported(p.Doc.MIMEType)
	case f.Packed && head[0] == oleMagic[0]:
		return Errorf(Encrypted, "the file is protected with a password; remove the password and send it again")
	case f.Flat != nil && f.Flat(head):
		return f.ReadFlat(p)
	case f.Packed:
		return p.ReadAs(TypeZip)
	}
	return f.Read(p)
}
