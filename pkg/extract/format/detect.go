package format

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/charset"
)

// The MIME types of formats that others must tell from their own, or hold pieces of.
const (
	TypeCSV      = "text/csv"
	TypeText     = "text/plain"
	TypeMarkdown = "text/markdown"
	TypeHTML     = "text/html"
	TypeJSON     = "application/json"
	TypeMail     = "message/rfc822"
	TypeMHTML    = "multipart/related" // a page saved with its parts in one file
	TypeZip      = "application/zip"   // a container of parts, no document itself
)

const (
	// TypeOLE is the type of Word, Excel and PowerPoint files before 2007, and of encrypted ones of today.
	TypeOLE = "application/x-ole-storage"
	// TypeRTF is markup in plain letters, which would be read as text if it were not recognised.
	TypeRTF = "application/rtf"
	// typeUnknown is the type of bytes that are no text and of no known format.
	typeUnknown = "application/octet-stream"
)

var oleMagic = []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")

// Detect returns the type of a document by its first bytes (give it some 4 KiB), its file name or address, and the type
// its sender declared; each may be empty. The bytes decide between the families (PDF, containers, pictures,
// text), the name and then the declaration between formats of one family. The result is a MIME type without
// parameters, of a format that can be read or not.
func (r *Registry) Detect(head []byte, name, declared string) string {
	named := r.Named(name)
	if named == nil {
		named = r.Declared(declared)
	}
	namedType := ""
	if named != nil {
		namedType = named.Type
	}
	if len(head) == 0 {
		if named == nil {
			return TypeText
		}
		return namedType
	}
	for i := range r.formats {
		if f := &r.formats[i]; !f.Text && !f.Packed && f.Sniff(head, namedType) {
			return f.Type
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return r.zipType(head, named)
	case bytes.HasPrefix(head, oleMagic):
		if named != nil && named.Packed {
			return namedType // an encrypted document of today; reading it says so
		}
		return TypeOLE
	}
	if wide, _ := charset.Wide(head); wide == "" && looksBinary(head, named != nil && named.Text) {
		sniffed, _, _ := strings.Cut(http.DetectContentType(head), ";")
		if strings.HasPrefix(sniffed, "text/") {
			return typeUnknown
		}
		return sniffed
	}
	if looksRTF(head) {
		return TypeRTF
	}
	return r.textType(head, named)
}

// textType tells the text formats apart. Those that can be recognised are asked in order; the others go by their name.
func (r *Registry) textType(head []byte, named *Format) string {
	if wide, skip := charset.Wide(head); wide != "" {
		text, _ := charset.DecodeWith(head[skip:len(head)-(len(head)-skip)%4], wide)
		head = []byte(text)
	}
	namedType := ""
	if named != nil {
		namedType = named.Type
	}
	for i := range r.formats {
		f := &r.formats[i]
		if f.Flat != nil && f.Flat(head) || f.Text && f.Sniff != nil && f.Sniff(head, namedType) {
			return f.Type
		}
	}
	if named != nil && named.Text && named.Sniff == nil {
		return namedType
	}
	return TypeText
}

// Named is the format that has the name's extension; nil for none.
func (r *Registry) Named(name string) *Format {
	name, _, _ = strings.Cut(name, "?")
	name, _, _ = strings.Cut(name, "#")
	return r.byExtension[strings.ToLower(path.Ext(name))]
}

// Declared is the format of a declared type, without its parameters and by any of its names; nil where the declaration
// says nothing ("octet-stream").
func (r *Registry) Declared(declared string) *Format {
	t, _, err := mime.ParseMediaType(declared)
	if err != nil {
		t, _, _ = strings.Cut(declared, ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	if f := r.byName[t]; f != nil && f.Label != "" {
		return f
	}
	return nil
}

// zipType tells containers apart by the part names that happen to stand in the first bytes.
func (r *Registry) zipType(head []byte, named *Format) string {
	for i := range r.formats {
		if f := &r.formats[i]; f.Packed && f.Sniff != nil && f.Sniff(head, "") {
			return f.Type
		}
	}
	if named != nil && named.Packed {
		return named.Type
	}
	return TypeZip
}

// looksBinary reports whether the bytes cannot be text of a single-byte or multi-byte encoding. Files with the
// extension of a text format may contain more zero bytes.
func looksBinary(head []byte, namedText bool) bool {
	control, zeros := 0, 0
	for _, b := range head {
		switch {
		case b == 0:
			zeros++
		case b < 0x20 && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != 0x1b && b != 0x1a && b != '\b' && b != 0x1e && b != 0x1f:
			control++
		}
	}
	if control*50 > len(head) {
		return true
	}
	// A text may contain a few zero bytes: programs that crash while writing leave them, and others pad fields with them.
	if namedText {
		if zeros*4 > len(head) {
			return true
		}
	} else if zeros*200 > len(head) || zeros > 0 && (control > 0 || !utf8.Valid(head)) {
		return true
	}
	sniffed := http.DetectContentType(head)
	return !strings.HasPrefix(sniffed, "text/") && sniffed != "application/octet-stream" && !utf8.Valid(head)
}

// looksRTF looks for the group that every RTF file begins with.
func looksRTF(head []byte) bool {
	s, found := bytes.CutPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte(`{\rtf`))
	return found && (len(s) == 0 || s[0] >= '0' && s[0] <= '9' || bytes.IndexByte([]byte(`\{} `), s[0]) >= 0)
}

// PageStart is the text's first bytes in small letters, without what may stand before a page.
func PageStart(head []byte) []byte {
	return bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head[:min(len(head), 2048)], []byte("\xef\xbb\xbf")), " \t\r\n"))
}
