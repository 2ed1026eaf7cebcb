package extract

import (
	"encoding/xml"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// officePackage is the container of an office document.
type officePackage struct {
	*archive
	// embedded are the parts with embedded files that the text mentions.
	embedded map[string]bool
}

// packageOf is the package that has been opened for the document.
func packageOf(p *parser) *officePackage { return newPackage(openedArchive(p)) }

func newPackage(a *archive) *officePackage {
	return &officePackage{archive: a, embedded: map[string]bool{}}
}

// relation is one line of a part's relationships.
type relation struct {
	ID     string
	Type   string
	Target string // a part's name, or an address when External
	// External says that the target lies outside the container.
	External bool
}

// kind is the last element of the relationship's type, which is the same in all editions of the standard: "slide",
// "footnotes", "officeDocument".
func (r relation) kind() string { return path.Base(r.Type) }

// relations reads the relationships of a part, in order, with targets resolved to part names. A part without any
// has none.
func (a *officePackage) relations(part string) []relation {
	dir, file := path.Split(part)
	var found []relation
	err := a.walk(dir+"_rels/"+file+".rels", func(sc *xmlScanner) {
		sc.descend(func(e xml.StartElement) bool {
			if e.Name.Local != "Relationship" || len(found) == maxZipEntries {
				return false
			}
			r := relation{ID: xmlAttr(e, "Id"), Type: xmlAttr(e, "Type"), Target: xmlAttr(e, "Target"), External: xmlAttr(e, "TargetMode") == "External"}
			if !r.External {
				r.Target = resolvePart(dir, r.Target)
			}
			found = append(found, r)
			return false
		})
	})
	if err != nil {
		return nil // the limit that was passed is passed again by the part itself
	}
	return found
}

// resolvePart is the name of the part that a target in a folder's relationships means.
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

// byID indexes relationships.
func byID(rels []relation) map[string]relation {
	m := make(map[string]relation, len(rels))
	for _, r := range rels {
		m[r.ID] = r
	}
	return m
}

// related is the first part that a relationship of the kind leads to, or fallback.
func (a *officePackage) related(rels []relation, kind, fallback string) string {
	for _, r := range rels {
		if r.kind() == kind && !r.External && a.files[partName(r.Target)] != nil {
			return r.Target
		}
	}
	return fallback
}

// readsComments reports whether comments are read. Plain text omits them, as other tools do.
func (a *officePackage) readsComments() bool {
	if a.p.src.PlainRows {
		a.p.out.warn("the document has comments, which are indexed and are not in its plain text")
	}
	return !a.p.src.PlainRows
}

// embeds warns of an embedded document: the file shows only its picture, and its content is not read. Formulas are embedded
// objects too, but need no warning.
func (a *officePackage) embeds(rels map[string]relation, id, program string) {
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
	a.p.out.warn("the embedded document " + cutBytes(name, 100) + cutBytes(program, 100) + " was left out; send it as a file of its own")
}

// embedsRest warns of what a part has and does not show: embedded documents that its text does not mention, and ActiveX
// controls.
func (a *officePackage) embedsRest(rels []relation) {
	all := byID(rels)
	for _, rel := range rels {
		switch kind := rel.kind(); {
		case kind == "control":
			a.p.out.warn("the document has ActiveX controls, whose texts and values are not read")
		case (kind == "package" || kind == "oleObject") && !rel.External && !a.embedded[rel.Target]:
			a.embeds(all, rel.ID, "")
		}
	}
}

// mainPart is the part that the package names as its document; where it names none, the one that is declared as a
// document, or else fallback.
func (a *officePackage) mainPart(fallback string) string {
	if part := a.related(a.relations(""), "officeDocument", ""); part != "" {
		return part
	}
	if fallback != "" && a.files[partName(fallback)] != nil {
		return fallback
	}
	var declared []string
	for part, t := range a.contentTypes() {
		if formatOfPart(t) != "" && a.files[part] != nil {
			declared = append(declared, part)
		}
	}
	if len(declared) == 0 {
		return fallback
	}
	return slices.Min(declared)
}

// contentTypes are the types that the package declares, by partName.
func (a *officePackage) contentTypes() map[string]string {
	types := map[string]string{}
	err := a.walk("[Content_Types].xml", func(sc *xmlScanner) {
		sc.descend(func(e xml.StartElement) bool {
			if e.Name.Local == "Override" && len(types) < maxZipEntries {
				types[partName(xmlAttr(e, "PartName"))] = xmlAttr(e, "ContentType")
			}
			return false
		})
	})
	if err != nil {
		return nil
	}
	return types
}

// formatOfPart is the format whose main part has the content type, macro-enabled ones, templates and shows included;
// "" for other parts.
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

// properties takes what the package says of its document: title, author, dates, description, keywords, language.
func (a *officePackage) properties() {
	p := a.p
	core := a.coreProperties()
	p.doc.Title, p.doc.Language = core["title"], oneLine(core["language"])
	if isStockTitle(p.doc.Title) {
		p.doc.Title = ""
	}
	p.meta(domain.MetaAuthor, core["creator"])
	p.meta(domain.MetaCreated, w3cTime(core["created"]))
	p.meta(domain.MetaModified, w3cTime(core["modified"]))
	p.meta(domain.MetaDescription, core["description"])
	p.meta(domain.MetaKeywords, core["keywords"])
}

// coreProperties reads the package's core properties by their local names.
func (a *officePackage) coreProperties() map[string]string {
	core := map[string]string{}
	err := a.walk(a.related(a.relations(""), "core-properties", "docProps/core.xml"), func(sc *xmlScanner) {
		if _, ok := sc.root(); !ok {
			return
		}
		sc.each(func(e xml.StartElement) bool {
			core[e.Name.Local] = cutBytes(strings.TrimSpace(sc.text()), domain.MaxMetaValue)
			return true
		})
	})
	if err != nil {
		return nil
	}
	return core
}

// w3cTime passes on dates and times that RFC 3339 or a date alone can say, and nothing else.
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

// isStockTitle recognises titles that programs give by themselves and that name nothing.
func isStockTitle(title string) bool {
	title = strings.ToLower(oneLine(title))
	switch strings.TrimRight(title, " 0123456789") {
	case "", "untitled", "document", "presentation", "slide", "title", "diapositiva", "folie", "bild":
		return true
	}
	words := strings.Fields(title)
	return len(words) <= 4 && strings.Contains(title, "powerpoint")
}
