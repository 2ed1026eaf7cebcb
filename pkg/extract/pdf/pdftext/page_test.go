package pdftext

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice/sluice/pkg/extract/extracttest"
)

func TestPagesAreReadAsTheyAreSeen(t *testing.T) {
	t.Parallel()
	const layers = "/OCProperties << /OCGs [5 0 R 6 0 R] /D << /OFF [5 0 R] >> >>"
	layer := []string{"<< /Type /OCG /Name (off) >>", "<< /Type /OCG /Name (on) >>"}
	field := func(entries string) []string {
		return []string{"<< /Subtype /Widget /Rect [10 10 200 30] " + entries + " >>"}
	}
	tests := map[string]struct {
		content, page, catalogue string
		more                     []string
		want                     []string
	}{
		"text beside the crop box is not seen": {"BT /F 10 Tf 20 20 Td (seen) Tj 0 200 Td (printer's mark) Tj ET",
			"/MediaBox [0 0 300 300] /CropBox [0 0 300 100]", "", nil, []string{"seen"}},
		"text on a layer that is off is not seen": {"/OC /A BDC BT /F 10 Tf (off) Tj ET EMC /OC /B BDC BT /F 10 Tf 0 50 Td (on) Tj ET EMC",
			"/MediaBox [0 0 300 300] /Resources << /Font << /F " + helvetica + " >> /Properties << /A 5 0 R /B 6 0 R >> >>", layers, layer, []string{"on"}},
		"a field that is not drawn shows its value": {"", "/MediaBox [0 0 300 300] /Annots [5 0 R]", "", field("/FT /Tx /V (Ada Lovelace)"), []string{"Ada Lovelace"}},
		"a field inherits its value":                {"", "/MediaBox [0 0 300 300] /Annots [5 0 R]", "", append(field("/Parent 6 0 R"), "<< /FT /Tx /V <FEFF00C4> >>"), []string{"Ä"}},
		"a password is not shown":                   {"", "/MediaBox [0 0 300 300] /Annots [5 0 R]", "", field("/FT /Tx /Ff 8192 /V (hush)"), nil},
		"a hidden annotation is not shown":          {"", "/MediaBox [0 0 300 300] /Annots [5 0 R]", "", field("/FT /Tx /F 2 /V (hush)"), nil},
		"free text without a drawing is shown":      {"", "/MediaBox [0 0 300 300] /Annots [<< /Subtype /FreeText /Rect [10 10 200 40] /Contents (one\ntwo) >>]", "", nil, []string{"one", "two"}},
		"replaced text may be named before its font": {"/Span << /ActualText (fine) >> BDC BT /F 10 Tf (\\001ne) Tj ET EMC",
			"/MediaBox [0 0 300 300]", "", nil, []string{"fine"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := texts(t, showing(extracttest.Stream("", tt.content), tt.page, tt.catalogue, tt.more...))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatOnePageShowsIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a ", 2_000_000)
	tests := map[string]string{
		"by one string":      "BT /F 10 Tf (" + long + ") Tj ET",
		"by replaced text":   "/Span << /ActualText (" + long + ") >> BDC BT /F 10 Tf (x) Tj ET EMC BT /F 10 Tf (y) Tj ET",
		"by many operations": "BT /F 10 Tf " + strings.Repeat("T* ", 2_000_000) + "ET",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := Open(showing(extracttest.Stream("", content), "/MediaBox [0 0 300 300]", ""))
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			if _, err = d.Page(t.Context(), 0); !errors.Is(err, errBudget) {
				t.Errorf("Page: %v, want %v", err, errBudget)
			}
		})
	}
}

func TestTurnedPagesReadUpright(t *testing.T) {
	t.Parallel()
	// Each matrix makes the text upright on the displayed page, 30 points from the left and 40 from the bottom.
	tests := map[string]struct{ rotate, matrix string }{
		"0 degrees":    {"0", "1 0 0 1 30 40"},
		"90 degrees":   {"90", "0 1 -1 0 160 30"},
		"180 degrees":  {"180", "-1 0 0 -1 170 260"},
		"-90 degrees":  {"-90", "0 -1 1 0 40 270"},
		"450 degrees":  {"450", "0 1 -1 0 160 30"},
		"not by turns": {"7", "1 0 0 1 30 40"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := Open(showing(extracttest.Stream("", "BT /F 10 Tf "+tt.matrix+" Tm (upright) Tj ET"), "/MediaBox [0 0 200 300] /Rotate "+tt.rotate, ""))
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			page, err := d.Page(t.Context(), 0)
			if err != nil || len(page.Lines) != 1 {
				t.Fatalf("Page: %d lines, %v", len(page.Lines), err)
			}
			if l := page.Lines[0]; l.Turn != 0 || l.Y != 40 || l.Cells[0].X0 != 30 {
				t.Errorf("turn %d at %g, %g, want 0 at 30, 40", l.Turn, l.Cells[0].X0, l.Y)
			}
		})
	}
}

func TestRunningTitlesAreMarked(t *testing.T) {
	t.Parallel()
	d, err := Open(showing(extracttest.Stream("", "/Artifact << /Type /Pagination >> BDC BT /F 10 Tf 0 200 Td (page 7) Tj ET EMC BT /F 10 Tf (body) Tj ET"), "", ""))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	page, err := d.Page(t.Context(), 0)
	if err != nil || len(page.Lines) != 2 {
		t.Fatalf("Page: %d lines, %v", len(page.Lines), err)
	}
	if !page.Lines[0].Artifact || page.Lines[1].Artifact {
		t.Errorf("artifacts = %v and %v, want true and false", page.Lines[0].Artifact, page.Lines[1].Artifact)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	d, err := Open(showing(extracttest.Stream("", ""), "/MediaBox [0 0 200 300] /Rotate 90 /Annots [<< /Subtype /Link /Rect [10 20 30 60] /A << /S /URI /URI (https://example.org/a) >> >> << /Subtype /Link /Rect [0 0 9 9] >>]", ""))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	want := []Link{{X0: 20, Y0: 170, X1: 60, Y1: 190, URL: "https://example.org/a"}}
	if diff := cmp.Diff(want, d.Links(0)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestOutlineEndsEvenWhenItIsALoop(t *testing.T) {
	t.Parallel()
	d, err := Open(showing(extracttest.Stream("", ""), "", "/Outlines << /First 5 0 R >> /Names << /Dests << /Names [(here) [3 0 R /Fit]] >> >>",
		"<< /Title (One) /Dest [3 0 R /Fit] /First 6 0 R /Next 7 0 R >>", "<< /Title (One\n point one) /A << /S /GoTo /D (here) >> /Next 5 0 R >>", "<< /Title (Two) /Next 5 0 R >>"))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	want := []OutlineItem{{"One", 0, 0}, {"One point one", 1, 0}, {"Two", 0, -1}}
	if diff := cmp.Diff(want, d.Outline()); diff != "" {
		t.Errorf("outline (-want +got):\n%s", diff)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	const xmp = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="r" xmlns:dc="d" xmlns:xmp="p"><rdf:Description xmp:ModifyDate="2024-05-06T07:08:09Z">
<dc:title><rdf:Alt><rdf:li>Not this</rdf:li></rdf:Alt></dc:title><dc:creator><rdf:Seq><rdf:li>Ada</rdf:li><rdf:li>Grace</rdf:li></rdf:Seq></dc:creator></rdf:Description></rdf:RDF></x:xmpmeta>`
	data := extracttest.PDFWith("/Info 6 0 R ", "<< /Type /Catalog /Pages 2 0 R /Metadata 5 0 R /Lang (de-CH) >>", "<< /Type /Pages /Kids [3 0 R] >>", "<< /Type /Page >>", "null",
		extracttest.Stream("/Type /Metadata", xmp), "<< /Title <FEFF00DC> /CreationDate (D:20230102030405+01'00') >>")
	d, err := Open(data)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	want := Properties{Title: "Ü", Author: "Ada, Grace", Created: time.Date(2023, 1, 2, 2, 4, 5, 0, time.UTC), Modified: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)}
	got := d.Properties()
	got.Created = got.Created.UTC()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if d.Language() != "de-CH" {
		t.Errorf("language = %q, want de-CH", d.Language())
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	tests := map[string]time.Time{
		"D:2023":                  time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC),
		"D:202305":                time.Date(2023, 5, 1, 0, 0, 0, 0, time.UTC),
		"20230506":                time.Date(2023, 5, 6, 0, 0, 0, 0, time.UTC),
		"D:20230506070809Z":       time.Date(2023, 5, 6, 7, 8, 9, 0, time.UTC),
		"D:20230506070809-02'30'": time.Date(2023, 5, 6, 9, 38, 9, 0, time.UTC),
		"yesterday":               {},
		"D:20239999":              {},
	}
	for text, want := range tests {
		if got := pdfDate(text); !got.Equal(want) {
			t.Errorf("pdfDate(%q) = %v, want %v", text, got, want)
		}
	}
}
