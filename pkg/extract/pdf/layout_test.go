package pdf_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// blockLines returns a document's blocks as "kind and level: text".
func blockLines(t *testing.T, data []byte) []string {
	t.Helper()
	doc, err := readtest.Parse(t, "a.pdf", data)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	var got []string
	for _, b := range doc.Blocks {
		kind := map[string]string{"heading": "h", "paragraph": "p", "list_item": "li", "table_row": "tr"}[string(b.Kind)]
		if b.Level > 0 {
			kind += fmt.Sprint(b.Level)
		}
		got = append(got, kind+": "+b.Text)
	}
	return got
}

const (
	leftOne, leftTwo   = "The left column is read first, from", "its top down to where it ends."
	rightOne, rightTwo = "The right column comes after that,", "as the eye of a reader would go."
)

func TestPDFLayout(t *testing.T) {
	t.Parallel()
	body := extracttest.PDFLines("F1", 11, 72, 100, "A last paragraph says what size most of the text has, and is therefore of some",
		"length: it goes on for a second line and then on to a third one, so that no doubt", "is left.")
	const bodyText = "p: A last paragraph says what size most of the text has, and is therefore of some length: it goes on for a second line and then on to a third one, so that no doubt is left."
	tests := map[string]struct {
		content string
		want    []string
	}{
		"headings are ranked by size": {
			extracttest.At("F2", 22, 72, 760, "The manual") + extracttest.At("F2", 16, 72, 700, "The pump") + body,
			[]string{"h1: The manual", "h2: The pump", bodyText}},
		"columns are read one after the other": {
			extracttest.PDFLines("F1", 11, 72, 700, leftOne, leftTwo) + extracttest.PDFLines("F1", 11, 320, 700, rightOne, rightTwo) + body,
			[]string{"p: " + leftOne + " " + leftTwo, "p: " + rightOne + " " + rightTwo, bodyText}},
		"columns that are shown line by line are taken apart": {
			extracttest.At("F1", 11, 72, 700, leftOne) + extracttest.At("F1", 11, 320, 700, rightOne) + extracttest.At("F1", 11, 72, 686, "its top down to where it then ends,") + extracttest.At("F1", 11, 320, 686, "as the eye of a reader would go on") +
				extracttest.At("F1", 11, 72, 672, "without a look at what is beside it,") + extracttest.At("F1", 11, 320, 672, "when it has come to the bottom of it") + extracttest.At("F1", 11, 72, 658, "however near that may be to its text.") + extracttest.At("F1", 11, 320, 658, "and not go to and fro between them.") + body,
			[]string{"p: " + leftOne + " its top down to where it then ends, without a look at what is beside it, however near that may be to its text.",
				"p: " + rightOne + " as the eye of a reader would go on when it has come to the bottom of it and not go to and fro between them.", bodyText}},
		"words divided at line ends are joined and compounds keep their hyphens": {
			extracttest.PDFLines("F1", 11, 72, 700, "The pump was commis-", "sioned in 2014-", "2016 by Jean-", "Paul with state-of-the-", "art tools."),
			[]string{"p: The pump was commissioned in 2014-2016 by Jean-Paul with state-of-the-art tools."}},
		"rows of a table name their columns and keep cells of several lines": {
			extracttest.At("F2", 11, 72, 700, "Part") + extracttest.At("F2", 11, 200, 700, "Use") + extracttest.At("F2", 11, 420, 700, "Price") +
				extracttest.At("F1", 11, 72, 676, "Seal") + extracttest.At("F1", 11, 200, 676, "keeps the water in") + extracttest.At("F1", 11, 420, 676, "12 EUR") +
				extracttest.At("F1", 11, 200, 664, "and the air out") +
				extracttest.At("F1", 11, 72, 640, "Bearing") + extracttest.At("F1", 11, 200, 640, "carries the shaft") + extracttest.At("F1", 11, 420, 640, "90 EUR") +
				extracttest.At("F1", 11, 72, 616, "Rotor") + extracttest.At("F1", 11, 420, 616, "310 EUR") + body,
			[]string{"tr: Part\tUse\tPrice", "tr: Part: Seal; Use: keeps the water in and the air out; Price: 12 EUR",
				"tr: Part: Bearing; Use: carries the shaft; Price: 90 EUR", "tr: Part: Rotor; Price: 310 EUR", bodyText}},
		"list items go on over lines": {
			extracttest.PDFLines("F1", 11, 72, 700, "- Grease the bearing every day and look") + extracttest.PDFLines("F1", 11, 82, 686, "whether it runs warm.") + extracttest.At("F1", 11, 72, 672, "- Close the valve.") + body,
			[]string{"li1: - Grease the bearing every day and look whether it runs warm.", "li1: - Close the valve.", bodyText}},
		"marks that are shown apart from their items belong to them": {
			extracttest.PDFLines("F1", 11, 100, 700, "Close the valve.", "Open the drain.") + extracttest.PDFLines("F1", 11, 82, 700, "1.", "2.") + body,
			[]string{"li1: 1. Close the valve.", "li1: 2. Open the drain.", bodyText}},
		"marks that stand far before their items make no table": {
			extracttest.At("F1", 11, 72, 700, "1.") + extracttest.At("F1", 11, 108, 700, "Close the valve.") + extracttest.At("F1", 11, 72, 686, "2.") + extracttest.At("F1", 11, 108, 686, "Open the drain.") + body,
			[]string{"li1: 1. Close the valve.", "li1: 2. Open the drain.", bodyText}},
		"list items are nested by their indent": {
			extracttest.At("F1", 11, 72, 700, "- Close the valve.") + extracttest.At("F1", 11, 90, 686, "- Turn it to the right.") + extracttest.At("F1", 11, 90, 672, "- Look at the gauge.") + extracttest.At("F1", 11, 72, 658, "- Open the drain.") + body,
			[]string{"li1: - Close the valve.", "li2: - Turn it to the right.", "li2: - Look at the gauge.", "li1: - Open the drain.", bodyText}},
		"a list after a paragraph begins anew": {
			extracttest.At("F1", 11, 72, 700, "- Close the valve.") + extracttest.At("F1", 11, 72, 670, "This is a paragraph between two lists.") + extracttest.At("F1", 11, 90, 640, "- Open the drain.") + body,
			[]string{"li1: - Close the valve.", "p: This is a paragraph between two lists.", "li1: - Open the drain.", bodyText}},
		"a caption is no part of the text above and below": {
			extracttest.PDFLines("F1", 11, 72, 700, "The pump is shown from the side, and its parts", "are named as in the list.") + extracttest.At("F1", 10.5, 72, 671, "Figure 3: The pump and its shaft, as seen from") + extracttest.At("F1", 10.5, 72, 658, "the side of the motor.") +
				extracttest.PDFLines("F1", 11, 72, 644, "Text goes on below the caption as if nothing", "had come between."),
			[]string{"p: The pump is shown from the side, and its parts are named as in the list.", "p: Figure 3: The pump and its shaft, as seen from the side of the motor.",
				"p: Text goes on below the caption as if nothing had come between."}},
		"a figure that a sentence names is no caption": {
			extracttest.PDFLines("F1", 11, 72, 700, "The pump and all of its parts are shown in", "Figure 3: the shaft is on the left of it."),
			[]string{"p: The pump and all of its parts are shown in Figure 3: the shaft is on the left of it."}},
		"footnotes stand on their own": {
			extracttest.PDFLines("F1", 11, 72, 700, "The pump was made in the year of the flood, and it has run ever since the day on", "which it was set up.") +
				extracttest.PDFLines("F1", 10, 72, 674, "1 See the report of the keeper.", "2 The flood lasted for a week, and the gate was", "shut all the time."),
			[]string{"p: The pump was made in the year of the flood, and it has run ever since the day on which it was set up.",
				"p: 1 See the report of the keeper.", "p: 2 The flood lasted for a week, and the gate was shut all the time."}},
		"text at the margin that is turned comes last": {
			"BT /F1 9 Tf 0 1 -1 0 20 300 Tm (stamped at the margin) Tj ET " + body, []string{bodyText, "p: stamped at the margin"}},
		"a page turned as a whole reads as others": {
			"q 0 1 -1 0 595 0 cm " + extracttest.PDFLines("F1", 11, 72, 300, "The first line of a broad page goes", "on to the second.") + " Q",
			[]string{"p: The first line of a broad page goes on to the second."}},
		"lines shown bottom up are read top down": {
			extracttest.PDFLines("F1", 11, 72, 500, "seven.") + extracttest.At("F1", 11, 72, 513, "six") + extracttest.At("F1", 11, 72, 526, "five") + extracttest.At("F1", 11, 72, 539, "four") + extracttest.At("F1", 11, 72, 552, "three") + extracttest.At("F1", 11, 72, 565, "two") + extracttest.At("F1", 11, 72, 578, "One"),
			[]string{"p: One two three four five six seven."}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, blockLines(t, extracttest.PDFPages(tt.content))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeadersAndFootersOfPDFsAreReadOnce(t *testing.T) {
	t.Parallel()
	var pages []string
	for i := range 6 {
		c := extracttest.At("F1", 9, 72, 800, "Annual report of the lighthouse")
		for n := range 8 {
			c += extracttest.At("F1", 11, 72, 760-float64(n)*14, fmt.Sprintf("Line %d of page %d is the text that is to be found.", n, i))
		}
		pages = append(pages, c+extracttest.At("F1", 9, 300, 30, fmt.Sprintf("- %d -", i+1)))
	}
	text := strings.Join(blockLines(t, extracttest.PDFPages(pages...)), "\n")
	if n := strings.Count(text, "Annual report"); n != 1 {
		t.Errorf("the header is there %d times, want once:\n%s", n, text)
	}
	if strings.Contains(text, "- 3 -") {
		t.Errorf("a page's number is in the text:\n%s", text)
	}
	if n := strings.Count(text, "Line 0 of page"); n != 6 {
		t.Errorf("%d first lines are there, want 6", n)
	}
}

func TestHeadersThatTheFileNamesAreReadOnce(t *testing.T) {
	t.Parallel()
	const artifact = "/Artifact << /Type /Pagination /Subtype /Header >> BDC "
	page := func(n int) string {
		return artifact + extracttest.At("F1", 9, 72, 800, "The pump") + extracttest.At("F1", 9, 400, 500, fmt.Sprint(n)) + "EMC " + extracttest.At("F1", 11, 72, 700, "Short text of the page.")
	}
	want := []string{"p: The pump", "p: Short text of the page.", "p: Short text of the page."}
	if diff := cmp.Diff(want, blockLines(t, extracttest.PDFPages(page(1), page(2)))); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestTablesGoOnOverPages(t *testing.T) {
	t.Parallel()
	row := func(font string, y float64, a, b, c string) string {
		return extracttest.At(font, 11, 72, y, a) + extracttest.At(font, 11, 200, y, b) + extracttest.At(font, 11, 420, y, c)
	}
	first := row("F2", 700, "Part", "Use", "Price") + row("F1", 680, "Seal", "keeps water in", "12 EUR") + row("F1", 660, "Rotor", "turns", "310 EUR")
	rest := row("F1", 680, "Bearing", "carries the shaft", "90 EUR") + row("F1", 660, "Valve", "shuts", "25 EUR")
	want := []string{"tr: Part\tUse\tPrice", "tr: Part: Seal; Use: keeps water in; Price: 12 EUR", "tr: Part: Rotor; Use: turns; Price: 310 EUR",
		"tr: Part: Bearing; Use: carries the shaft; Price: 90 EUR", "tr: Part: Valve; Use: shuts; Price: 25 EUR"}
	tests := map[string]struct {
		second string
		want   []string
	}{
		"without the names of its columns":    {rest, want},
		"with the names of its columns again": {row("F2", 700, "Part", "Use", "Price") + rest, want},
		"not after text, which begins another one": {extracttest.At("F1", 11, 72, 740, "Other parts are listed below.") + rest,
			append(append([]string{}, want[:3]...), "p: Other parts are listed below.", "tr: Bearing\tcarries the shaft\t90 EUR", "tr: Valve\tshuts\t25 EUR")},
		"not with other columns": {extracttest.At("F1", 11, 72, 680, "Bearing") + extracttest.At("F1", 11, 300, 680, "90 EUR") + extracttest.At("F1", 11, 72, 660, "Valve") + extracttest.At("F1", 11, 300, 660, "25 EUR"),
			append(append([]string{}, want[:3]...), "tr: Bearing\t90 EUR", "tr: Valve\t25 EUR")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, blockLines(t, extracttest.PDFPages(first, tt.second))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeadingsOfPDFPagesThatCountWithThePagesAreKept(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, part := range []int{1, 2, 3, 3, 3} {
		c := extracttest.At("F1", 16, 72, 800, fmt.Sprintf("Part %d", part))
		for n := range 8 {
			c += extracttest.At("F1", 11, 72, 760-float64(n)*14, fmt.Sprintf("Line %d of the part is the text that is to be found.", n))
		}
		pages = append(pages, c)
	}
	var heads []string
	for _, line := range blockLines(t, extracttest.PDFPages(pages...)) {
		if strings.HasPrefix(line, "h") {
			heads = append(heads, line)
		}
	}
	if diff := cmp.Diff([]string{"h1: Part 1", "h1: Part 2", "h1: Part 3"}, heads); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}
}

func TestScannedPagesAmongOthersAreNamed(t *testing.T) {
	t.Parallel()
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R 5 0 R 3 0 R 5 0 R 5 0 R] /Count 5 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
		extracttest.Stream("", extracttest.PDFLines("F1", 11, 72, 700, "A page of text that is long enough to be told", "from one that has hardly any: it goes on for more", "than two lines.")),
		"<< /Type /Page /Parent 2 0 R /Contents 6 0 R /Resources << /XObject << /I 7 0 R >> >> >>",
		extracttest.Stream("", "9 0 0 9 0 0 cm /I Do"),
		extracttest.Stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", "x")}
	doc, err := readtest.Parse(t, "a.pdf", extracttest.PDF(objects...))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pages 2, 4 to 5: no text, only images; OCR is needed to read them: " + format.NoOCR}
	if diff := cmp.Diff(want, doc.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if doc.Route != "pdf/own" {
		t.Errorf("route = %q, want pdf/own", doc.Route)
	}
}

func TestPagesThatAreNotUnderstoodGoToPDFium(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiling PDFium takes seconds")
	}
	good := extracttest.At("F1", 11, 72, 700, "A page that our own layer reads as it should be read.")
	bad := good + " BT /F9 11 Tf (" + strings.Repeat("\\001\\002", 40) + ") Tj ET"
	data := bytes.ReplaceAll(extracttest.PDFPages(good, bad, good), []byte("<< /Font <<"), []byte("<< /Font << /F9 << /Type /Font /Subtype /Type1 /BaseFont /X /Encoding << /Differences [1 /c1 /c2] >> >>"))
	doc, err := readtest.Parse(t, "a.pdf", data)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(readtest.Render(doc), "as it should be read"); n != 3 {
		t.Errorf("%d pages are there, want 3:\n%s", n, readtest.Render(doc))
	}
	if !strings.HasPrefix(doc.Route, "pdf/own, pdfium for page 2 (") {
		t.Errorf("route = %q, want PDFium for page 2 alone", doc.Route)
	}
}

func TestPDFStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data := extracttest.BookPDF(3)
	if _, err := extract.Parse(ctx, format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.pdf"}, format.Limits{}); err == nil || format.KindOf(err) != "" {
		t.Errorf("error = %v, want the context's and no fault of the document", err)
	}
}
