package pdftext

import (
	"bytes"
	"encoding/xml"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// Properties is a file's metadata. Missing properties are empty.
type Properties struct {
	Title, Author, Subject, Keywords string
	Created, Modified                time.Time
}

const maxXMP = 1 << 20 // maximum size of XMP metadata to read, in bytes

// Properties reads the document information and fills in missing properties from the XMP metadata.
func (d *Document) Properties() (p Properties) {
	func() {
		var err error
		defer pdfobject.Recover(&err) // keep the properties read before a panic
		info := d.file.Trailer().Key("Info")
		text := func(key string) string { return strings.TrimSpace(pdfobject.TextString(info.Key(key).RawString())) }
		p = Properties{Title: text("Title"), Author: text("Author"), Subject: text("Subject"), Keywords: text("Keywords"),
			Created: pdfDate(text("CreationDate")), Modified: pdfDate(text("ModDate"))}
	}()
	if p.Title == "" || p.Author == "" || p.Subject == "" || p.Keywords == "" || p.Created.IsZero() || p.Modified.IsZero() {
		d.readXMP(&p)
	}
	return p
}

// Language returns the document's declared language, or "" if it declares none.
func (d *Document) Language() (lang string) {
	var err error
	defer pdfobject.Recover(&err)
	return strings.TrimSpace(d.file.Trailer().Key("Root").Key("Lang").Text())
}

// readXMP fills in empty properties from the XMP metadata.
func (d *Document) readXMP(p *Properties) {
	var data []byte
	func() {
		var err error
		defer pdfobject.Recover(&err)
		data, err = d.file.Stream(d.file.Trailer().Key("Root").Key("Metadata"))
		_ = err // no metadata, or none that is readable
	}()
	found := xmpTexts(data[:min(len(data), maxXMP)])
	fill := func(to *string, name, separator string) {
		if *to == "" {
			*to = strings.Join(found[name], separator)
		}
	}
	fill(&p.Title, "title", " ")
	fill(&p.Author, "creator", ", ")
	fill(&p.Subject, "description", " ")
	fill(&p.Keywords, "subject", ", ")
	fill(&p.Keywords, "Keywords", ", ")
	date := func(to *time.Time, name string) {
		if to.IsZero() && len(found[name]) > 0 {
			for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02"} {
				if t, err := time.Parse(layout, found[name][0]); err == nil {
					*to = t
					return
				}
			}
		}
	}
	date(&p.Created, "CreateDate")
	date(&p.Modified, "ModifyDate")
}

// xmpTexts collects the text of the relevant elements and attributes: all items of a list, but only the first language
// version of a string.
func xmpTexts(data []byte) map[string][]string {
	wanted := map[string]bool{"title": true, "creator": true, "description": true, "subject": true, "Keywords": true, "CreateDate": true, "ModifyDate": true}
	found := map[string][]string{}
	add := func(name, text string) {
		if text = strings.TrimSpace(text); text != "" && len(found[name]) < 100 && (len(found[name]) == 0 || name == "creator" || name == "subject") {
			found[name] = append(found[name], text)
		}
	}
	dec := xml.NewDecoder(bytes.NewReader(data))
	dec.Strict = false
	open := "" // the open relevant element
	for {
		tok, err := dec.Token()
		if err != nil {
			return found // at the end or on an error, return the texts found so far
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if wanted[t.Name.Local] && open == "" {
				open = t.Name.Local
			}
			for _, a := range t.Attr {
				if wanted[a.Name.Local] {
					add(a.Name.Local, a.Value)
				}
			}
		case xml.EndElement:
			if t.Name.Local == open {
				open = ""
			}
		case xml.CharData:
			if open != "" {
				add(open, string(t))
			}
		}
	}
}

// pdfDate parses a date such as D:YYYYMMDDHHmmSSOHH'mm', in which everything after the year is optional. It returns the
// zero time for other strings.
func pdfDate(s string) time.Time {
	s = strings.TrimPrefix(strings.TrimSpace(s), "D:")
	digits := 0
	for digits < len(s) && digits < 14 && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	const layout = "20060102150405"
	if digits < 4 || digits == 5 {
		return time.Time{}
	}
	digits -= digits % 2
	zone := strings.NewReplacer("'", "", ":", "", "Z", "").Replace(s[digits:])
	if len(zone) >= 5 && (zone[0] == '+' || zone[0] == '-') {
		if t, err := time.Parse(layout[:digits]+"-0700", s[:digits]+zone[:5]); err == nil {
			return t
		}
	}
	t, err := time.Parse(layout[:digits], s[:digits])
	if err != nil {
		return time.Time{}
	}
	return t
}

// OutlineItem is an entry in a document's outline.
type OutlineItem struct {
	Title string
	Depth int // 0 for top-level entries
	Page  int // page index, from 0; -1 if the entry does not point to a page in the file
}

const maxOutline = 10_000 // maximum number of entries to read

// Outline lists the outline entries in reading order. It ignores loops in the links between them.
func (d *Document) Outline() (items []OutlineItem) {
	var err error
	defer pdfobject.Recover(&err) // keep the entries read before a panic
	root := d.file.Trailer().Key("Root")
	first := root.Key("Outlines").Key("First")
	if first.Kind() != pdf.Dict {
		return nil
	}
	pages := make(map[uint32]int, len(d.pages))
	for i, p := range d.pages {
		pages[pdfobject.ObjectNumber(p.value())] = i
	}
	names := d.namedDestinations(root)
	seen := map[uint32]bool{}
	var walk func(v pdf.Value, depth int)
	walk = func(v pdf.Value, depth int) {
		for ; v.Kind() == pdf.Dict && depth < maxDepth && len(items) < maxOutline; v = v.Key("Next") {
			n := pdfobject.ObjectNumber(v)
			if n == 0 || seen[n] {
				return
			}
			seen[n] = true
			title := strings.Join(strings.Fields(pdfobject.TextString(v.Key("Title").RawString())), " ")
			if title != "" {
				items = append(items, OutlineItem{Title: title, Depth: depth, Page: pageOf(v, names, pages)})
			}
			walk(v.Key("First"), depth+1)
		}
	}
	walk(first, 0)
	return items
}

// pageOf returns the index of the page that an outline entry points to, or -1 if there is none.
func pageOf(v pdf.Value, names func(string) pdf.Value, pages map[uint32]int) int {
	dest := v.Key("Dest")
	if dest.Kind() == pdf.Null && v.Key("A").Key("S").Name() == "GoTo" {
		dest = v.Key("A").Key("D")
	}
	switch dest.Kind() {
	case pdf.String:
		dest = names(dest.RawString())
	case pdf.Name:
		dest = names(dest.Name())
	}
	if dest.Kind() == pdf.Dict {
		dest = dest.Key("D")
	}
	if i, ok := pages[pdfobject.ObjectNumber(dest.Index(0))]; ok && dest.Len() > 0 && dest.Index(0).Kind() == pdf.Dict {
		return i
	}
	return -1
}

// namedDestinations returns a function that looks up a named destination. The names are in a dictionary (old files) or
// in a name tree, which is read once.
func (d *Document) namedDestinations(root pdf.Value) func(string) pdf.Value {
	old := root.Key("Dests")
	var tree map[string]pdf.Value
	return func(name string) pdf.Value {
		if v := old.Key(name); v.Kind() != pdf.Null {
			return v
		}
		if tree == nil {
			tree = map[string]pdf.Value{}
			budget := 2 * maxOutline // nodes and names, which may be referenced repeatedly
			var walk func(v pdf.Value, depth int)
			walk = func(v pdf.Value, depth int) {
				if budget--; budget < 0 || depth > 16 {
					return
				}
				list := v.Key("Names")
				for i := 0; i+1 < list.Len() && len(tree) < maxOutline && budget > 0; i += 2 {
					budget--
					tree[list.Index(i).RawString()] = list.Index(i + 1)
				}
				for i := range min(v.Key("Kids").Len(), maxOutline) {
					walk(v.Key("Kids").Index(i), depth+1)
				}
			}
			walk(root.Key("Names").Key("Dests"), 0)
		}
		return tree[name]
	}
}
