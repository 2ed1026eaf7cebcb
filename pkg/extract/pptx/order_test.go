package pptx_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// boxAt returns a text box with the given position and size, in points.
func boxAt(text string, x, y, width, height int) string {
	return `<p:sp><p:spPr>` + frameAt(x, y, width, height) + `</p:spPr><p:txBody>` + extracttest.Drawn("", text) + `</p:txBody></p:sp>`
}

func frameAt(x, y, width, height int) string {
	const point = 12700
	return fmt.Sprintf(`<a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm>`, x*point, y*point, width*point, height*point)
}

func TestBoxesOfASlideAreReadInTheOrderOfReading(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		shapes, want string
	}{
		"from top to bottom": {boxAt("c", 0, 200, 300, 50) + boxAt("a", 0, 0, 300, 50) + boxAt("b", 0, 100, 300, 50), "a b c"},
		"columns one after the other": {boxAt("d", 320, 100, 300, 200) + boxAt("b", 0, 60, 300, 240) + boxAt("c", 320, 60, 300, 30) + boxAt("a", 0, 0, 620, 40),
			"a b c d"},
		"columns from right to left":        {boxAt("شمال", 0, 0, 280, 200) + boxAt("يمين", 320, 0, 300, 200), "يمين شمال"},
		"columns of Hebrew":                 {boxAt("שמאל", 0, 0, 280, 200) + boxAt("ימין", 320, 0, 300, 200), "ימין שמאל"},
		"rows that stand far apart":         {boxAt("d", 110, 200, 100, 20) + boxAt("c", 0, 200, 100, 20) + boxAt("b", 110, 0, 100, 20) + boxAt("a", 0, 0, 100, 20), "a b c d"},
		"boxes whose margins overlap":       {boxAt("b", 0, 95, 300, 100) + boxAt("a", 0, 0, 300, 100), "a b"},
		"boxes upon one another":            {boxAt("b", 0, 50, 300, 100) + boxAt("a", 0, 0, 300, 100), "a b"},
		"a box without a place":             {boxAt("c", 0, 200, 300, 50) + boxAt("a", 0, 0, 300, 50) + extracttest.Shape("", extracttest.Drawn("", "b")), "a b c"},
		"boxes without any place":           {extracttest.Shape("", extracttest.Drawn("", "a")) + extracttest.Shape("", extracttest.Drawn("", "b")), "a b"},
		"a group is read as one":            {`<p:grpSp><p:grpSpPr>` + frameAt(0, 100, 300, 100) + `</p:grpSpPr>` + boxAt("c", 5000, 9000, 10, 10) + boxAt("b", 5000, 8000, 10, 10) + `</p:grpSp>` + boxAt("d", 0, 300, 300, 20) + boxAt("a", 0, 0, 300, 20), "a b c d"},
		"places that are no numbers":        {strings.ReplaceAll(boxAt("a", 0, 0, 1, 1), `x="0"`, `x="NaN"`) + boxAt("b", 10, 10, 10, 10), "a b"},
		"the title first, wherever it is":   {boxAt("b", 0, 0, 300, 50) + strings.Replace(boxAt("a", 0, 200, 300, 50), "<p:spPr>", `<p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:spPr>`, 1), "a b"},
		"placeholders stand by the layout":  {boxAt("b", 0, 60, 300, 50) + extracttest.Shape("subTitle", extracttest.Drawn("", "a")), "a b"},
		"the index of a placeholder counts": {strings.Replace(extracttest.Shape("body", extracttest.Drawn("", "b")), "/>", ` idx="7"/>`, 1) + boxAt("a", 0, 60, 300, 50), "a b"},
	}
	placeholder := func(ph string, y int) string {
		return `<p:sp><p:nvSpPr><p:nvPr><p:ph ` + ph + `/></p:nvPr></p:nvSpPr><p:spPr>` + frameAt(0, y, 300, 50) + `</p:spPr></p:sp>`
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := readtest.MustParse(t, "a.pptx", extracttest.Slides(t, []string{"|" + tt.shapes},
				extracttest.Rels("ppt/slides/slide1.xml", "r1 slideLayout ../slideLayouts/slideLayout1.xml"),
				extracttest.Rels("ppt/slideLayouts/slideLayout1.xml", "r1 slideMaster ../slideMasters/slideMaster1.xml"),
				extracttest.Part{"ppt/slideLayouts/slideLayout1.xml", extracttest.SlidePart("sldLayout", placeholder(`type="body" idx="7"`, 200))},
				extracttest.Part{"ppt/slideMasters/slideMaster1.xml", extracttest.SlidePart("sldMaster", placeholder(`type="subTitle"`, 0)+placeholder(`type="body"`, 0))}))
			if got := readtest.Text(doc); got != tt.want {
				t.Errorf("read %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPlainTextKeepsTheOrderOfTheFileUnlessItIsClearlyWrong(t *testing.T) {
	t.Parallel()
	for shapes, want := range map[string]string{
		boxAt("b", 0, 100, 300, 50) + boxAt("a", 0, 0, 300, 50):                                                                                                                        "a b",
		boxAt("b", 0, 100, 300, 50) + boxAt("a", 0, 0, 300, 50) + boxAt("c", 0, 200, 300, 50) + boxAt("d", 0, 300, 300, 50):                                                            "b a c d",
		boxAt("b", 0, 200, 300, 50) + strings.Replace(extracttest.Shape("body", extracttest.Drawn("", "a")), "<p:txBody>", "<p:spPr>"+frameAt(0, 0, 300, 50)+"</p:spPr><p:txBody>", 1): "b a",
	} {
		data := extracttest.Slides(t, []string{"|" + shapes})
		doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.pptx", PlainRows: true}, format.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := readtest.Text(doc); got != want {
			t.Errorf("read %q, want %q", got, want)
		}
	}
}
