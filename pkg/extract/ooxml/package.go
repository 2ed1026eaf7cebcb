// Package ooxml reads what the office formats have in common: packages and their relationships, properties, drawings,
// charts, diagrams, formulas, and documents stored as a single XML file. The docx, pptx and xlsx packages use it.
package ooxml

import (
	"encoding/xml"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
	"github.com/sluice/sluice/pkg/extract/zip"
)

// Package is an office document's container.
type Package struct {
	*zip.Archive
	// The names of embedded files that the document's text refers to.
	embedded map[string]bool
}

// PackageOf returns the document's package. Its archive must already be open.
func PackageOf(p *format.Parser) *Package { return NewPackage(zip.Opened(p)) }

// NewPackage returns the package in an open archive.
func NewPackage(a *zip.Archive) *Package {
	return &Package{Archive: a, embedded: map[string]bool{}}
}

// Relation is a relationship from a part to another part or to a URL.
type Relation struct {
	ID     string
	Type   string
	Target string // a part's name, or an address if External is set
	// External is set if the target is outside the container.
	External bool
}

// Kind returns the last element of the relationship's type, such as "slide", "footnotes" or "officeDocument". The full
// type differs between editions of the standard.
func (r Relation) Kind() string { return path.Base(r.Type) }

// Relations returns a part's relationships, in order, or nil if it has none. It resolves targets to part names.
func (a *Package) Relations(part string) []Relation {
	dir, file := path.Split(part)
	var found []Relation
	err := a.Walk(dir+"_rels/"+file+".rels", func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local != "Relationship" || len(found) == format.MaxZipEntries {
				return false
			}
			r := Relation{ID: xmlscan.Attr(e, "Id"), Type: xmlscan.Attr(e, "Type"), Target: xmlscan.Attr(e, "Target"), External: xmlscan.Attr(e, "TargetMode") == "External"}
			if !r.External {
				r.Target = resolvePart(dir, r.Target)
			}
			found = append(found, r)
			return false
		})
	})
	if err != nil {
		return nil // reading the part itself will hit the same limit and report it
	}
	return found
}

// resolvePart returns the name of the part that a relationship's target refers to. The target is relative to the folder
// `dir`.
func resolvePart(dir, target string) string {
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	target = strings.ReplaceAll(target, `\`, "/")
	if strings.HasPrefix(target, "/") {
		return strings.TrimPrefix(path.Clean(target), "/")
	}
	return strings.TrimPrefix(path.Clean("/"+path.Join(dir, target)), "/")
}

// ByID returns the relationships by id.
func ByID(rels []Relation) map[string]Relation {
	m := make(map[string]Relation, len(rels))
	for _, r := range rels {
		m[r.ID] = r
	}
	return m
}

// Related returns the target of the first relationship of the given kind, or `fallback` if there is none.
func (a *Package) Related(rels []Relation, kind, fallback string) string {
	for _, r := range rels {
		if r.Kind() == kind && !r.External && a.Files[zip.PartName(r.Target)] != nil {
			return r.Target
		}
	}
	return fallback
}

// ReadsComments reports whether comments are read. If PlainRows is set, it warns and returns false: plain text omits
// comments, as in other tools.
func (a *Package) ReadsComments() bool {
	if a.P.Src.PlainRows {
		a.P.Out.Warn("the document has comments, which are indexed but not part of its plain text")
	}
	return !a.P.Src.PlainRows
}

// Embeds warns that an embedded document is skipped. The file shows only a picture of that document. Formulas are
// embedded objects too, but cause no warning.
func (a *Package) Embeds(rels map[string]Relation, id, program string) {
	a.embedded[rels[id].Target] = true
	if strings.HasPrefix(program, "Equation") || strings.HasPrefix(program, "MathType") {
		return
	}
	name := path.Base(rels[id].Target)
	if name == "." || name == "/" {
		name = "object"
	}
	if program != "" {
		program = " (" + program + ")"
	}
	a.P.Out.Warn("the embedded document " + format.Cut(name, 100) + format.Cut(program, 100) + " was skipped; upload it as a separate file")
}

// EmbedsRest warns about ActiveX controls and about embedded documents not referenced by a part's text.
func (a *Package) EmbedsRest(rels []Relation) {
	all := ByID(rels)
	for _, rel := range rels {
		switch kind := rel.Kind(); {
		case kind == "control":
			a.P.Out.Warn("the text and values of ActiveX controls were skipped")
		case (kind == "package" || kind == "oleObject") && !rel.External && !a.embedded[rel.Target]:
			a.Embeds(all, rel.ID, "")
		}
	}
}

// PictureText returns the text recognised in the picture that a relationship refers to; see format.Parser.Picture.
// `alt` is the picture's description, or "".
func (a *Package) PictureText(rel Relation, alt string) ([]domain.Block, error) {
	if rel.External || rel.Target == "" {
		return nil, nil
	}
	return a.P.Picture(a.Picture(rel.Target, alt))
}

// MainPart returns the name of the main document part. It tries the part named by the package's relationships, then
// `fallback`, then a part with a document's content type, and returns the first that exists. If none exists, it returns
// `fallback`.
func (a *Package) MainPart(fallback string) string {
	if part := a.Related(a.Relations(""), "officeDocument", ""); part != "" {
		return part
	}
	if fallback != "" && a.Files[zip.PartName(fallback)] != nil {
		return fallback
	}
	var declared []string
	for part, t := range a.contentTypes() {
		if formatOfPart(t) != "" && a.Files[part] != nil {
			declared = append(declared, part)
		}
	}
	if len(declared) == 0 {
		return fallback
	}
	return slices.Min(declared)
}

// contentTypes returns the parts' declared content types, keyed by zip.PartName.
func (a *Package) contentTypes() map[string]string {
	types := map[string]string{}
	err := a.Walk("[Content_Types].xml", func(sc *xmlscan.Scanner) {
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local == "Override" && len(types) < format.MaxZipEntries {
				types[zip.PartName(xmlscan.Attr(e, "PartName"))] = xmlscan.Attr(e, "ContentType")
			}
			return false
		})
	})
	if err != nil {
		return nil
	}
	return types
}

// formatOfPart returns the format whose main part has this content type, or "". Templates, slide shows and files with
// macros count, too.
func formatOfPart(contentType string) string {
	if !strings.HasSuffix(contentType, ".main+xml") {
		return ""
	}
	for _, c := range []struct{ word, mimeType string }{
		{"wordprocessingml", TypeDocx}, {"ms-word", TypeDocx}, {"presentationml", TypePptx}, {"ms-powerpoint", TypePptx},
		{"spreadsheetml", TypeXlsx}, {"ms-excel", TypeXlsx},
	} {
		if strings.Contains(contentType, c.word) {
			return c.mimeType
		}
	}
	return ""
}

// Properties records the document's metadata: title, author, dates, description, keywords, language.
func (a *Package) Properties() {
	p := a.P
	core := a.coreProperties()
	p.Doc.Title, p.Doc.Language = core["title"], format.OneLine(core["language"])
	if isStockTitle(p.Doc.Title) {
		p.Doc.Title = ""
	}
	p.Meta(domain.MetaAuthor, core["creator"])
	p.Meta(domain.MetaCreated, w3cTime(core["created"]))
	p.Meta(domain.MetaModified, w3cTime(core["modified"]))
	p.Meta(domain.MetaDescription, core["description"])
	p.Meta(domain.MetaKeywords, core["keywords"])
}

// coreProperties returns the package's core properties by local name.
func (a *Package) coreProperties() map[string]string {
	core := map[string]string{}
	err := a.Walk(a.Related(a.Relations(""), "core-properties", "docProps/core.xml"), func(sc *xmlscan.Scanner) {
		if _, ok := sc.Root(); !ok {
			return
		}
		sc.Each(func(e xml.StartElement) bool {
			core[e.Name.Local] = format.Cut(strings.TrimSpace(sc.Text()), domain.MaxMetaValue)
			return true
		})
	})
	if err != nil {
		return nil
	}
	return core
}

// w3cTime converts a time to RFC 3339, assuming UTC if it has no zone. It returns dates unchanged and "" for other
// strings.
func w3cTime(s string) string {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if _, err := time.Parse(layout, s); err == nil {
			return s
		}
	}
	if t, err := time.Parse("2006-01-02T15:04:05", s); err == nil {
		return t.Format(time.RFC3339)
	}
	return ""
}

// isStockTitle reports whether a title is the writing program's default.
func isStockTitle(title string) bool {
	title = strings.ToLower(format.OneLine(title))
	switch strings.TrimRight(title, " 0123456789") {
	case "", "untitled", "document", "presentation", "slide", "title", "diapositiva", "folie", "bild":
		return true
	}
	words := strings.Fields(title)
	return len(words) <= 4 && strings.Contains(title, "powerpoint")
}
