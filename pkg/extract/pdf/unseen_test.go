package pdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// layeredPDF returns a PDF with two layers. In `content`, the layers are called o and p, and the membership dictionary
// m.
func layeredPDF(config, membership, content string) []byte {
	first := freeObject(1)
	more := []string{"<</Type/OCG/Name(One)/Usage<</View<</ViewState/OFF>>>>>>", "<</Type/OCG/Name(Two)>>", strings.NewReplacer("ONE", fmt.Sprintf("%d 0 R", first), "TWO", fmt.Sprintf("%d 0 R", first+1)).Replace(membership)}
	named := strings.NewReplacer("ONE", fmt.Sprintf("%d 0 R", first), "TWO", fmt.Sprintf("%d 0 R", first+1))
	catalogue := named.Replace(fmt.Sprintf("/OCProperties<</OCGs[ONE TWO]/D<<%s>>>>", config))
	page := named.Replace(fmt.Sprintf("/Properties<</o ONE/p TWO/m %d 0 R>>", first+2))
	objects := extracttest.PageObjects(content)
	objects[0] = strings.Replace(objects[0], ">>", catalogue+" >>", 1)
	objects[2] = strings.Replace(objects[2], "<< /Font", "<< "+page+" /Font", 1)
	return extracttest.PDF(append(objects, more...)...)
}

func TestHiddenLayersStayHidden(t *testing.T) {
	t.Parallel()
	const shown = "BT /F1 12 Tf 72 700 Td (VISIBLE words of the page) Tj ET "
	layered := func(name string) string {
		return shown + "/OC /" + name + " BDC BT /F1 12 Tf 72 680 Td (SECRET words) Tj ET EMC"
	}
	tests := map[string]struct {
		config, membership, content string
		hidden                      bool
	}{
		"a layer that is off":             {"/OFF[ONE]", "null", layered("o"), true},
		"a layer that is on":              {"/OFF[ONE]", "null", layered("p"), false},
		"all layers are off":              {"/BaseState/OFF/ON[TWO]", "null", layered("o"), true},
		"all layers are off but one":      {"/BaseState/OFF/ON[TWO]", "null", layered("p"), false},
		"a layer for print":               {"/AS[<</Event/View/Category[/View]/OCGs[ONE TWO]>>]", "null", layered("o"), true},
		"a membership of layers":          {"/OFF[ONE]", "<</Type/OCMD/OCGs[ONE TWO]/P/AllOn>>", layered("m"), true},
		"a membership with one layer on":  {"/OFF[ONE]", "<</Type/OCMD/OCGs[ONE TWO]>>", layered("m"), false},
		"an expression":                   {"/OFF[ONE]", "<</Type/OCMD/VE[/And[/Not ONE][/Not TWO]]>>", layered("m"), true},
		"an expression that holds":        {"/OFF[ONE]", "<</Type/OCMD/VE[/Or ONE[/Not[/Not TWO]]]>>", layered("m"), false},
		"a page with a few words to see":  {"/OFF[ONE]", "null", "BT /F1 12 Tf 72 700 Td (VISIBLE) Tj ET /OC /o BDC BT /F1 12 Tf 72 680 Td (SECRET words that are many more) Tj ET EMC", true},
		"content of a layer in a layer":   {"/OFF[ONE]", "null", shown + "/OC /o BDC /OC /p BDC BT /F1 12 Tf 72 680 Td (SECRET words) Tj ET EMC EMC", true},
		"text in place of what is hidden": {"/OFF[ONE]", "null", shown + "/OC /o BDC /Span <</ActualText (SECRET)>> BDC BT /F1 12 Tf 72 680 Td (x) Tj ET EMC EMC", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.pdf", layeredPDF(tt.config, tt.membership, tt.content))
			if err != nil {
				t.Fatal(err)
			}
			text, warned := readtest.Render(doc), strings.Contains(strings.Join(doc.Warnings, "\n"), "hidden layers")
			if !strings.Contains(text, "VISIBLE") || strings.Contains(text, "SECRET") == tt.hidden || warned != tt.hidden {
				t.Errorf("document:\n%s\nhidden should be %v", text, tt.hidden)
			}
		})
	}
}

func TestPDFiumDoesNotShowHiddenLayers(t *testing.T) {
	t.Parallel()
	// pdftext cannot decode the font's codes, so PDFium reads the page.
	content := "BT /F1 12 Tf 72 700 Td (VISIBLE words of the page) Tj 0 -40 Td (" + strings.Repeat("\\001\\002\\003 ", 60) + ") Tj ET " +
		"/OC /o BDC BT /F1 12 Tf 72 600 Td (SECRET words) Tj ET EMC"
	doc, err := readtest.Parse(t, "a.pdf", layeredPDF("/OFF[ONE]", "null", content))
	if err != nil {
		t.Fatal(err)
	}
	if text := readtest.Render(doc); !strings.Contains(doc.Route, "pdfium") || !strings.Contains(text, "VISIBLE") || strings.Contains(text, "SECRET") {
		t.Errorf("document:\n%s", text)
	}
}

// withStates returns a page with a graphics state M. If M is set, new paint is multiplied with what has already been
// painted on the page.
func withStates(content string) []byte {
	objects := extracttest.PageObjects(content)
	objects[2] = strings.Replace(objects[2], "<< /Font", "<< /ExtGState<</M<</BM/Multiply>>>> /Font", 1)
	return extracttest.PDF(objects...)
}

func TestFormsAndAnnotationsOfHiddenLayersStayHidden(t *testing.T) {
	t.Parallel()
	const shown = "BT /F1 12 Tf 72 700 Td (VISIBLE words of the page) Tj ET "
	strange := "BT /F1 12 Tf 72 640 Td (" + strings.Repeat("\\001\\002\\003 ", 60) + ") Tj ET "
	first := freeObject(1)
	tests := map[string]struct{ content, page string }{
		"a form":            {shown + "/X Do", ""},
		"a form, by PDFium": {shown + strange + "/X Do", ""},
		"a note":            {shown, fmt.Sprintf("/Annots[<</Type/Annot/Subtype/FreeText/Rect[72 600 300 620]/Contents(SECRET note)/OC %d 0 R>>]", first)},
		"a field":           {shown, fmt.Sprintf("/Annots[<</Type/Annot/Subtype/Widget/FT/Tx/V(SECRET)/Rect[72 600 300 620]/OC %d 0 R>>]", first)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := extracttest.PageObjects(tt.content)
			objects[0] = strings.Replace(objects[0], ">>", fmt.Sprintf("/OCProperties<</OCGs[%d 0 R]/D<</OFF[%d 0 R]>>>> >>", first, first), 1)
			objects[2] = strings.Replace(objects[2], "<< /Font", fmt.Sprintf("<< /XObject<</X %d 0 R>> /Font", first+1), 1)
			objects[3] = strings.Replace(objects[3], "/Resources", tt.page+" /Resources", 1)
			form := extracttest.Stream(fmt.Sprintf("/Type/XObject/Subtype/Form/BBox[0 0 600 800]/OC %d 0 R", first), "BT /F1 12 Tf 72 660 Td (SECRET words) Tj ET")
			doc, err := readtest.Parse(t, "a.pdf", extracttest.PDF(append(objects, "<</Type/OCG/Name(One)>>", form)...))
			if err != nil {
				t.Fatal(err)
			}
			text := readtest.Render(doc)
			if !strings.Contains(text, "VISIBLE") || strings.Contains(text, "SECRET") || !strings.Contains(text, "hidden layers") || strings.HasSuffix(name, "PDFium") != strings.Contains(doc.Route, "pdfium") {
				t.Errorf("document:\n%s", text)
			}
		})
	}
}

func TestTextThatIsNotVisibleIsReported(t *testing.T) {
	t.Parallel()
	const shown = "0 g BT /F1 12 Tf 72 700 Td (Visible words of a page that are quite a few) Tj ET "
	text := func(before string) string { return shown + before + " BT /F1 12 Tf 72 600 Td (UNSEEN words) Tj ET" }
	tests := map[string]struct {
		content, warning string // "" for none
	}{
		"white on white":                    {text("1 g"), "white on white"},
		"nearly white, by another space":    {text("/DeviceRGB cs 0.99 0.99 1 sc"), "white on white"},
		"without ink":                       {text("0 0 0 0 k"), "white on white"},
		"white on a dark ground":            {text("0.2 g 60 590 200 30 re f 1 g"), ""},
		"white on a dark shape":             {text("0 0 1 rg 60 590 m 300 590 l 300 640 l 60 640 l h f 1 g"), ""},
		"white, and the ground comes last":  {text("1 g") + " 0.2 g 60 590 200 30 re f", "white on white"},
		"grey":                              {text("0.8 g"), ""},
		"invisible":                         {text("3 Tr"), "no image underneath"},
		"invisible on a picture":            {text("q 300 0 0 300 60 500 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \xff EI Q 3 Tr"), ""},
		"tiny":                              {shown + "BT /F1 0.5 Tf 72 600 Td (UNSEEN words) Tj ET", "too small"},
		"small":                             {shown + "BT /F1 5 Tf 72 600 Td (UNSEEN words) Tj ET", ""},
		"outside the page":                  {shown + "BT /F1 12 Tf -500 600 Td (UNSEEN words) Tj ET", "outside the page"},
		"covered":                           {text("") + " 1 g 60 590 200 30 re f", "covered"},
		"covered by a mark to read through": {text("") + " q /M gs 1 1 0 rg 60 590 200 30 re f Q", ""},
		"a table with grounds":              {shown + "0.9 g 60 590 200 30 re f 0 g BT /F1 12 Tf 72 600 Td (UNSEEN words) Tj ET 0.8 g 60 560 200 30 re f", ""},
		"black on black":                    {"0 g 60 590 200 30 re f " + text("0 g"), "colour as its background"},
		"blue on a white box on blue":       {"0 0 1 rg 50 500 300 150 re f 1 g 60 590 200 30 re f 0 g " + text("0 0 1 rg"), ""},
		"black in a black frame":            {"0 g 59 589 202 32 re 60 590 200 30 re f* " + text("0 g"), ""},
		"a frame that is painted later":     {text("") + " 0 g 59 589 202 32 re 60 590 200 30 re f*", ""},
		"cut off":                           {shown + "q 300 300 50 50 re W n BT /F1 12 Tf 72 600 Td (UNSEEN words) Tj ET Q", "visible part of the page"},
		"white edges of black letters":      {text("0 g 1 G 2 Tr"), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.pdf", withStates(tt.content))
			if err != nil {
				t.Fatal(err)
			}
			warnings := strings.Join(doc.Warnings, "\n")
			if tt.warning == "" && warnings != "" || !strings.Contains(warnings, tt.warning) || tt.warning != "" && !strings.Contains(warnings, "page 1: invisible text") {
				t.Errorf("warnings = %q, want one about %q", warnings, tt.warning)
			}
			if body := readtest.Render(doc); !strings.Contains(body, "Visible words") || strings.Contains(body, "UNSEEN") == (tt.warning == "outside the page") {
				t.Errorf("document:\n%s", body)
			}
		})
	}
}

func TestValuesOfFormsBelongToTheirLabels(t *testing.T) {
	t.Parallel()
	widget := func(kind string, x, y, width float64, more string) string {
		return fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/%s/Rect[%g %g %g %g]%s>>", kind, x, y, x+width, y+16, more)
	}
	tests := map[string]struct {
		content string
		fields  []string
		want    []string
	}{
		"right of the label": {extracttest.At("F1", 11, 72, 700, "Name") + extracttest.At("F1", 11, 300, 700, "Born on:"),
			[]string{widget("Tx", 350, 696, 90, "/V(1 May)"), widget("Tx", 110, 696, 150, "/V(Jane Smith)")}, []string{"p: Name: Jane Smith\tBorn on: 1 May"}},
		"below the label": {extracttest.At("F1", 11, 72, 700, "City") + extracttest.At("F1", 11, 300, 700, "Street"),
			[]string{widget("Tx", 72, 680, 150, "/V(Ghent)"), widget("Tx", 300, 680, 150, "/V(Main Road)")}, []string{"p: City: Ghent\tStreet: Main Road"}},
		"on a blank": {extracttest.At("F1", 11, 72, 700, "Number __________ dated __________"),
			[]string{widget("Tx", 118, 696, 55, "/V(R-7)"), widget("Tx", 216, 696, 60, "/V(9 May)")}, []string{"p: Number: R-7 dated: 9 May"}},
		"by the name in the form": {extracttest.At("F1", 11, 72, 760, "Remarks on the form"),
			[]string{widget("Tx", 72, 600, 150, "/TU(Reason)/V(None)")}, []string{"p: Remarks on the form", "p: Reason: None"}},
		"boxes": {extracttest.At("F1", 11, 90, 700, "Newsletter") + extracttest.At("F1", 11, 290, 700, "Phone calls"),
			[]string{widget("Btn", 72, 697, 12, "/V/Yes/AS/Yes"), widget("Btn", 272, 697, 12, "/V/Off/AS/Off")}, []string{"p: ☒ Newsletter\t☐ Phone calls"}},
		"a box behind its label": {extracttest.At("F1", 11, 72, 700, "I agree"), []string{widget("Btn", 120, 697, 12, "/V/On/AS/On")}, []string{"p: I agree ☒"}},
		"one of several": {extracttest.At("F1", 11, 72, 700, "Pay") + extracttest.At("F1", 11, 130, 700, "by card") + extracttest.At("F1", 11, 230, 700, "in cash"),
			[]string{widget("Btn", 114, 697, 12, "/Ff 32768/AS/card"), widget("Btn", 214, 697, 12, "/Ff 32768/AS/Off")}, []string{"p: Pay\t☒ by card\t☐ in cash"}},
		"above the label": {extracttest.At("F1", 7, 72, 670, "Town") + extracttest.At("F1", 7, 300, 670, "Street") + extracttest.At("F1", 7, 72, 630, "Day"),
			[]string{widget("Tx", 72, 682, 150, "/V(Ghent)"), widget("Tx", 300, 682, 150, "/V(Main Road)"), widget("Tx", 72, 642, 150, "/V(9 May)")},
			[]string{"p: Town: Ghent\tStreet: Main Road", "p: Day: 9 May"}},
		"boxes behind their labels": {extracttest.At("F1", 11, 72, 700, "Rail") + extracttest.At("F1", 11, 150, 700, "Road"),
			[]string{widget("Btn", 96, 697, 12, "/V/Yes/AS/Yes"), widget("Btn", 182, 697, 12, "/V/Off/AS/Off")}, []string{"p: Rail ☒\tRoad ☐"}},
		"in a table": {extracttest.At("F1", 11, 74, 719, "Ship") + extracttest.At("F1", 11, 204, 719, "Tons") + extracttest.At("F1", 11, 304, 719, "Paid") +
			lattices([]float64{70, 200, 300, 400}, []float64{735, 715, 695, 675}),
			[]string{widget("Tx", 72, 697, 120, "/V(Ann)"), widget("Tx", 202, 697, 90, "/V(40)"), widget("Btn", 302, 697, 12, "/V/Yes/AS/Yes"),
				widget("Tx", 72, 677, 120, "/V(Eve)"), widget("Tx", 202, 677, 90, "/V(70)"), widget("Btn", 302, 677, 12, "/V/Off/AS/Off")},
			[]string{"tr: Ship\tTons\tPaid", "tr: Ship: Ann; Tons: 40; Paid: ☒", "tr: Ship: Eve; Tons: 70; Paid: ☐"}},
		"a signature": {extracttest.At("F1", 11, 72, 700, "Signed by"), []string{widget("Sig", 140, 696, 90, "/V<</Type/Sig/Name(Jane Roe)>>")}, []string{"p: Signed by: Jane Roe"}},
		"a choice, by the name of the option": {extracttest.At("F1", 11, 72, 700, "Country"),
			[]string{widget("Ch", 130, 696, 90, "/V(be)/Opt[[(fr)(France)][(be)(Belgium)]]")}, []string{"p: Country: Belgium"}},
		"passwords and hidden fields are left out": {extracttest.At("F1", 11, 72, 700, "Password"),
			[]string{widget("Tx", 130, 696, 90, "/Ff 8192/V(secret)"), widget("Tx", 230, 696, 90, "/F 2/V(secret)")}, []string{"p: Password"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := blockLines(t, with("/Annots["+strings.Join(tt.fields, " ")+"]", "", nil, tt.content))
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("blocks = %q, want %q", got, tt.want)
			}
		})
	}
}
