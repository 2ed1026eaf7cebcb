package ooxml

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// flatPackage is the namespace of Flat OPC: an office document as one XML file instead of a zip file.
const flatPackage = "http://schemas.microsoft.com/office/2006/xmlPackage"

// FlatType returns the type of a Flat OPC document, which it recognises by its first bytes, or "" for other files.
func FlatType(head []byte) string {
	s := format.PageStart(head)
	if !bytes.HasPrefix(s, []byte("<?xml")) && !bytes.HasPrefix(s, []byte("<pkg:package")) || !bytes.Contains(head, []byte(flatPackage)) {
		return ""
	}
	lower := bytes.ToLower(head)
	for _, c := range []struct{ sign, mimeType string }{
		{"word.document", TypeDocx}, {"powerpoint.show", TypePptx}, {"excel.sheet", TypeXlsx},
		{`"/word/`, TypeDocx}, {`"/ppt/`, TypePptx}, {`"/xl/`, TypeXlsx},
	} {
		if bytes.Contains(lower, []byte(c.sign)) {
			return c.mimeType
		}
	}
	return TypeDocx // most Flat OPC files are Word documents
}

// Unflatten replaces a Flat OPC source with a zip file of the same parts.
func Unflatten(p *format.Parser) error {
	data, err := p.Src.Bytes()
	if err != nil {
		return err
	}
	text, _ := charset.Decode(data, "")
	data = []byte(text)
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	f := &flatReader{p: p, data: data, dec: xml.NewDecoder(bytes.NewReader(data)), out: z}
	f.dec.Strict = false
	f.dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // the data is already UTF-8
	if err := f.run(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("converting a flat XML document to a package: %w", err)
	}
	if f.parts == 0 {
		return format.NotA("docx document", errors.New("it contains no parts"))
	}
	p.Src.Data, p.Src.Size = bytes.NewReader(packed.Bytes()), int64(packed.Len())
	return nil
}

// flatReader copies a Flat OPC document's parts to a zip file.
type flatReader struct {
	p     *format.Parser
	data  []byte
	dec   *xml.Decoder
	out   *zip.Writer
	parts int
	size  int64
}

// run copies the parts in order. If the XML is damaged, the parts before the damage are kept.
func (f *flatReader) run() error {
	name, depth := "", 0
	for {
		if err := f.p.Ctx.Err(); err != nil {
			return err
		}
		token, err := f.dec.Token()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				f.p.Out.Warn("the document is damaged; only the text before the damage was read")
			}
			return nil
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > format.MaxDepth {
				return format.Errorf(format.TooLarge, "the document is nested deeper than %d levels", format.MaxDepth)
			}
			switch t.Name.Local {
			case "part":
				name = xmlscan.Attr(t, "name")
			case "xmlData", "binaryData":
				if err := f.part(name, t.Name.Local == "binaryData"); err != nil {
					return err
				}
				depth--
			}
		case xml.EndElement:
			depth--
		}
	}
}

// part copies the current element's content to the part with the given name.
func (f *flatReader) part(name string, binary bool) error {
	start := f.dec.InputOffset()
	end := start
	for open := 1; open > 0; {
		end = f.dec.InputOffset()
		token, err := f.dec.Token()
		if err != nil {
			end = int64(len(f.data))
			break
		}
		switch token.(type) {
		case xml.StartElement:
			if open++; open > format.MaxDepth {
				return format.Errorf(format.TooLarge, "the document is nested deeper than %d levels", format.MaxDepth)
			}
		case xml.EndElement:
			open--
		}
	}
	if f.parts++; f.parts > format.MaxZipEntries {
		return format.Errorf(format.TooLarge, "the file contains more than %d parts", format.MaxZipEntries)
	}
	content := f.data[min(start, end):end]
	if f.size += int64(len(content)); f.size > f.p.Lim.MaxUnpacked {
		return format.Errorf(format.TooLarge, "the file unpacks to more than %s", format.SizeText(f.p.Lim.MaxUnpacked))
	}
	if binary {
		content = charset.DecodeBase64(content)
	}
	w, err := f.out.CreateHeader(&zip.FileHeader{Name: strings.TrimPrefix(name, "/"), Method: zip.Store})
	if err == nil {
		_, err = w.Write(content)
	}
	if err != nil {
		return fmt.Errorf("converting a flat XML document to a package: %w", err)
	}
	return nil
}
