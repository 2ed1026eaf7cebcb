package extract

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// boxAt is a text box with its place, in points.
func boxAt(text string, x, y, width, height int) string {
	return `<p:sp><p:spPr>` + frameAt(x, y, width, height) + `</p:spPr><p:txBody>` + drawn("", text) + `</p:txBody></p:sp>`
}

func frameAt(x, y, width, height int) string {
	const point = 12700
	return fmt.Sprintf(`<a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm>`, x*point, y*point, width*point, height*point)
}

// spoken are the texts of a document's blocks, parted by spaces.
func spoken(doc *domain.Document) string {
	texts := make([]string, len(doc.Blocks))
	for i, b := range doc.Blocks {
		texts[i] = b.Text
	}
	return strings.Join(texts, " ")
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
		"a box without a place":             {boxAt("c", 0, 200, 300, 50) + boxAt("a", 0, 0, 300, 50) + shapeOf("", drawn("", "b")), "a b c"},
		"boxes without any place":           {shapeOf("", drawn("", "a")) + shapeOf("", drawn("", "b")), "a b"},
		"a group is read as one":            {`<p:grpSp><p:grpSpPr>` + frameAt(0, 100, 300, 100) + `</p:grpSpPr>` + boxAt("c", 5000, 9000, 10, 10) + boxAt("b", 5000, 8000, 10, 10) + `</p:grpSp>` + boxAt("d", 0, 300, 300, 20) + boxAt("a", 0, 0, 300, 20), "a b c d"},
		"places that are no numbers":        {strings.ReplaceAll(boxAt("a", 0, 0, 1, 1), `x="0"`, `x="NaN"`) + boxAt("b", 10, 10, 10, 10), "a b"},
		"the title first, wherever it is":   {boxAt("b", 0, 0, 300, 50) + strings.Replace(boxAt("a", 0, 200, 300, 50), "<p:spPr>", `<p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:spPr>`, 1), "a b"},
		"placeholders stand by the layout":  {boxAt("b", 0, 60, 300, 50) + shapeOf("subTitle", drawn("", "a")), "a b"},
		"the index of a placeholder counts": {strings.Replace(shapeOf("body", drawn("", "b")), "/>", ` idx="7"/>`, 1) + boxAt("a", 0, 60, 300, 50), "a b"},
	}
	placeholder := func(ph string, y int) string {
		return `<p:sp><p:nvSpPr><p:nvPr><p:ph ` + ph + `/></p:nvPr></p:nvSpPr><p:spPr>` + frameAt(0, y, 300, 50) + `</p:spPr></p:sp>`
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := mustRead(t, "a.pptx", show(t, []string{"|" + tt.shapes},
				relsOf("ppt/slides/slide1.xml", "r1 slideLayout ../slideLayouts/slideLayout1.xml"),
				relsOf("ppt/slideLayouts/slideLayout1.xml", "r1 slideMaster ../slideMasters/slideMaster1.xml"),
				officePart{"ppt/slideLayouts/slideLayout1.xml", slidePart("sldLayout", placeholder(`type="body" idx="7"`, 200))},
				officePart{"ppt/slideMasters/slideMaster1.xml", slidePart("sldMaster", placeholder(`type="subTitle"`, 0)+placeholder(`type="body"`, 0))}))
			if got := spoken(doc); got != tt.want {
				t.Errorf("read %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPlainTextKeepsTheOrderOfTheFileUnlessItIsClearlyWrong(t *testing.T) {
	t.Parallel()
	for shapes, want := range map[string]string{
		boxAt("b", 0, 100, 300, 50) + boxAt("a", 0, 0, 300, 50):                                                                                                  "a b",
		boxAt("b", 0, 100, 300, 50) + boxAt("a", 0, 0, 300, 50) + boxAt("c", 0, 200, 300, 50) + boxAt("d", 0, 300, 300, 50):                                      "b a c d",
		boxAt("b", 0, 200, 300, 50) + strings.Replace(shapeOf("body", drawn("", "a")), "<p:txBody>", "<p:spPr>"+frameAt(0, 0, 300, 50)+"</p:spPr><p:txBody>", 1): "b a",
	} {
		data := show(t, []string{"|" + shapes})
		doc, err := Parse(t.Context(), Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.pptx", PlainRows: true}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := spoken(doc); got != want {
			t.Errorf("read %q, want %q", got, want)
		}
	}
}

func TestManyBoxesAreOrderedWithoutLongWork(t *testing.T) {
	t.Parallel()
	var boxes []slideBox
	for i := range 20_000 {
		at := float64(i * 7919 % 20_000)
		boxes = append(boxes, slideBox{frame: slideFrame{x: at, y: at, width: 30_000, height: 30_000, known: true}, blocks: []domain.Block{{Page: int(at)}}})
	}
	for i, b := range inReadingOrder(boxes, false) {
		if b.Page != i {
			t.Fatalf("block %d stands at %d", i, b.Page)
		}
	}
}
