package pdf_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf"
)

// locateIn returns a quotation's rectangles, looking in the first block of the extracted text that contains it.
func locateIn(t *testing.T, data []byte, quotation string) []domain.PageRectangle {
	t.Helper()
	src := format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.pdf"}
	lim := format.Limits{CacheDir: extracttest.Compiled}
	doc, err := extract.Parse(t.Context(), src, lim)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	for _, b := range doc.Blocks {
		at := strings.Index(b.Text, quotation)
		if at < 0 {
			continue
		}
		found, err := extract.Locate(t.Context(), src, lim, []format.Passage{{Text: b.Text, Page: b.Page, Spans: [][2]int{{at, at + len(quotation)}}}})
		if err != nil {
			t.Fatalf("Locate: %v", err)
		}
		return found[0][0]
	}
	t.Fatalf("no block contains %q: %+v", quotation, doc.Blocks)
	return nil
}

// rectangleLines formats rectangles as "page: x to x, y to y", rounded to points.
func rectangleLines(rectangles []domain.PageRectangle) string {
	var out []string
	for _, r := range rectangles {
		out = append(out, fmt.Sprintf("%d: %.0f to %.0f, %.0f to %.0f", r.Page, r.X, r.X+r.Width, r.Y, r.Y+r.Height))
	}
	return strings.Join(out, "\n")
}

// page returns a file with one page of 600 × 800 points. `entries` are added to the page's dictionary.
func page(entries, content string) []byte {
	objects := extracttest.PageObjects(content)
	objects[3] = strings.Replace(objects[3], "/MediaBox [0 0 595 842]", "/MediaBox [0 0 600 800] "+entries, 1)
	return extracttest.PDF(objects...)
}

func TestLocate(t *testing.T) {
	t.Parallel()
	const text = "The pump runs for seven years."
	left := extracttest.PDFLines("F1", 10, 100, 700, "The left column is read before the", "right one, from its top to the", "bottom, and has three lines or more", "so that it counts as a column.")
	right := extracttest.PDFLines("F1", 10, 320, 700, "The right column comes after it and", "repeats that the column is read", "from its top to the bottom, and so", "that nothing is ambiguous here.")
	table := func(x float64, rows ...string) string {
		var b strings.Builder
		for i, row := range rows {
			for k, cell := range strings.Split(row, "|") {
				b.WriteString(extracttest.At(map[bool]string{true: "F2", false: "F1"}[i == 0], 10, x+150*float64(k), 700-20*float64(i), cell))
			}
		}
		return b.String()
	}
	stock := table(100, "Part|In stock|Heated", "Seal|yes|no", "Bearing|yes|no", "Rotor|no|no", "Shaft|yes|no")
	tests := map[string]struct {
		data      []byte
		quotation string
		want      string // the baseline is at 100, so the text is between 91 and 103
	}{
		"the origin is the upper left corner": {
			page("", extracttest.At("F1", 10, 100, 700, text)), "pump runs", "1: 120 to 167, 91 to 102"},
		"the crop box is applied": {
			page("/CropBox [50 20 550 780]", extracttest.At("F1", 10, 100, 700, text)), "pump runs", "1: 70 to 117, 71 to 82"},
		"a page turned by 90 degrees": {
			page("/Rotate 90", extracttest.At("F1", 10, 100, 700, text)), "pump runs", "1: 698 to 709, 120 to 167"},
		"a page turned by 180 degrees": {
			page("/Rotate 180", extracttest.At("F1", 10, 100, 700, text)), "pump runs", "1: 433 to 480, 698 to 709"},
		"a page turned by 270 degrees with a crop box": {
			page("/Rotate 270 /CropBox [50 20 550 780]", extracttest.At("F1", 10, 100, 700, text)), "pump runs", "1: 71 to 82, 383 to 430"},
		"text that runs upwards": {
			page("", "BT /F1 10 Tf 0 1 -1 0 100 300 Tm ("+text+") Tj ET\n"), "pump runs", "1: 91 to 102, 433 to 480"},
		"a divided word is on two lines": {
			page("", extracttest.PDFLines("F1", 10, 100, 700, "The pump was commis-", "sioned in the year 2014.")), "commissioned", "1: 168 to 206, 91 to 102\n1: 100 to 129, 103 to 115"},
		"a sentence over the end of a column": {
			page("", left+right), "so that it counts as a column.", "1: 100 to 230, 128 to 140"},
		"the same words in two columns": {
			page("", left+right), "from its top to the bottom, and so", "1: 320 to 466, 116 to 128"},
		"cells that are equal in all rows": {
			page("", stock), "Part: Rotor; In stock: no; Heated: no", "1: 100 to 118, 91 to 102\n1: 250 to 284, 91 to 102\n1: 400 to 432, 91 to 102\n" +
				"1: 100 to 124, 151 to 162\n1: 250 to 261, 151 to 162\n1: 400 to 411, 151 to 162"},
		"a value that is equal in all rows": {
			page("", stock), "no", "1: 400 to 411, 111 to 122"},
		"a drop cap is not needed": {
			page("", extracttest.At("F1", 40, 100, 676, "O")+extracttest.At("F1", 10, 134, 696, "nce upon a time there was a pump, and the people of")+
				extracttest.At("F1", 10, 134, 682, "the town looked after it.")+extracttest.PDFLines("F1", 10, 100, 640, "And they greased its bearing on each day of the year.")),
			"upon a time", "1: 153 to 205, 95 to 106"},
		"superscripts and ligatures": {
			page("", extracttest.At("F1", 10, 100, 700, "The office has 40 m")+extracttest.At("F1", 6, 188, 704, "2")), "40 m²", "1: 166 to 191, 90 to 102"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := rectangleLines(locateIn(t, tt.data, tt.quotation)); got != tt.want {
				t.Errorf("rectangles of %q:\n%s\nwant:\n%s", tt.quotation, got, tt.want)
			}
		})
	}
}

// TestLocateNearPages finds a passage that starts on one page and continues on the next. The passage's page number is
// that of the page that contains more of it.
func TestLocateNearPages(t *testing.T) {
	t.Parallel()
	data := extracttest.PDFPages(extracttest.At("F1", 10, 100, 100, "The sentence begins on this page and then"),
		extracttest.PDFLines("F1", 10, 100, 760, "goes on for a while on the next page, because", "there was no more space for it."))
	src := format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.pdf"}
	text := "The sentence begins on this page and then goes on for a while on the next page, because there was no more space for it."
	found, err := extract.Locate(t.Context(), src, format.Limits{}, []format.Passage{{Text: text, Page: 2, Spans: [][2]int{{0, len(text)}}}, {Text: "something else", Page: 1, Spans: [][2]int{{0, 14}}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rectangleLines(found[0][0]), "1: 100 to 292, 733 to 744\n2: 100 to 305, 73 to 84\n2: 100 to 237, 85 to 97"; got != want {
		t.Errorf("rectangles:\n%s\nwant:\n%s", got, want)
	}
	if len(found[1][0]) != 0 {
		t.Errorf("text of another file has rectangles: %v", found[1][0])
	}
}

// TestLocateWithPDFium compares rectangles from pdftext and PDFium on pages with a rotation and a crop box.
func TestLocateWithPDFium(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiling PDFium takes seconds")
	}
	for _, rotate := range []int{0, 90, 180, 270} {
		data := page(fmt.Sprintf("/Rotate %d /CropBox [50 20 550 780]", rotate), extracttest.At("F1", 10, 100, 700, "The pump runs for seven years.")+extracttest.At("F1", 10, 100, 400, "It is made of steel."))
		own := locateIn(t, data, "pump runs")
		other := pdf.LocateWithPDFium(t, data, "The pump runs for seven years.", [2]int{4, 13})
		if len(own) != 1 || len(other) != 1 || distance(own[0], other[0]) > 3 {
			t.Errorf("rotated by %d degrees: pdftext finds %v, PDFium %v", rotate, own, other)
		}
	}
}

// distance returns the largest distance between the edges of two rectangles.
func distance(a, b domain.PageRectangle) float64 {
	return max(math.Abs(a.X-b.X), math.Abs(a.Y-b.Y), math.Abs(a.X+a.Width-b.X-b.Width), math.Abs(a.Y+a.Height-b.Y-b.Height))
}
