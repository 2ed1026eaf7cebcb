package pdf_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// scannedPDF returns a PDF with one page per content. The pages can show the picture /I and use the font /F1.
func scannedPDF(contents ...string) []byte {
	kids := ""
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "",
		extracttest.Stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", "x"),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	for _, content := range contents {
		n := len(objects) + 1
		kids += fmt.Sprintf("%d 0 R ", n)
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /XObject << /I 3 0 R >> /Font << /F1 4 0 R >> >> >>", n+1),
			extracttest.Stream("", content))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids, len(contents))
	return extracttest.PDF(objects...)
}

const picture = "q 595 0 0 842 0 0 cm /I Do Q "

var prose = []string{
	"The pumps are checked in the first week of March by two", "people who know the building, and a record of the check", "is kept for at least ten years in the office.",
}

// found returns a recognised page with the given lines.
func found(number int, confidence float64, lines ...string) scan.Page {
	p := scan.Page{Number: number, Width: 2479, Height: 3508}
	for k, text := range lines {
		x, y := 300.0, 400+60*float64(k)
		l := scan.Line{Left: x, Base: y, Size: 46, Column: 1}
		for word := range strings.FieldsSeq(text) {
			end := x + 22*float64(len(word))
			l.Words = append(l.Words, scan.Word{Text: word, X0: x, X1: end, Y0: y - 36, Y1: y + 10, Confidence: confidence})
			x = end + 14
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// readScans reads a PDF with recognised pages. It returns the document, or the pages to recognise.
func readScans(t *testing.T, data []byte, report bool, pages ...scan.Page) (*domain.Document, []int) {
	t.Helper()
	scans := format.Scans{Report: report, Limit: 100, Pages: map[int]scan.Page{}}
	for _, p := range pages {
		scans.Pages[p.Number] = p
	}
	src := format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.pdf", Scans: scans}
	doc, err := extract.Parse(t.Context(), src, format.Limits{CacheDir: extracttest.Compiled})
	if e, ok := errors.AsType[*format.Error](err); ok && e.Kind == format.Scanned {
		return nil, e.Pages
	}
	if err != nil {
		t.Fatal(err)
	}
	return doc, nil
}

func TestOnlyPagesThatNeedItAreRecognised(t *testing.T) {
	t.Parallel()
	text := extracttest.PDFLines("F1", 11, 72, 700, prose...)
	outlines := strings.Repeat("100 100 m 100 110 110 110 110 100 c f ", 100)
	file := scannedPDF(text, picture, picture+extracttest.PDFLines("F1", 9, 500, 20, "Page 3"), picture+text, "", outlines, "q 20 0 0 20 0 0 cm /I Do Q")
	if _, pages := readScans(t, file, true); !slices.Equal(pages, []int{2, 3, 6}) {
		t.Fatalf("pages %v are to be recognised", pages)
	}
	scans := []scan.Page{found(2, 0.95, "The page was read by", "another program."), found(3, 0.7, "So was this longer page with its number: Page 3"), found(6, 0.9)}
	doc, pages := readScans(t, file, true, scans...)
	if pages != nil {
		t.Fatalf("pages %v are to be recognised again", pages)
	}
	want := strings.Join([]string{
		"paragraph on 1: " + strings.Join(prose, " "), "paragraph on 2: The page was read by another program.",
		"paragraph on 3: So was this longer page with its number: Page 3", "paragraph on 4: " + strings.Join(prose, " "),
	}, "\n")
	if got := readtest.Lines(doc); got != want {
		t.Errorf("the blocks are\n%s", got)
	}
	if len(doc.Recognised) != 2 || doc.Recognised[2] != 0.95 || !strings.Contains(doc.Route, "ocr for pages 2 to 3") {
		t.Errorf("recognised: %v, route %q", doc.Recognised, doc.Route)
	}
	if len(doc.Warnings) != 1 || !strings.HasPrefix(doc.Warnings[0], "page 3: the recognised text is uncertain") {
		t.Errorf("the warnings are %q", doc.Warnings)
	}
}

// TestATextLayerIsComparedWithItsPicture reads four pages with invisible text over a picture.
func TestATextLayerIsComparedWithItsPicture(t *testing.T) {
	t.Parallel()
	hidden := picture + "3 Tr " + extracttest.PDFLines("F1", 11, 72, 700, prose...)
	file := scannedPDF(hidden, hidden, hidden, hidden)
	_, sample := readScans(t, file, true)
	if !slices.Equal(sample, []int{1, 2, 4}) {
		t.Fatalf("the sample has pages %v", sample)
	}
	same := []scan.Page{found(1, 0.95, prose...), found(2, 0.95, prose...), found(4, 0.95, prose...)}
	doc, pages := readScans(t, file, true, same...)
	if pages != nil || len(doc.Recognised) != 0 || len(doc.Warnings) != 0 {
		t.Errorf("a layer that matches: pages %v, %+v", pages, doc)
	}
	other := []string{"Quite another text is in the picture of this page, so", "readers would look in vain for what the layer says", "about the machines of the house."}
	wrong := []scan.Page{found(1, 0.95, other...), found(2, 0.95, other...), found(4, 0.95, other...)}
	if _, pages := readScans(t, file, true, wrong...); !slices.Equal(pages, []int{3}) {
		t.Errorf("after a sample that differs, pages %v are recognised", pages)
	}
	doc, _ = readScans(t, file, false, append(wrong, found(3, 0.95, prose...))...)
	if got := strings.Count(readtest.Text(doc), "Quite another text"); got != 3 || !strings.Contains(readtest.Text(doc), prose[0]) {
		t.Errorf("%d layers were replaced: %s", got, readtest.Text(doc))
	}
	if len(doc.Warnings) != 1 || !strings.HasPrefix(doc.Warnings[0], "pages 1 to 2, 4: the text layer does not match") {
		t.Errorf("the warnings are %q", doc.Warnings)
	}
	unsure := []scan.Page{found(1, 0.5, other...), found(2, 0.5, other...), found(4, 0.5, other...)}
	if doc, pages := readScans(t, file, true, unsure...); pages != nil || len(doc.Recognised) != 0 {
		t.Errorf("doubtful recognition replaced a layer: %v", pages)
	}
}

func TestFailedAndSkippedRecognitionIsReported(t *testing.T) {
	t.Parallel()
	text := extracttest.PDFLines("F1", 11, 72, 700, prose...)
	doc, _ := readScans(t, scannedPDF(text, picture), false, scan.Page{Number: 2, Width: 1, Height: 1, Failed: "OCR failed"})
	if len(doc.Warnings) != 1 || doc.Warnings[0] != "page 2: OCR failed" {
		t.Errorf("the warnings are %q", doc.Warnings)
	}
	file := scannedPDF(picture)
	src := format.Source{Data: bytes.NewReader(file), Size: int64(len(file)), Scans: format.Scans{Limit: 1, Pages: map[int]scan.Page{1: found(1, 0.9)}}}
	_, err := extract.Parse(t.Context(), src, format.Limits{CacheDir: extracttest.Compiled})
	if format.KindOf(err) != format.NoText || !strings.Contains(err.Error(), "no text was recognised") {
		t.Errorf("a picture without text: %v", err)
	}
	_, err = readtest.Parse(t, "a.pdf", file)
	if format.KindOf(err) != format.NoText || !strings.Contains(err.Error(), "install Tesseract") {
		t.Errorf("without recognition: %v", err)
	}
	limited := format.Source{Data: bytes.NewReader(scannedPDF(picture, picture, picture)), Scans: format.Scans{Report: true, Limit: 2}}
	limited.Size = int64(len(scannedPDF(picture, picture, picture)))
	_, err = extract.Parse(t.Context(), limited, format.Limits{CacheDir: extracttest.Compiled})
	if e, ok := errors.AsType[*format.Error](err); !ok || !slices.Equal(e.Pages, []int{1, 2}) {
		t.Errorf("with a limit of two pages: %v", err)
	}
	limited.Scans = format.Scans{Limit: 2, Pages: map[int]scan.Page{1: found(1, 0.9, prose...), 2: found(2, 0.9, "Another page")}}
	doc, err = extract.Parse(t.Context(), limited, format.Limits{CacheDir: extracttest.Compiled})
	if err != nil || len(doc.Warnings) == 0 || !strings.HasPrefix(doc.Warnings[len(doc.Warnings)-1], "page 3: ") {
		t.Errorf("beyond the limit: %v, %+v", err, doc)
	}
}
