package extract

import (
	"bytes"
	"strings"
)

// The MIME types of the office formats.
const (
	TypeDocx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	TypePptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	TypeXlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

// officeFolders are the folders in which the parts of each format lie.
var officeFolders = []struct{ folder, mimeType string }{{"word/", TypeDocx}, {"ppt/", TypePptx}, {"xl/", TypeXlsx}}

// officeFormat completes a format whose documents are packages of parts, or one XML file in their place (Flat OPC).
func officeFormat(f Format) Format {
	f.Packed = true
	f.Sniff = func(head []byte, _ string) bool {
		for _, c := range officeFolders {
			if bytes.Contains(head, []byte(c.folder)) {
				return c.mimeType == f.Type
			}
		}
		return false
	}
	f.Inside = func(p *parser) string { return packageOf(p).format() }
	f.Flat = func(head []byte) bool { return flatOPCType(head) == f.Type }
	f.ReadFlat = func(p *parser) error {
		if err := p.unflatten(); err != nil {
			return err
		}
		return p.readAs(TypeZip)
	}
	return f
}

// format tells by the main part, or else by the folders, which format the package has; "" where it has none of the three.
func (a *officePackage) format() string {
	main := a.mainPart("")
	for _, c := range officeFolders {
		if strings.HasPrefix(partName(main), c.folder) {
			return c.mimeType
		}
	}
	if f := formatOfPart(a.contentTypes()[partName(main)]); main != "" && f != "" {
		return f
	}
	for _, c := range officeFolders {
		if a.has(c.folder) {
			return c.mimeType
		}
	}
	return ""
}
