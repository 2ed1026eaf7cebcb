package pptx_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestPptxSlides(t *testing.T) {
	t.Parallel()
	cell := func(attrs, text string) string {
		return `<a:tc ` + attrs + `><a:txBody>` + extracttest.Drawn("", text) + `</a:txBody></a:tc>`
	}
	table := func(props, rows string) string {
		return `<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblPr ` + props + `/>` + rows + `</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`
	}
	tests := map[string]struct {
		slide string
		want  []string
	}{
		"the title comes first and is a heading": {extracttest.Shape("", extracttest.Drawn("", "aside")) + extracttest.Shape("ctrTitle", extracttest.Drawn("", "The"), extracttest.Drawn("", "plan")), []string{"heading 1: The plan", "paragraph: aside"}},
		"the body is a list with levels": {extracttest.Shape("body", extracttest.Drawn("", "a"), extracttest.Drawn(`<a:pPr lvl="1"/>`, "b"), extracttest.Drawn(`<a:pPr><a:buNone/></a:pPr>`, "c")),
			[]string{"list_item 1: a", "list_item 2: b", "paragraph: c"}},
		"automatic numbers are shown": {extracttest.Shape("", extracttest.Drawn(`<a:pPr><a:buAutoNum type="romanLcParenR" startAt="3"/></a:pPr>`, "a"), extracttest.Drawn(`<a:pPr><a:buAutoNum type="romanLcParenR" startAt="3"/></a:pPr>`, "b")),
			[]string{"list_item 1: iii) a", "list_item 1: iv) b"}},
		"numbers, dates and footers that stand on the slide are read": {extracttest.Shape("sldNum", extracttest.SlideField("slidenum", "7")) + extracttest.Shape("dt", extracttest.SlideField("datetime1", "1/2/2024")) + extracttest.Shape("dt", extracttest.Drawn("", "1/2/2024")) + extracttest.Shape("", extracttest.SlideField("slidenum", "7")) +
			extracttest.Shape("ftr", extracttest.Drawn("", "Internal")), []string{"paragraph: 7", "paragraph: 1/2/2024", "paragraph: 1/2/2024", "paragraph: 7", "paragraph: Internal"}},
		"a field in a sentence is read": {extracttest.Shape("", `<a:p><a:r><a:t>As of </a:t></a:r><a:fld type="datetime1"><a:t>May</a:t></a:fld></a:p>`), []string{"paragraph: As of May"}},
		"groups are walked through":     {`<p:grpSp><p:grpSpPr/><p:grpSp>` + extracttest.Shape("", extracttest.Drawn("", "deep")) + `</p:grpSp>` + extracttest.Shape("", extracttest.Drawn("", "shallow")) + `</p:grpSp>`, []string{"paragraph: deep", "paragraph: shallow"}},
		"properties under a style that marks the first row": {table(`firstRow="1"`, `<a:tr>`+cell("", "Pump")+cell("", "X3")+`</a:tr><a:tr>`+cell("", "Mass")+cell("", "12 kg")+`</a:tr><a:tr>`+cell("", "Current")+cell("", "16 A")+`</a:tr><a:tr>`+cell("", "Made")+cell("", "in Graz")+`</a:tr>`),
			[]string{"table_row: Pump: X3", "table_row: Mass: 12 kg", "table_row: Current: 16 A", "table_row: Made: in Graz"}},
		"links keep text and address": {extracttest.Shape("", `<a:p><a:r><a:rPr><a:hlinkClick r:id="r1"/></a:rPr><a:t>our </a:t></a:r><a:r><a:rPr><a:hlinkClick r:id="r1"/></a:rPr><a:t>site</a:t></a:r></a:p>`),
			[]string{"paragraph: our site <our site https://a.example/>"}},
		"questions under a style that marks the first row": {table(`firstRow="1"`, `<a:tr>`+cell("", "Where do I park?")+cell("", "Behind the mill.")+`</a:tr><a:tr>`+cell("", "May I bring a dog?")+cell("", "Yes.")+`</a:tr>`),
			[]string{"table_row: Where do I park? Behind the mill.", "table_row: May I bring a dog? Yes."}},
		"properties above items under a style that marks the first row": {table(`firstRow="1"`, `<a:tr>`+cell("", "Customer")+cell(`gridSpan="2"`, "Nord AG")+cell(`hMerge="1"`, "")+`</a:tr><a:tr>`+cell("", "Order")+cell("", "R 5")+cell("", "")+`</a:tr><a:tr>`+cell("", "Item")+cell("", "Quantity")+cell("", "Price")+`</a:tr><a:tr>`+cell("", "Lamp")+cell("", "2")+cell("", "10.00")+`</a:tr><a:tr>`+cell("", "Bulb")+cell("", "1")+cell("", "1.50")+`</a:tr>`),
			[]string{"table_row: Customer: Nord AG", "table_row: Order: R 5", "table_row: Item\tQuantity\tPrice", "table_row: Item: Lamp; Quantity: 2; Price: 10.00", "table_row: Item: Bulb; Quantity: 1; Price: 1.50"}},
		"a table names its columns": {table(`firstRow="1"`, `<a:tr>`+cell("", "Site")+cell("", "Pumps")+`</a:tr><a:tr>`+cell(`rowSpan="2"`, "Bergen")+cell("", "3")+`</a:tr><a:tr>`+cell(`vMerge="1"`, "")+cell("", "5")+`</a:tr>`),
			[]string{"table_row: Site\tPumps", "table_row: Site: Bergen; Pumps: 3", "table_row: Site: Bergen; Pumps: 5"}},
		"names merged downwards beside names of groups": {table(`firstRow="1"`, `<a:tr>`+cell(`rowSpan="2"`, "Line")+cell(`gridSpan="2"`, "Hours")+cell(`hMerge="1"`, "")+`</a:tr><a:tr>`+cell(`vMerge="1"`, "")+cell("", "day")+cell("", "night")+`</a:tr><a:tr>`+cell("", "L1")+cell("", "11")+cell("", "12")+`</a:tr>`),
			[]string{"table_row: Line\tHours", "table_row: day\tnight", "table_row: Line: L1; Hours day: 11; Hours night: 12"}},
		"a chart is a table": {`<p:graphicFrame><a:graphic><a:graphicData><c:chart r:id="r2"/></a:graphicData></a:graphic></p:graphicFrame>`,
			[]string{"paragraph: Load", "table_row: NUMBER", "table_row: January; NUMBER: 5"}},
		"a diagram is a list in the order of its outline": {`<p:graphicFrame><a:graphic><a:graphicData><dgm:relIds r:dm="r3"/></a:graphicData></a:graphic></p:graphicFrame>`,
			[]string{"list_item 1: first", "list_item 2: under it", "list_item 1: second"}},
		"alternate content counts once": {`<mc:AlternateContent><mc:Choice>` + extracttest.Shape("", extracttest.Drawn("", "new")) + `</mc:Choice><mc:Fallback>` + extracttest.Shape("", extracttest.Drawn("", "old")) + `</mc:Fallback></mc:AlternateContent>`, []string{"paragraph: new"}},
		"notes follow their slide":      {extracttest.Shape("", extracttest.Drawn("", "on it")) + "<!--notes-->", []string{"paragraph: on it", "paragraph: said about it"}},
	}
	chart := extracttest.Part{"ppt/charts/chart1.xml", `<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Load</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:pieChart>` +
		`<c:ser><c:tx><c:v>NUMBER</c:v></c:tx><c:cat><c:strLit><c:pt idx="0"><c:v>January</c:v></c:pt></c:strLit></c:cat><c:val><c:numLit><c:pt idx="0"><c:v>5</c:v></c:pt></c:numLit></c:val></c:ser></c:pieChart></c:plotArea></c:chart></c:chartSpace>`}
	point := func(id, kind, text string) string {
		return `<dgm:pt modelId="` + id + `" type="` + kind + `"><dgm:t><a:p><a:r><a:t>` + text + `</a:t></a:r></a:p></dgm:t></dgm:pt>`
	}
	diagram := extracttest.Part{"ppt/diagrams/data1.xml", `<dgm:dataModel xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" xmlns:a="a"><dgm:ptLst>` + point("0", "doc", "") + point("2", "node", "second") + point("3", "node", "under it") + point("1", "node", "first") + `</dgm:ptLst><dgm:cxnLst>` +
		`<dgm:cxn srcId="0" destId="2" srcOrd="1"/><dgm:cxn srcId="0" destId="1" srcOrd="0"/><dgm:cxn srcId="1" destId="3" srcOrd="0"/><dgm:cxn srcId="3" destId="0" srcOrd="0"/></dgm:cxnLst></dgm:dataModel>`}
	notes := extracttest.Part{"ppt/notesSlides/notesSlide1.xml", extracttest.SlidePart("notes", extracttest.Shape("sldImg", extracttest.Drawn("", "picture"))+extracttest.Shape("body", extracttest.Drawn("", "said about it"))+extracttest.Shape("sldNum", extracttest.SlideField("slidenum", "1")))}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := []string{"r1 hyperlink https://a.example/", "r2 chart ../charts/chart1.xml", "r3 diagramData ../diagrams/data1.xml"}
			if strings.Contains(tt.slide, "<!--notes-->") {
				lines = append(lines, "r4 notesSlide ../notesSlides/notesSlide1.xml")
			}
			doc := readtest.MustParse(t, "a.pptx", extracttest.Slides(t, []string{"|" + tt.slide}, chart, diagram, notes, extracttest.Rels("ppt/slides/slide1.xml", lines...)))
			if diff := cmp.Diff(tt.want, readtest.Office(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPptxReadsHiddenSlidesWithAWarning(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.pptx", extracttest.Slides(t, []string{"|" + extracttest.Shape("title", extracttest.Drawn("", "One")), `show="0"|` + extracttest.Shape("title", extracttest.Drawn("", "Two"))}))
	if diff := cmp.Diff([]string{"heading 1: One", "heading 1: Two"}, readtest.Office(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "slide 2 is hidden") {
		t.Errorf("warnings = %q", doc.Warnings)
	}
	if doc.Blocks[1].Page != 2 || doc.Pages != 2 || doc.Title != "" {
		t.Errorf("page = %d of %d, title = %q", doc.Blocks[1].Page, doc.Pages, doc.Title)
	}
}

func TestPptxReadsRepeatedTextOnce(t *testing.T) {
	t.Parallel()
	footer := extracttest.Shape("ftr", extracttest.Drawn("", "Nordlys Pumps"))
	doc := readtest.MustParse(t, "a.pptx", extracttest.Slides(t, []string{"|" + extracttest.Shape("", extracttest.Drawn("", "a")) + footer, "|" + extracttest.Shape("", extracttest.Drawn("", "b")) + footer, `showMasterSp="0"|` + extracttest.Shape("", extracttest.Drawn("", "c"))},
		extracttest.Part{"ppt/slideLayouts/slideLayout1.xml", extracttest.SlidePart("sldLayout", extracttest.Shape("title", extracttest.Drawn("", "Click to add title")))},
		extracttest.Part{"ppt/slideMasters/slideMaster1.xml", extracttest.SlidePart("sldMaster", extracttest.Shape("body", extracttest.Drawn("", "Click to edit"))+extracttest.Shape("", extracttest.Drawn("", "Confidential")))},
		extracttest.Rels("ppt/slides/slide3.xml", "r1 slideLayout ../slideLayouts/slideLayout1.xml"), extracttest.Rels("ppt/slides/slide2.xml", "r1 slideLayout ../slideLayouts/slideLayout1.xml"),
		extracttest.Rels("ppt/slideLayouts/slideLayout1.xml", "r1 slideMaster ../slideMasters/slideMaster1.xml")))
	want := []string{"paragraph: a", "paragraph: Nordlys Pumps", "paragraph: Confidential", "paragraph: b", "paragraph: c"}
	if diff := cmp.Diff(want, readtest.Office(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestPptxWithoutAListOfSlidesIsReadByTheirNames(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.pptx", extracttest.Office(t, extracttest.Part{"ppt/slides/slide2.xml", extracttest.SlidePart("sld", extracttest.Shape("", extracttest.Drawn("", "two")))},
		extracttest.Part{"ppt/slides/slide1.xml", extracttest.SlidePart("sld", extracttest.Shape("", extracttest.Drawn("", "one")))}))
	if diff := cmp.Diff([]string{"paragraph: one", "paragraph: two"}, readtest.Office(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestPptxKeepsTextBeforeDamage(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.pptx", extracttest.Office(t, extracttest.Part{"ppt/slides/slide1.xml", strings.Replace(extracttest.SlidePart("sld", extracttest.Shape("", extracttest.Drawn("", "kept"))), "</p:spTree>", "<p:sp", 1)}))
	if len(doc.Blocks) != 1 || doc.Blocks[0].Text != "kept" || len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "slide 1 is damaged") {
		t.Errorf("blocks = %q, warnings = %q", readtest.Office(doc), doc.Warnings)
	}
}

func TestTheTitleOfAPresentationIsThatOfItsTitleSlide(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		slides []string
		want   string
	}{
		"a title slide":           {[]string{"|" + extracttest.Shape("ctrTitle", extracttest.Drawn("", "The plan")), "|" + extracttest.Shape("title", extracttest.Drawn("", "Costs"))}, "The plan"},
		"slides on one level":     {[]string{"|" + extracttest.Shape("title", extracttest.Drawn("", "Refunds")), "|" + extracttest.Shape("title", extracttest.Drawn("", "Shipping"))}, ""},
		"one title on all slides": {[]string{"|" + extracttest.Shape("title", extracttest.Drawn("", "Refunds")), "|" + extracttest.Shape("", extracttest.Drawn("", "text"))}, ""},
		"one slide":               {[]string{"|" + extracttest.Shape("title", extracttest.Drawn("", "Refunds"))}, "Refunds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if doc := readtest.MustParse(t, "a.pptx", extracttest.Slides(t, tt.slides)); doc.Title != tt.want {
				t.Errorf("title = %q, want %q", doc.Title, tt.want)
			}
		})
	}
}

func TestASlideWithoutATitleHasNoHeading(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.pptx", extracttest.Slides(t, []string{"|" + extracttest.Shape("title", extracttest.Drawn("", "Refunds")) + extracttest.Shape("", extracttest.Drawn("", "a")), "|" + extracttest.Shape("", extracttest.Drawn("", "b")) + extracttest.Shape("", extracttest.Drawn("", "c")),
		"|" + extracttest.Shape("title", extracttest.Drawn("", "Shipping")) + extracttest.Shape("", extracttest.Drawn("", "d"))}))
	var apart []string
	for _, b := range doc.Blocks {
		if b.Apart {
			apart = append(apart, b.Text)
		}
	}
	if diff := cmp.Diff([]string{"b"}, apart); diff != "" {
		t.Errorf("blocks apart (-want +got):\n%s", diff)
	}
}
