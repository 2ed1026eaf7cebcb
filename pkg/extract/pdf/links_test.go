package pdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// with returns a file with the given pages, additional entries in the dictionaries of the first page and the catalogue,
// and additional objects, numbered from freeObject.
func with(page, catalogue string, more []string, contents ...string) []byte {
	objects := extracttest.PageObjects(contents...)
	objects[0] = strings.Replace(objects[0], ">>", catalogue+" >>", 1)
	objects[3] = strings.Replace(objects[3], "/Parent", page+" /Parent", 1)
	return extracttest.PDF(append(objects, more...)...)
}

func freeObject(pages int) int { return 4 + 2*pages }

func linkTo(url string, x0, y0, x1, y1 float64) string {
	return fmt.Sprintf("<< /Subtype /Link /Rect [%g %g %g %g] /A << /S /URI /URI (%s) >> >>", x0, y0, x1, y1, url)
}

func TestLinksOfPDFs(t *testing.T) {
	t.Parallel()
	const a, b = "https://example.org/a", "https://example.org/b"
	tests := map[string]struct {
		annots, content string
		want            []domain.BlockLink // links in all blocks
	}{
		"a link has the words that it lies on": {
			linkTo(a, 94, 697, 149.5, 710), extracttest.At("F1", 11, 72, 700, "See the manual for more."),
			[]domain.BlockLink{{Text: "the manual", URL: a}}},
		"a link that goes on over a line's end is one": {
			linkTo(a, 94, 697, 200, 710) + linkTo(a, 72, 683, 117, 696), extracttest.PDFLines("F1", 11, 72, 700, "See the manual", "of pumps for more."),
			[]domain.BlockLink{{Text: "the manual of pumps", URL: a}}},
		"a note's number is a link of its own": {
			linkTo(b, 117, 697, 137, 710), extracttest.At("F1", 11, 72, 700, "the pump[12], which"),
			[]domain.BlockLink{{Text: "[12]", URL: b}}},
		"the rows of a table keep their links": {
			linkTo(a, 200, 673, 260, 686) + linkTo(b, 200, 649, 260, 662),
			extracttest.At("F2", 11, 72, 700, "Part") + extracttest.At("F2", 11, 200, 700, "Maker") + extracttest.At("F1", 11, 72, 676, "Seal") + extracttest.At("F1", 11, 200, 676, "Weir") +
				extracttest.At("F1", 11, 72, 652, "Rotor") + extracttest.At("F1", 11, 200, 652, "Sulzer"),
			[]domain.BlockLink{{Text: "Weir", URL: a}, {Text: "Sulzer", URL: b}}},
		"text that is turned has links": {
			linkTo(a, 10, 321, 25, 380), "BT /F1 11 Tf 0 1 -1 0 20 300 Tm (See the manual) Tj ET " + extracttest.PDFLines("F1", 11, 72, 700, "Most of the page's text runs as usual", "and has no links at all."),
			[]domain.BlockLink{{Text: "the manual", URL: a}}},
		"a link beside all text is none of it": {
			linkTo(a, 300, 97, 400, 110), extracttest.At("F1", 11, 72, 700, "See the manual for more."), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.pdf", with("/Annots ["+tt.annots+"]", "", nil, tt.content))
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			var got []domain.BlockLink
			for _, block := range doc.Blocks {
				got = append(got, block.Links...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOutlineOfAPDFGivesItsHeadingsTheirLevels(t *testing.T) {
	t.Parallel()
	text := func(y float64) string {
		return extracttest.PDFLines("F1", 11, 72, y, "A paragraph that has the size of the document's body text, as the headings here", "have too, of which nothing but the outline speaks.")
	}
	first := extracttest.At("F2", 16, 72, 760, "Chapter 1") + extracttest.At("F2", 16, 72, 740, "The pump") + text(700) + extracttest.At("F1", 11, 72, 640, "1.1 Its parts") + text(600)
	second := extracttest.At("F1", 11, 72, 760, "Of the shaft-seal") + text(720)
	n := freeObject(2)
	entry := func(title string, page, parent int, more string) string {
		return fmt.Sprintf("<< /Title (%s) /Dest [%d 0 R /Fit] /Parent %d 0 R %s >>", title, page, parent, more)
	}
	data := with("", fmt.Sprintf("/Outlines %d 0 R", n), []string{
		fmt.Sprintf("<< /First %d 0 R /Last %[1]d 0 R >>", n+1),
		entry("The pump", 4, n, fmt.Sprintf("/First %d 0 R", n+2)),
		entry("Its parts", 4, n+1, fmt.Sprintf("/First %d 0 R", n+3)),
		entry("OF THE SHAFT SEAL", 6, n+2, ""),
	}, first, second)
	var got []string
	for _, line := range blockLines(t, data) {
		if !strings.HasPrefix(line, "p: ") {
			got = append(got, line)
		}
	}
	want := []string{"h1: Chapter 1 The pump", "h2: 1.1 Its parts", "h3: Of the shaft-seal"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}
}

func TestPDFsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	n := freeObject(1)
	xmp := `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="r" xmlns:dc="d" xmlns:xmp="x"><rdf:Description xmp:CreateDate="2024-05-06T07:08:09Z">` +
		`<dc:title><rdf:Alt><rdf:li>The pump</rdf:li></rdf:Alt></dc:title><dc:creator><rdf:Seq><rdf:li>A. Lovelace</rdf:li></rdf:Seq></dc:creator>` +
		`<dc:subject><rdf:Bag><rdf:li>pumps</rdf:li><rdf:li>seals</rdf:li></rdf:Bag></dc:subject><dc:description><rdf:Alt><rdf:li>How it works</rdf:li></rdf:Alt></dc:description></rdf:Description></rdf:RDF></x:xmpmeta>`
	data := with("", fmt.Sprintf("/Lang (en-GB) /Metadata %d 0 R", n), []string{extracttest.Stream("/Type /Metadata /Subtype /XML", xmp)}, extracttest.At("F1", 11, 72, 700, "The pump is described here."))
	doc, err := readtest.Parse(t, "a.pdf", data)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	if doc.Title != "The pump" || doc.Language != "en-GB" {
		t.Errorf("title %q in %q, want %q in %q", doc.Title, doc.Language, "The pump", "en-GB")
	}
	want := map[string]string{domain.MetaAuthor: "A. Lovelace", domain.MetaKeywords: "pumps, seals", domain.MetaDescription: "How it works", domain.MetaCreated: "2024-05-06T07:08:09Z"}
	if diff := cmp.Diff(want, doc.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}
