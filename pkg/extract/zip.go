package extract

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// archive is an office container whose sizes have been checked before anything is unpacked.
type archive struct {
	files map[string]*zip.File // by lower-case name: producers do not agree on case
	left  int64                // bytes that may still be unpacked
	max   int64
}

// container opens the zip file, decides by its parts which format it is, and reads it.
func (p *parser) container() error {
	zr, err := zip.NewReader(p.src.Data, p.src.Size)
	if err != nil {
		return damaged("docx, pptx or xlsx file", err)
	}
	a, err := openArchive(zr, p.lim)
	if err != nil {
		return err
	}
	switch {
	case a.has("word/"):
		p.doc.MIMEType = TypeDocx
		return p.docx(a)
	case a.has("ppt/"):
		p.doc.MIMEType = TypePptx
		return p.pptx(a)
	case a.has("xl/"):
		p.doc.MIMEType = TypeXlsx
		return p.xlsx(a)
	}
	return unsupported("application/zip")
}

// openArchive refuses containers that promise to unpack to too much. Promises can be false, so reads are bounded too.
func openArchive(zr *zip.Reader, lim Limits) (*archive, error) {
	if len(zr.File) > maxZipEntries {
		return nil, fail(TooLarge, "the file packs %d parts, more than the %d that are read", len(zr.File), maxZipEntries)
	}
	a := &archive{files: make(map[string]*zip.File, len(zr.File)), left: lim.MaxUnpacked, max: lim.MaxUnpacked}
	var total uint64
	for _, f := range zr.File {
		if f.UncompressedSize64 > uint64(lim.MaxUnpacked) {
			return nil, a.tooLarge()
		}
		if total += f.UncompressedSize64; total > uint64(lim.MaxUnpacked) {
			return nil, a.tooLarge()
		}
		a.files[strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/"))] = f
	}
	return a, nil
}

func (a *archive) tooLarge() *Error {
	return fail(TooLarge, "the file unpacks to more than %s", sizeText(a.max))
}

// has reports whether any part lies in the folder.
func (a *archive) has(folder string) bool {
	for name := range a.files {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}

var errNoPart = errors.New("the part is missing")

// read unpacks one part within the bounds of maxPart and of the archive's total; errNoPart when there is none.
func (a *archive) read(name string) ([]byte, error) {
	f := a.files[strings.ToLower(strings.TrimPrefix(name, "/"))]
	if f == nil {
		return nil, fmt.Errorf("opening part %q: %w", name, errNoPart)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("opening part %q: %w", name, err)
	}
	defer r.Close()
	limit := min(a.left, maxPart)
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(data)) > limit {
		if limit == maxPart {
			return nil, fail(TooLarge, "part %q of the file unpacks to more than %s", name, sizeText(maxPart))
		}
		return nil, a.tooLarge()
	}
	a.left -= int64(len(data))
	if err != nil {
		return data, fmt.Errorf("unpacking part %q: %w", name, err)
	}
	return data, nil
}

// relation is one line of a part's relationships.
type relation struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
	Mode   string `xml:"TargetMode,attr"`
}

// kind is the last element of the relationship's type: "slide", "footnotes", "officeDocument".
func (r relation) kind() string { return path.Base(r.Type) }

// relations reads the relationships of a part, in order, with targets resolved to part names. A part without any
// has none.
func (a *archive) relations(part string) []relation {
	dir, file := path.Split(part)
	data, err := a.read(dir + "_rels/" + file + ".rels")
	if err != nil {
		return nil
	}
	var doc struct {
		Relations []relation `xml:"Relationship"`
	}
	dec := xml.NewDecoder(bytes.NewReader(data))
	dec.CharsetReader = xmlCharset
	if dec.Decode(&doc) != nil {
		return nil
	}
	for i, r := range doc.Relations {
		if r.Mode == "External" {
			continue
		}
		if strings.HasPrefix(r.Target, "/") {
			doc.Relations[i].Target = strings.TrimPrefix(r.Target, "/")
		} else {
			doc.Relations[i].Target = path.Join(dir, r.Target)
		}
	}
	return doc.Relations
}

// mainPart is the part that the package names as its document, or fallback.
func (a *archive) mainPart(fallback string) string {
	for _, r := range a.relations("") {
		if r.kind() == "officeDocument" && a.files[strings.ToLower(r.Target)] != nil {
			return r.Target
		}
	}
	return fallback
}

// coreTitle is the title in the document's properties, or "".
func (a *archive) coreTitle() string {
	data, err := a.read("docProps/core.xml")
	if err != nil {
		return ""
	}
	var core struct {
		Title string `xml:"title"`
	}
	dec := xml.NewDecoder(bytes.NewReader(data))
	dec.CharsetReader = xmlCharset
	if dec.Decode(&core) != nil {
		return ""
	}
	return core.Title
}

// xmlCharset decodes XML parts that are not UTF-8.
func xmlCharset(label string, r io.Reader) (io.Reader, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPart))
	if err != nil {
		return nil, fmt.Errorf("reading XML in %q: %w", label, err)
	}
	text, _ := decodeText(data, label)
	return strings.NewReader(text), nil
}
