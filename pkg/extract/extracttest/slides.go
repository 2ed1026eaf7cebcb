package extracttest

import (
	"fmt"
	"strings"
	"testing"
)

// Slides returns a presentation with the given slides and additional parts. The slides' relationships are rId1, rId2, …
// in presentation order.
func Slides(t testing.TB, slides []string, parts ...Part) []byte {
	t.Helper()
	var list strings.Builder
	var lines []string
	for i, s := range slides {
		// Part names are in reverse order, so that only the presentation's slide list has the correct order.
		name := fmt.Sprintf("slides/slide%d.xml", len(slides)-i)
		lines = append(lines, fmt.Sprintf("rId%d slide %s", i+1, name))
		fmt.Fprintf(&list, `<p:sldId id="%d" r:id="rId%d"/>`, 256+i, i+1)
		attr, body, _ := strings.Cut(s, "|")
		parts = append(parts, Part{"ppt/" + name, SlidePart("sld "+attr, body)})
	}
	parts = append(parts, Rels("ppt/presentation.xml", lines...),
		Part{"ppt/presentation.xml", `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>` + list.String() + `</p:sldIdLst></p:presentation>`})
	return Office(t, parts...)
}

// SlidePart returns a slide, layout, master or notes page with the given shapes. `root` is the root element's name,
// optionally followed by attributes.
func SlidePart(root, shapes string) string {
	name, _, _ := strings.Cut(root, " ")
	return `<p:` + root + ` xmlns:p="p" xmlns:a="a" xmlns:r="r" xmlns:c="c" xmlns:dgm="dgm" xmlns:mc="mc"><p:cSld><p:spTree>` + shapes + `</p:spTree></p:cSld></p:` + name + `>`
}

// Shape returns a shape with the given paragraphs. If `holder` is not "", the shape is a placeholder of that type.
func Shape(holder string, paragraphs ...string) string {
	ph := ""
	if holder != "" {
		ph = `<p:ph type="` + holder + `"/>`
	}
	return `<p:sp><p:nvSpPr><p:nvPr>` + ph + `</p:nvPr></p:nvSpPr><p:txBody>` + strings.Join(paragraphs, "") + `</p:txBody></p:sp>`
}

// Drawn returns a DrawingML paragraph.
func Drawn(props, text string) string {
	return `<a:p>` + props + `<a:r><a:rPr/><a:t>` + text + `</a:t></a:r></a:p>`
}

// SlideField returns a field on a slide, such as the slide number, together with the text it shows.
func SlideField(kind, shown string) string {
	return `<a:p><a:fld type="` + kind + `"><a:t>` + shown + `</a:t></a:fld></a:p>`
}
