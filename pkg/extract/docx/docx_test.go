package docx_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestDocxText(t *testing.T) {
	t.Parallel()
	field := func(code, result string) string {
		return `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>` + code + `</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>` +
			extracttest.WordRun(result) + `<w:r><w:fldChar w:fldCharType="end"/></w:r>`
	}
	tests := map[string]struct {
		body string
		want []string
	}{
		"tracked changes count as accepted": {`<w:p>` + extracttest.WordRun("Pay ") + `<w:del><w:r><w:delText>10</w:delText></w:r></w:del><w:ins>` + extracttest.WordRun("20") + `</w:ins><w:moveFrom>` + extracttest.WordRun(" now") + `</w:moveFrom></w:p>`,
			[]string{"paragraph: Pay 20"}},
		"paragraphs are joined where the mark between them was deleted": {`<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>` + extracttest.WordRun("one ") + `</w:p>` + extracttest.WordPara("", "line") + extracttest.WordPara("", "next"),
			[]string{"paragraph: one line", "paragraph: next"}},
		"a field shows its result and not its code": {`<w:p>` + extracttest.WordRun("See ") + field(` REF x \h `, "chapter 2") + `</w:p>`, []string{"paragraph: See chapter 2"}},
		"a field inside another's code is not shown": {`<w:p>` + `<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>IF </w:instrText></w:r>` + field("MERGEFIELD a", "hidden") +
			`<w:r><w:fldChar w:fldCharType="separate"/></w:r>` + extracttest.WordRun("shown") + `<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`, []string{"paragraph: shown"}},
		"a field that never ends takes no more than its paragraph": {`<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r>` + extracttest.WordRun("code") + `</w:p>` + extracttest.WordPara("", "text"), []string{"paragraph: text"}},
		"links keep text and address": {`<w:p>` + extracttest.WordRun("Ask ") + `<w:hyperlink r:id="r1">` + extracttest.WordRun("the ") + extracttest.WordRun("office") + `</w:hyperlink>` + extracttest.WordRun(" or ") + field(`HYPERLINK "https://b.example/x" \o "tip"`, "them") + `</w:p>`,
			[]string{"paragraph: Ask the office or them <the office https://a.example/> <them https://b.example/x>"}},
		"links to places in the document are text alone": {`<w:p><w:hyperlink w:anchor="top">` + extracttest.WordRun("up") + `</w:hyperlink> ` + field(`HYPERLINK \l "x"`, "down") + `</w:p>`, []string{"paragraph: updown"}},
		"a text box follows its paragraph once": {`<w:p>` + extracttest.WordRun("before ") + `<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx><w:txbxContent>` + extracttest.WordPara("", "in the box") +
			`</w:txbxContent></wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox><w:txbxContent>` + extracttest.WordPara("", "in the box") + `</w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>` + extracttest.WordRun("after") + `</w:p>`,
			[]string{"paragraph: before after", "paragraph: in the box"}},
		"a fallback is read where the choice says nothing": {`<w:p><w:r><mc:AlternateContent><mc:Choice Requires="x"><w:drawing/></mc:Choice><mc:Fallback>` + `<w:t>plain</w:t>` + `</mc:Fallback></mc:AlternateContent></w:r></w:p>`,
			[]string{"paragraph: plain"}},
		"content controls, smart tags and custom XML are their content": {`<w:sdt><w:sdtPr><w:alias w:val="x"/></w:sdtPr><w:sdtContent><w:p><w:smartTag>` + extracttest.WordRun("a") + `</w:smartTag><w:customXml>` + extracttest.WordRun("b") + `</w:customXml></w:p></w:sdtContent></w:sdt>`,
			[]string{"paragraph: x: ab"}},
		"the name of a content control labels its value": {`<w:p><w:sdt><w:sdtPr><w:alias w:val="Customer"/></w:sdtPr><w:sdtContent>` + extracttest.WordRun("Smith") + `</w:sdtContent></w:sdt></w:p>` +
			`<w:p>` + extracttest.WordRun("Dear ") + `<w:sdt><w:sdtPr><w:alias w:val="Customer"/></w:sdtPr><w:sdtContent>` + extracttest.WordRun("Smith") + `</w:sdtContent></w:sdt></w:p>` +
			`<w:p><w:sdt><w:sdtPr><w:alias w:val="Customer"/></w:sdtPr><w:sdtContent>` + extracttest.WordRun("Smith") + `</w:sdtContent></w:sdt>` + extracttest.WordRun(" pays.") + `</w:p>` +
			`<w:sdt><w:sdtPr><w:alias w:val="Terms"/></w:sdtPr><w:sdtContent>` + extracttest.WordPara("", "one") + extracttest.WordPara("", "two") + `</w:sdtContent></w:sdt>` +
			`<w:sdt><w:sdtPr><w:alias w:val="Paid"/><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent>` + extracttest.WordPara("", "x") + `</w:sdtContent></w:sdt>` +
			`<w:sdt><w:sdtPr><w:alias w:val="City"/><w:showingPlcHdr/></w:sdtPr><w:sdtContent>` + extracttest.WordPara("", "Enter a city") + `</w:sdtContent></w:sdt>`,
			[]string{"paragraph: Customer: Smith", "paragraph: Dear Smith", "paragraph: Smith pays.", "paragraph: one", "paragraph: two", "paragraph: Paid: ☒", "paragraph: Enter a city"}},
		"a check box shows its state in any font": {`<w:p><w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent><w:r><w:rPr><w:rFonts w:ascii="Wingdings"/></w:rPr><w:t>&#xF0FE;</w:t></w:r></w:sdtContent></w:sdt>` + extracttest.WordRun(" sent") + `</w:p>` +
			`<w:p><w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="0"/></w14:checkbox></w:sdtPr><w:sdtContent>` + extracttest.WordRun("o") + `</w:sdtContent></w:sdt>` + extracttest.WordRun(" paid") + `</w:p>`,
			[]string{"paragraph: ☒ sent", "paragraph: ☐ paid"}},
		"readings follow the words they belong to": {`<w:p><w:r><w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:ruby><w:rt><w:r><w:t>きょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>京</w:t></w:r></w:rubyBase></w:ruby></w:r>` + extracttest.WordRun("へ") + `</w:p>`,
			[]string{"paragraph: 東京（とうきょう）へ"}},
		"symbols are what they show": {`<w:p><w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:t xml:space="preserve"> 5 </w:t><w:sym w:font="Symbol" w:char="F06D"/><w:t>m</w:t></w:r></w:p>`, []string{"paragraph: ✓ 5 μm"}},
		"hyphens, tabs and breaks":   {`<w:p><w:r><w:t>co</w:t><w:softHyphen/><w:t>operate</w:t><w:tab/><w:t>A</w:t><w:noBreakHyphen/><w:t>1</w:t><w:br/><w:t>next</w:t></w:r></w:p>`, []string{"paragraph: cooperate\tA-1\nnext"}},
		"an old form field shows its choice": {`<w:p>` + extracttest.WordRun("Size: ") + `<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="S"/><w:listEntry w:val="M"/></w:ddList></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`,
			[]string{"paragraph: Size: M"}},
		"a picture's description is read and its file name is not": {`<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" name="Picture 1" descr="Exploded view of the pump housing"/></wp:inline></w:drawing></w:r></w:p>` +
			`<w:p><w:r><w:drawing><wp:inline><wp:docPr id="2" name="Picture 2" descr="http://a.example/a big spacer.gif"/></wp:inline></w:drawing></w:r></w:p>`,
			[]string{"paragraph: Exploded view of the pump housing"}},
		"a chart stands where it is drawn": {`<w:p>` + extracttest.WordRun("Sales") + `<w:r><w:drawing><c:chart r:id="r2"/></w:drawing></w:r></w:p>` + extracttest.WordPara("", "after"),
			[]string{"paragraph: Sales", "paragraph: Units sold", "table_row: 2024\t2025", "table_row: North; 2024: 4.4; 2025: 50%", "table_row: South; 2024: 7", "paragraph: after"}},
		"a drop cap belongs to its word": {`<w:p><w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr>` + extracttest.WordRun("I") + `</w:p>` + extracttest.WordPara("", "n winter the ferry stays.") + `<w:p><w:pPr><w:framePr w:dropCap="margin"/></w:pPr>` + extracttest.WordRun("A") + `</w:p>` + `<w:p>` + extracttest.WordRun(" boat left.") + `</w:p>`,
			[]string{"paragraph: In winter the ferry stays.", "paragraph: A boat left."}},
		"a frame without a drop cap is a paragraph": {`<w:p><w:pPr><w:framePr w:w="2000"/></w:pPr>` + extracttest.WordRun("aside") + `</w:p>` + extracttest.WordPara("", "text"), []string{"paragraph: aside", "paragraph: text"}},
		"properties above a table of items": {`<w:tbl>` + extracttest.WordRow("Customer", "2:Nord AG") + extracttest.WordRow("Order", "2:R 5") + extracttest.WordRow("Item", "Quantity", "Price") + extracttest.WordRow("Lamp", "2", "10.00") + extracttest.WordRow("Bulb", "1", "1.50") + `</w:tbl>`,
			[]string{"table_row: Customer: Nord AG", "table_row: Order: R 5", "table_row: Item\tQuantity\tPrice", "table_row: Item: Lamp; Quantity: 2; Price: 10.00", "table_row: Item: Bulb; Quantity: 1; Price: 1.50"}},
		"properties side by side": {`<w:tbl>` + extracttest.WordRow("Customer", "Nord AG", "Order", "R 5") + extracttest.WordRow("Date", "2021-01-01", "Terms", "30 days") + `</w:tbl>`,
			[]string{"table_row: Customer: Nord AG; Order: R 5", "table_row: Date: 2021-01-01; Terms: 30 days"}},
		"an embedded page is read in its place": {extracttest.WordPara("", "before") + `<w:altChunk r:id="r3"/>` + extracttest.WordPara("", "after"),
			[]string{"paragraph: before", "heading 2: Terms", "paragraph: Net thirty days.", "paragraph: after"}},
		"an embedded document is read in its place": {extracttest.WordPara("", "before") + `<w:altChunk r:id="r4"/>`, []string{"paragraph: before", "paragraph: inner"}},
	}
	chart := extracttest.Part{"word/charts/chart1.xml", `<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Units sold</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart>` +
		`<c:ser><c:tx><c:strRef><c:f>B1</c:f><c:strCache><c:pt idx="0"><c:v>2024</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>North</c:v></c:pt><c:pt idx="1"><c:v>South</c:v></c:pt></c:strCache></c:strRef></c:cat>` +
		`<c:val><c:numRef><c:numCache><c:formatCode>General</c:formatCode><c:pt idx="0"><c:v>4.4000000000000004</c:v></c:pt><c:pt idx="1"><c:v>7</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>` +
		`<c:ser><c:tx><c:v>2025</c:v></c:tx><c:val><c:numRef><c:numCache><c:formatCode>0%</c:formatCode><c:pt idx="0"><c:v>0.5</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>`}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := readtest.MustParse(t, "a.docx", extracttest.Word(t, tt.body, chart,
				extracttest.Part{"word/terms.html", "<html><body><h2>Terms</h2><p>Net thirty days.</p></body></html>"},
				extracttest.Part{"word/inner.docx", string(extracttest.Word(t, extracttest.WordPara("", "inner")))},
				extracttest.Rels("word/document.xml", "r1 hyperlink https://a.example/", "r2 chart charts/chart1.xml", "r3 aFChunk terms.html", "r4 aFChunk /word/inner.docx")))
			if diff := cmp.Diff(tt.want, readtest.Office(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDocxTablesInCellsKeepTheirRowsApart(t *testing.T) {
	t.Parallel()
	cell := func(content string) string { return `<w:tc>` + content + `</w:tc>` }
	row := func(cells ...string) string { return `<w:tr>` + strings.Join(cells, "") + `</w:tr>` }
	text := func(s string) string { return cell(extracttest.WordPara("", s)) }
	inner := `<w:tbl>` + row(text("Door"), text("oak")) + row(text("Window"), text("pine")) + `</w:tbl>`
	body := `<w:tbl>` + row(text("Hall"), text("empty")) + row(text("Kitchen"), cell(extracttest.WordPara("", "as planned")+inner+extracttest.WordPara("", "done"))) + `</w:tbl>`
	for _, plain := range []bool{false, true} {
		data := extracttest.Word(t, body)
		doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.docx", PlainRows: plain}, format.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.Blocks[1].Text; !strings.HasSuffix(got, "as planned; Door: oak; Window: pine; done") {
			t.Errorf("plain %t: row = %q", plain, got)
		}
	}
}

func TestTheTitleOfADocxIsOneForAll(t *testing.T) {
	t.Parallel()
	head := func(style, text string) string { return extracttest.WordPara(`<w:pStyle w:val="`+style+`"/>`, text) }
	for name, tt := range map[string]struct{ body, want string }{
		"a single heading":       {head("Heading1", "Refunds") + head("Heading2", "Times"), "Refunds"},
		"two headings":           {head("Heading1", "Refunds") + head("Heading1", "Shipping"), ""},
		"a title above headings": {head("Title", "Terms") + head("Heading1", "Refunds") + head("Heading1", "Shipping"), "Terms"},
		"two titles":             {head("Title", "Refunds") + head("Title", "Shipping"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if doc := readtest.MustParse(t, "a.docx", extracttest.Word(t, tt.body)); doc.Title != tt.want {
				t.Errorf("title = %q, want %q", doc.Title, tt.want)
			}
		})
	}
}

func TestDocxHeadings(t *testing.T) {
	t.Parallel()
	styles := extracttest.Part{"word/styles.xml", `<w:styles xmlns:w="w"><w:style w:styleId="berschrift2"><w:name w:val="Überschrift 2"/></w:style>` +
		`<w:style w:styleId="Own"><w:name w:val="Chapter"/><w:basedOn w:val="H1"/></w:style><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>` +
		`<w:style w:styleId="Contents"><w:name w:val="TOC Heading"/><w:basedOn w:val="H1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>` +
		`<w:style w:styleId="Level"><w:name w:val="Section"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>` +
		`<w:style w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style><w:style w:styleId="a3"><w:name w:val="Title"/></w:style></w:styles>`}
	style := func(id string) string { return `<w:pStyle w:val="` + id + `"/>` }
	doc := readtest.MustParse(t, "a.docx", extracttest.Word(t, extracttest.WordPara(style("a3"), "The book")+extracttest.WordPara(style("Own"), "By what it is based on")+extracttest.WordPara(style("berschrift2"), "By a name in another language")+
		extracttest.WordPara(style("Level"), "By the style's outline level")+extracttest.WordPara(`<w:outlineLvl w:val="3"/>`, "By its own outline level")+extracttest.WordPara(style("H1")+`<w:outlineLvl w:val="9"/>`, "Made body text")+
		extracttest.WordPara(style("Contents"), "Contents")+extracttest.WordPara(style("Loop"), "A style based on itself")+extracttest.WordPara(style("Heading5"), "By the id of a style that is not defined"), styles))
	want := []string{"heading 1: The book", "heading 1: By what it is based on", "heading 2: By a name in another language", "heading 3: By the style's outline level",
		"heading 4: By its own outline level", "paragraph: Made body text", "paragraph: Contents", "paragraph: A style based on itself", "heading 5: By the id of a style that is not defined"}
	if diff := cmp.Diff(want, readtest.Office(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if doc.Title != "The book" {
		t.Errorf("title = %q", doc.Title)
	}
}

func TestDocxListNumbers(t *testing.T) {
	t.Parallel()
	level := func(at, format, text, more string) string {
		return `<w:lvl w:ilvl="` + at + `"><w:start w:val="1"/><w:numFmt w:val="` + format + `"/><w:lvlText w:val="` + text + `"/>` + more + `</w:lvl>`
	}
	numbering := extracttest.Part{"word/numbering.xml", `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="0">` +
		level("0", "decimal", "%1.", `<w:pStyle w:val="H1"/>`) + level("1", "lowerLetter", "%1.%2)", `<w:pStyle w:val="H2"/>`) + level("2", "upperRoman", "%1.%2.%3", "<w:isLgl/>") + `</w:abstractNum>` +
		`<w:abstractNum w:abstractNumId="1">` + level("0", "bullet", "•", "") + level("1", "lowerRoman", "(%2)", `<w:lvlRestart w:val="0"/>`) + `</w:abstractNum>` +
		`<w:abstractNum w:abstractNumId="3">` + level("0", "upperLetter", "%1.", `<w:pStyle w:val="Twice"/>`) + level("1", "decimal", "%2.", `<w:pStyle w:val="Twice"/>`) + `</w:abstractNum>` +
		`<w:abstractNum w:abstractNumId="2">` + level("0", "chineseCounting", "第%1章", `<w:suff w:val="nothing"/>`) + `</w:abstractNum>` +
		`<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>` +
		`<w:num w:numId="3"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="4"><w:abstractNumId w:val="2"/></w:num><w:num w:numId="5"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="6"><w:abstractNumId w:val="3"/></w:num></w:numbering>`}
	styles := extracttest.Part{"word/styles.xml", `<w:styles xmlns:w="w"><w:style w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>` +
		`<w:style w:styleId="H2"><w:name w:val="heading 2"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>` +
		`<w:style w:styleId="Twice"><w:name w:val="numbered"/><w:pPr><w:numPr><w:numId w:val="6"/></w:numPr></w:pPr></w:style></w:styles>`}
	item := func(list, level, text string) string {
		return extracttest.WordPara(`<w:numPr><w:ilvl w:val="`+level+`"/><w:numId w:val="`+list+`"/></w:numPr>`, text)
	}
	tests := map[string]struct {
		body string
		want []string
	}{
		"levels count on their own and start anew below another": {item("1", "0", "a") + item("1", "1", "b") + item("1", "1", "c") + item("1", "0", "d") + item("1", "1", "e"),
			[]string{"list_item 1: 1. a", "list_item 2: 1.a) b", "list_item 2: 1.b) c", "list_item 1: 2. d", "list_item 2: 2.a) e"}},
		"legal numbers are decimal on all levels":                       {item("1", "0", "a") + item("1", "1", "b") + item("1", "2", "c"), []string{"list_item 1: 1. a", "list_item 2: 1.a) b", "list_item 3: 1.1.1 c"}},
		"a level that was passed over counts as begun":                  {item("1", "1", "a") + item("1", "0", "b"), []string{"list_item 2: 1.a) a", "list_item 1: 2. b"}},
		"a list goes on where another with the same definition stopped": {item("1", "0", "a") + item("5", "0", "b"), []string{"list_item 1: 1. a", "list_item 1: 2. b"}},
		"an override starts a list anew, once":                          {item("1", "0", "a") + item("2", "0", "b") + item("2", "0", "c"), []string{"list_item 1: 1. a", "list_item 1: 5. b", "list_item 1: 6. c"}},
		"empty items are counted":                                       {item("1", "0", "a") + item("1", "0", "") + item("1", "0", "c"), []string{"list_item 1: 1. a", "list_item 1: 3. c"}},
		"a level may never start anew":                                  {item("3", "0", "a") + item("3", "1", "b") + item("3", "0", "c") + item("3", "1", "d"), []string{"list_item 1: a", "list_item 2: (i) b", "list_item 1: c", "list_item 2: (ii) d"}},
		"of levels that name one style, the first is its":               {extracttest.WordPara(`<w:pStyle w:val="Twice"/>`, "a") + extracttest.WordPara(`<w:pStyle w:val="Twice"/>`, "b"), []string{"list_item 1: A. a", "list_item 1: B. b"}},
		"headings are numbered by their styles":                         {extracttest.WordPara(`<w:pStyle w:val="H1"/>`, "One") + extracttest.WordPara(`<w:pStyle w:val="H2"/>`, "Two"), []string{"heading 1: 1. One", "heading 2: 1.a) Two"}},
		"a paragraph may leave its style's list":                        {extracttest.WordPara(`<w:pStyle w:val="H1"/><w:numPr><w:numId w:val="0"/></w:numPr>`, "Preface"), []string{"heading 1: Preface"}},
		"numbers in other scripts":                                      {item("4", "0", "总则") + item("4", "0", "附则"), []string{"list_item 1: 第一章总则", "list_item 1: 第二章附则"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, readtest.Office(readtest.MustParse(t, "a.docx", extracttest.Word(t, tt.body, numbering, styles)))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDocxTables(t *testing.T) {
	t.Parallel()
	cell := func(props, text string) string {
		return `<w:tc><w:tcPr>` + props + `</w:tcPr>` + extracttest.WordPara("", text) + `</w:tc>`
	}
	bold := func(text string) string {
		return `<w:tc><w:p><w:r><w:rPr><w:b/></w:rPr><w:t>` + text + `</w:t></w:r></w:p></w:tc>`
	}
	row := func(cells ...string) string { return `<w:tr>` + strings.Join(cells, "") + `</w:tr>` }
	table := func(rows ...string) string { return `<w:tbl>` + strings.Join(rows, "") + `</w:tbl>` }
	head := func(cells ...string) string {
		return `<w:tr><w:trPr><w:tblHeader/></w:trPr>` + strings.Join(cells, "") + `</w:tr>`
	}
	tests := map[string]struct {
		body        string
		want, plain []string
	}{
		"a header that the table names": {table(head(cell("", "Part"), cell("", "Price")), row(cell("", "Seal"), cell("", "4"))),
			[]string{"table_row: Part\tPrice", "table_row: Part: Seal; Price: 4"}, []string{"table_row: Part\tPrice", "table_row: Seal\t4"}},
		"a header in bold": {table(row(bold("Part"), bold("Price")), row(cell("", "Seal"), cell("", "4"))),
			[]string{"table_row: Part\tPrice", "table_row: Part: Seal; Price: 4"}, []string{"table_row: Part\tPrice", "table_row: Seal\t4"}},
		"two columns of names and values have no header": {table(row(cell("", "Name"), cell("", "Ines")), row(cell("", "Town"), cell("", "Porto")), row(cell("", "Post"), cell("", "Clerk"))),
			[]string{"table_row: Name: Ines", "table_row: Town: Porto", "table_row: Post: Clerk"}, []string{"table_row: Name\tInes", "table_row: Town\tPorto", "table_row: Post\tClerk"}},
		"two columns that can be names over numbers are left as they are": {table(row(cell("", "Part"), cell("", "Price")), row(cell("", "Seal"), cell("", "4")), row(cell("", "Ring"), cell("", "7"))),
			[]string{"table_row: Part\tPrice", "table_row: Seal\t4", "table_row: Ring\t7"}, []string{"table_row: Part\tPrice", "table_row: Seal\t4", "table_row: Ring\t7"}},
		"three rows of names keep the one in the middle": {table(row(cell(`<w:vMerge w:val="restart"/>`, "Month"), cell(`<w:gridSpan w:val="4"/>`, "Guests")),
			row(cell(`<w:vMerge/>`, ""), cell(`<w:gridSpan w:val="2"/>`, "Old"), cell(`<w:gridSpan w:val="2"/>`, "New")),
			row(cell(`<w:vMerge/>`, ""), cell("", "Local"), cell("", "Foreign"), cell("", "Local"), cell("", "Foreign")),
			row(cell("", "May"), cell("", "7"), cell("", "8"), cell("", "9"), cell("", "6"))),
			[]string{"table_row: Month\tGuests", "table_row: Old\tNew", "table_row: Local\tForeign\tLocal\tForeign", "table_row: Month: May; Guests Old Local: 7; Guests Old Foreign: 8; Guests New Local: 9; Guests New Foreign: 6"},
			[]string{"table_row: Month\tGuests", "table_row: Old\tNew", "table_row: Local\tForeign\tLocal\tForeign", "table_row: May\t7\t8\t9\t6"}},
		"merged cells hold for all rows and columns that they cover": {table(head(cell("", "Site"), cell(`<w:gridSpan w:val="2"/>`, "Hours")),
			row(cell(`<w:vMerge w:val="restart"/>`, "Bergen"), cell("", "8"), cell("", "16")), row(cell(`<w:vMerge/>`, ""), cell("", "9"), cell("", "17"))),
			[]string{"table_row: Site\tHours", "table_row: Site: Bergen; Hours: 8; Hours: 16", "table_row: Site: Bergen; Hours: 9; Hours: 17"},
			[]string{"table_row: Site\tHours", "table_row: Bergen\t8\t16", "table_row: 9\t17"}},
		"names merged downwards beside names of groups": {table(row(cell(`<w:vMerge w:val="restart"/>`, "Month"), cell(`<w:gridSpan w:val="2"/>`, "Guests"), cell(`<w:vMerge w:val="restart"/>`, "Snow")),
			row(cell(`<w:vMerge/>`, ""), cell("", "Local"), cell("", "Foreign"), cell(`<w:vMerge/>`, "")), row(cell("", "May"), cell("", "7"), cell("", "8"), cell("", "9"))),
			[]string{"table_row: Month\tGuests\tSnow", "table_row: Local\tForeign", "table_row: Month: May; Guests Local: 7; Guests Foreign: 8; Snow: 9"},
			[]string{"table_row: Month\tGuests\tSnow", "table_row: Local\tForeign", "table_row: May\t7\t8\t9"}},
		"a table in a cell is text of the cell": {table(row(cell("", "a"), `<w:tc>`+table(row(cell("", "b"), cell("", "c")))+`<w:p/></w:tc>`)), []string{"table_row: a\tb c"}, []string{"table_row: a\tb c"}},
		"a table of one column is a box of paragraphs": {`<w:tbl><w:tblGrid><w:gridCol/></w:tblGrid>` + row(`<w:tc>`+extracttest.WordPara("", "First.")+extracttest.WordPara("", "Second.")+`</w:tc>`) + `</w:tbl>`,
			[]string{"paragraph: First.", "paragraph: Second."}, []string{"paragraph: First.", "paragraph: Second."}},
		"a table that lays out a page is its paragraphs": {table(row(`<w:tc>`+extracttest.WordPara(`<w:outlineLvl w:val="0"/>`, "News")+extracttest.WordPara("", "All is well.")+`</w:tc>`, cell("", "Aside"))),
			[]string{"heading 1: News", "paragraph: All is well.", "paragraph: Aside"}, []string{"heading 1: News", "paragraph: All is well.", "paragraph: Aside"}},
		"deleted rows are gone and wrapped ones are not": {table(`<w:tr><w:trPr><w:del/></w:trPr>`+cell("", "old")+cell("", "1")+`</w:tr>`, `<w:sdt><w:sdtContent>`+row(`<w:sdt><w:sdtContent>`+cell("", "new")+`</w:sdtContent></w:sdt>`, cell("", "2"))+`</w:sdtContent></w:sdt>`),
			[]string{"table_row: new\t2"}, []string{"table_row: new\t2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := extracttest.Word(t, tt.body)
			if diff := cmp.Diff(tt.want, readtest.Office(readtest.MustParse(t, "a.docx", data))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), PlainRows: true}, format.Limits{})
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if diff := cmp.Diff(tt.plain, readtest.Office(doc)); diff != "" {
				t.Errorf("plain rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDocxHeadersAndFootersAreReadOnceWithoutPageNumbers(t *testing.T) {
	t.Parallel()
	page := `<w:p>` + extracttest.WordRun("Page ") + `<w:fldSimple w:instr=" PAGE "><w:r><w:t>3</w:t></w:r></w:fldSimple>` + extracttest.WordRun(" of ") + `<w:fldSimple w:instr="NUMPAGES"><w:r><w:t>9</w:t></w:r></w:fldSimple></w:p>`
	hdr := `<w:hdr xmlns:w="w">` + extracttest.WordPara("", "Nordlys Pumps") + `</w:hdr>`
	doc := readtest.MustParse(t, "a.docx", extracttest.Word(t, extracttest.WordPara("", "body"), extracttest.Part{"word/header1.xml", hdr}, extracttest.Part{"word/header2.xml", hdr},
		extracttest.Part{"word/footer1.xml", `<w:ftr xmlns:w="w">` + extracttest.WordPara(`<w:outlineLvl w:val="0"/>`, "Confidential") + page + `</w:ftr>`},
		extracttest.Rels("word/document.xml", "r1 header header1.xml", "r2 header header2.xml", "r3 footer footer1.xml")))
	want := []string{"paragraph: Nordlys Pumps", "paragraph: body", "paragraph: Confidential"}
	if diff := cmp.Diff(want, readtest.Office(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}
