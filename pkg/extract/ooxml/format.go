package ooxml

import (
	"bytes"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/zip"
)

// MIME types of the office formats.
const (
	TypeDocx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	TypePptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	TypeXlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

// folders maps each format to the folder that holds its parts.
var folders = []struct{ folder, mimeType string }{{"word/", TypeDocx}, {"ppt/", TypePptx}, {"xl/", TypeXlsx}}

// NewFormat fills in what all office formats share. Their files are packages of parts or a single XML file (Flat OPC).
func NewFormat(f format.Format) format.Format {
	f.Packed = true
	f.Sniff = func(head []byte, _ string) bool {
		for _, c := range folders {
			if bytes.Contains(head, []byte(c.folder)) {
				return c.mimeType == f.Type
			}
		}
		return false
	}
	f.Inside = func(p *format.Parser) string { return PackageOf(p).format() }
	f.Flat = func(head []byte) bool { return FlatType(head) == f.Type }
	f.ReadFlat = func(p *format.Parser) error {
		if err := Unflatten(p); err != nil {
			return err
		}
		return p.ReadAs(format.TypeZip)
	}
	return f
}

// format returns the package's type, or "" if it is unknown. It checks the main part's folder and content type, then
// the folders with XML parts.
func (a *Package) format() string {
	main := a.MainPart("")
	for _, c := range folders {
		if strings.HasPrefix(zip.PartName(main), c.folder) {
			return c.mimeType
		}
	}
	if f := formatOfPart(a.contentTypes()[zip.PartName(main)]); main != "" && f != "" {
		return f
	}
	for _, c := range folders {
		for name := range a.Files {
			if strings.HasPrefix(name, c.folder) && strings.HasSuffix(name, ".xml") {
				return c.mimeType
			}
		}
	}
	return ""
}
