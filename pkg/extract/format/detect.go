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

// MIME types used by several packages. Some formats embed files of these types, and files in other formats are easily
// mistaken for them.
const (
	TypeCSV      = "text/csv"
	TypeText     = "text/plain"
	TypeMarkdown = "text/markdown"
	TypeHTML     = "text/html"
	TypeJSON     = "application/json"
	TypeMail     = "message/rfc822"
	TypeRTF      = "application/rtf"
	TypeMHTML    = "multipart/related" // a web page saved as one file with its resources
	TypeZip      = "application/zip"   // a container of files, not a document
	TypeTIFF     = "image/tiff"        // a picture, possibly with several pages
)

const (
	// TypeOLE is the type of Word, Excel and PowerPoint files in the pre-2007 binary formats, and of encrypted files in
	// the newer formats.
	TypeOLE = "application/x-ole-storage"
	// typeUnknown is the type of binary data whose format is unknown.
	typeUnknown = "application/octet-stream"
)

var oleMagic = []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")

// Detect returns a document's MIME type, without parameters. It examines the first bytes (about 4 KiB), the file name
// or URL, and the type declared by the sender; each may be empty. The bytes determine the family: PDF, container,
// picture or text. Within a family, the name decides or, if it is inconclusive, the declared type. The type may be one
// that cannot be read.
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
			return namedType // an encrypted document in a newer format; reading it returns an Encrypted error
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
	return r.textType(head, named)
}

// textType returns the type of a text document. It first tries the formats with a Sniff function, in order. For all
// other formats, it relies on the file name or declared type.
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

// Named returns the format for the extension of a file name or URL, or nil if the extension is unknown.
func (r *Registry) Named(name string) *Format {
	name, _, _ = strings.Cut(name, "?")
	name, _, _ = strings.Cut(name, "#")
	return r.byExtension[strings.ToLower(path.Ext(name))]
}

// Declared returns the format with the given MIME type or alias; parameters are ignored. It returns nil for unknown and
// generic types ("octet-stream").
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

// zipType returns a zip file's type, judging by part names in its first bytes.
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

// looksBinary reports whether the bytes can't be text in any encoding. namedText is set if the file has a text format's
// extension; more zero bytes are then allowed.
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
	// Text may contain a few zero bytes, left by programs that crash while writing or pad fields.
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

// PageStart returns the first 2 KiB of a text in lower case, without the byte order mark or leading white space.
func PageStart(head []byte) []byte {
	return bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head[:min(len(head), 2048)], []byte("\xef\xbb\xbf")), " \t\r\n"))
}
