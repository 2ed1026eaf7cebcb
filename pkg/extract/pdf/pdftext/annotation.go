package pdftext

import (
	"strings"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

const maxAnnotations = 5_000 // maximum number of annotations per page

// annotations reads annotations with text: form fields with their values, free text and stamps.
func (in *interpreter) annotations(list pdf.Value) error {
	in.covering = false // a field's background hides no text, only the line to write on
	for i := range min(list.Len(), maxAnnotations) {
		a := list.Index(i)
		kind := a.Key("Subtype").Name()
		switch kind {
		case "Popup", "Link", "Text", "FileAttachment", "Sound", "Movie", "Highlight", "Underline", "StrikeOut", "Squiggly":
			continue
		}
		const invisible, hidden, noView = 1, 2, 32
		if a.Key("F").Int64()&(invisible|hidden|noView) != 0 {
			continue
		}
		if in.doc.hides(a.Key("OC")) {
			in.unseen.Hidden += len(fieldText(a.Key("Contents"))) + len(displayedValue(inherited(a, "V"), pdf.Value{}))
			continue
		}
		if kind == "Widget" {
			if f, ok := in.field(a); ok {
				in.fields = append(in.fields, f)
				continue
			}
		}
		before := in.doc.Stats.Glyphs
		if err := in.appearance(a); err != nil {
			return err
		}
		if in.doc.Stats.Glyphs == before { // viewers themselves draw the text of annotations without an appearance
			if kind == "FreeText" {
				in.freeText(a.Key("Contents").Text(), a)
			}
		}
	}
	return nil
}

// appearance interprets an annotation's normal appearance stream, scaled to its rectangle.
func (in *interpreter) appearance(a pdf.Value) error {
	ap := a.Key("AP").Key("N")
	if ap.Kind() == pdf.Dict {
		ap = ap.Key(a.Key("AS").Name())
	}
	if ap.Kind() != pdf.Stream {
		return nil
	}
	in.state = initialGraphics(in.box.toPage)
	at, ok := rectOf(a.Key("Rect"))
	box, ok2 := rectOf(ap.Key("BBox"))
	if ok && ok2 {
		if m := ap.Key("Matrix"); m.Len() == 6 {
			box = box.transform(matrixOf(m))
		}
		sx, sy := (at.x1-at.x0)/(box.x1-box.x0), (at.y1-at.y0)/(box.y1-box.y0)
		if fit := (matrix{sx, 0, 0, sy, at.x0 - box.x0*sx, at.y0 - box.y0*sy}); fit.finite() {
			in.state.ctm = fit.mul(in.state.ctm)
		}
	}
	in.out.breakLine()
	return in.form(ap, newResources(in.doc, pdf.Value{}), 1)
}

// inherited returns the value of `key` in a form field. If the field has no such entry, it returns the value from the
// nearest parent that has one.
func inherited(field pdf.Value, key string) pdf.Value {
	for range maxDepth {
		if v := field.Key(key); v.Kind() != pdf.Null {
			return v
		}
		if field = field.Key("Parent"); field.Kind() != pdf.Dict {
			break
		}
	}
	return pdf.Value{}
}

// freeText adds the text of an annotation without an appearance, starting at the top of its rectangle.
func (in *interpreter) freeText(text string, a pdf.Value) {
	r, ok := rectOf(a.Key("Rect"))
	if !ok || strings.TrimSpace(text) == "" {
		return
	}
	const usual = 10
	size := min(usual, r.y1-r.y0)
	y := r.y1 - (min(r.y1-r.y0, 1.4*size)+0.7*size)/2
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if in.budget -= len(line); in.budget < 0 {
			return
		}
		in.out.breakLine()
		width := min(0.5*size*float64(utf8.RuneCountInString(line)), r.x1-r.x0)
		in.state = initialGraphics(in.box.toPage)
		m := (matrix{size, 0, 0, size, r.x0, y}).mul(in.state.ctm)
		x1, y1 := in.state.ctm.apply(r.x0+width, y)
		in.count(line)
		in.emit(line, in.styleOf(m), [2]float64{m[4], m[5]}, [2]float64{x1, y1})
		y -= 1.2 * size
	}
	in.out.breakLine()
}

// Link is a clickable area on a page with the URL it points to.
type Link struct {
	X0, Y0, X1, Y1 float64 // in points from the visible page's lower left corner
	URL            string
}

// Links lists, in file order, the links on page i (counted from 0) that point to URLs outside the file.
func (d *Document) Links(i int) (links []Link) {
	var err error
	defer pdfobject.Recover(&err) // return links read before a panic
	p := d.pages[i]
	list := p.value().Key("Annots")
	toPage := d.box(p).toPage
	for j := range min(list.Len(), maxAnnotations) {
		a := list.Index(j)
		if a.Key("Subtype").Name() != "Link" {
			continue
		}
		r, ok := rectOf(a.Key("Rect"))
		url := strings.TrimSpace(pdfobject.TextString(a.Key("A").Key("URI").RawString()))
		if !ok || url == "" || len(url) > 4096 {
			continue
		}
		r = r.transform(toPage)
		links = append(links, Link{r.x0, r.y0, r.x1, r.y1, url})
	}
	return links
}
