package xlsx_test

import (
	"archive/zip"
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
	"github.com/sluice/sluice/pkg/extract/xlsx"
)

func TestCellsAreReadAsShown(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ cell, want string }{
		"shared text":                         {`<c t="s"><v>0</v></c>`, "plain"},
		"rich text without its pronunciation": {`<c t="s"><v>1</v></c>`, "rich text"},
		"inline text":                         {`<c t="inlineStr"><is><t>in_x000A_line</t></is></c>`, "in line"},
		"a number with all its digits":        {`<c><v>4006381333931</v></c>`, "4006381333931"},
		"a number without binary noise":       {`<c><v>0.30000000000000004</v></c>`, "0.3"},
		"a very large number":                 {`<c><v>1E+30</v></c>`, "1E+30"},
		"a date of no order":                  {`<c s="1"><v>45418</v></c>`, "2024-05-06"},
		"a date in its own format":            {`<c s="2"><v>45418</v></c>`, "6-May-2024"},
		"a time":                              {`<c s="5"><v>0.25</v></c>`, "6:00"},
		"a date and time":                     {`<c s="6"><v>45418.5</v></c>`, "2024-05-06 12:00"},
		"a date of a strict workbook":         {`<c t="d"><v>2024-05-06T00:00:00.000</v></c>`, "2024-05-06"},
		"a percentage":                        {`<c s="3"><v>0.125</v></c>`, "12.50%"},
		"an amount":                           {`<c s="4"><v>1234.5</v></c>`, "€1,234.50"},
		"true":                                {`<c t="b"><v>1</v></c>`, "TRUE"},
		"an error":                            {`<c t="e"><v>#DIV/0!</v></c>`, "#DIV/0!"},
		"the value of a formula":              {`<c><f>1+1</f><v>2</v></c>`, "2"},
		"the text of a formula":               {`<c t="str"><f>A1</f><v>two</v></c>`, "two"},
		"a style that is missing":             {`<c s="99"><v>5</v></c>`, "5"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.xlsx", extracttest.Sheet(t, "<row>"+tt.cell+"</row>", "", nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("heading 1: Data\ntable_row row 1: "+tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSheetsAreReadInOrder(t *testing.T) {
	t.Parallel()
	rows := extracttest.Cells(2, "name", "age") + extracttest.Cells(3, "Ann", "31")
	const want = "heading 1: Data\ntable_row row 2: name\tage\ntable_row row 3: name: Ann; age: 31"
	rels := func(lines string) map[string]string {
		return map[string]string{"xl/worksheets/_rels/sheet1.xml.rels": "<Relationships>" + lines + "</Relationships>"}
	}
	book := func(sheets string) map[string]string {
		return map[string]string{"xl/workbook.xml": `<workbook xmlns:r="r"><workbookPr date1904="1"/><sheets>` + sheets + `</sheets></workbook>`}
	}
	tests := map[string]struct {
		rows, tail    string
		parts         map[string]string
		want, warning string
	}{
		"rows keep their numbers": {rows: rows, want: want},
		"tables parted by an empty row have their own headers": {
			rows: rows + extracttest.Cells(5, "city", "size") + extracttest.Cells(6, "Oslo", "9"),
			want: want + "\ntable_row row 5: city\tsize\ntable_row row 6: city: Oslo; size: 9"},
		"an empty row within a table": {rows: rows + extracttest.Cells(5, "Ben", "29"), want: want + "\ntable_row row 5: name: Ben; age: 29"},
		"a table says where its header is": {
			rows: extracttest.Cells(1, "All", "of them") + extracttest.Cells(2, "1", "2") + extracttest.Cells(3, "3", "4"), tail: `<autoFilter ref="A2:B9"/>`,
			want: "heading 1: Data\ntable_row row 1: All\tof them\ntable_row row 2: 1\t2\ntable_row row 3: 1: 3; 2: 4"},
		"groups of columns": {
			rows: extracttest.Cells(1, "", "2023 plan", "", "2024 plan") + extracttest.Cells(2, "Region", "Q1", "Q2", "Q1", "Q2") + extracttest.Cells(3, "North", "1", "2", "3", "4") + extracttest.Cells(4, "South", "5", "6", "7", "8"),
			want: "heading 1: Data\ntable_row row 1: 2023 plan\t\t2024 plan\ntable_row row 2: Region\tQ1\tQ2\tQ1\tQ2\n" +
				"table_row row 3: Region: North; 2023 plan Q1: 1; 2023 plan Q2: 2; 2024 plan Q1: 3; 2024 plan Q2: 4\n" +
				"table_row row 4: Region: South; 2023 plan Q1: 5; 2023 plan Q2: 6; 2024 plan Q1: 7; 2024 plan Q2: 8"},
		"a merged name covers its columns and no more": {
			rows: extracttest.Cells(1, "", "Spring", "", "Autumn") + extracttest.Cells(2, "Plant", "Plan", "Actual", "Plan", "Actual", "Note") + extracttest.Cells(3, "P1", "1", "2", "3", "4", "ok") + extracttest.Cells(4, "P2", "5", "6", "7", "8", "ok too"),
			tail: `<mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="$D$1:$E$1"/></mergeCells>`,
			want: "heading 1: Data\ntable_row row 1: Spring\t\tAutumn\ntable_row row 2: Plant\tPlan\tActual\tPlan\tActual\tNote\n" +
				"table_row row 3: Plant: P1; Spring Plan: 1; Spring Actual: 2; Autumn Plan: 3; Autumn Actual: 4; Note: ok\n" +
				"table_row row 4: Plant: P2; Spring Plan: 5; Spring Actual: 6; Autumn Plan: 7; Autumn Actual: 8; Note: ok too"},
		"groups of groups of columns": {
			rows: extracttest.Cells(1, "", "2023", "", "", "", "2024") + extracttest.Cells(2, "", "H1", "", "H2", "", "H1") + extracttest.Cells(3, "Region", "Q1", "Q2", "Q3", "Q4", "Q1") + extracttest.Cells(4, "North", "1", "2", "3", "4", "5"),
			tail: `<mergeCells><mergeCell ref="B1:E1"/><mergeCell ref="B2:C2"/><mergeCell ref="D2:E2"/></mergeCells>`,
			want: "heading 1: Data\ntable_row row 1: 2023\t\t\t\t2024\ntable_row row 2: H1\t\tH2\t\tH1\ntable_row row 3: Region\tQ1\tQ2\tQ3\tQ4\tQ1\n" +
				"table_row row 4: Region: North; 2023 H1 Q1: 1; 2023 H1 Q2: 2; 2023 H2 Q3: 3; 2023 H2 Q4: 4; 2024 H1 Q1: 5"},
		"labels that are set off and their values": {
			rows:  strings.ReplaceAll(extracttest.Cells(1, "Name", "Ann")+extracttest.Cells(2, "City", "Oslo")+extracttest.Cells(3, "Post", "clerk"), `<c r="A`, `<c s="1" r="A`),
			parts: map[string]string{"xl/styles.xml": `<styleSheet><fonts><font/><font><b/></font></fonts><cellXfs><xf fontId="0"/><xf fontId="1"/></cellXfs></styleSheet>`},
			want:  "heading 1: Data\ntable_row row 1: Name: Ann\ntable_row row 2: City: Oslo\ntable_row row 3: Post: clerk"},
		"two labels in a row, one without a value": {
			rows:  strings.NewReplacer(`<c r="A`, `<c s="1" r="A`, `<c r="C`, `<c s="1" r="C`).Replace(extracttest.Cells(1, "Name", "Ann", "City", "Oslo") + extracttest.Cells(2, "Post", "clerk", "Room") + extracttest.Cells(3, "Floor", "5", "Desk", "7")),
			parts: map[string]string{"xl/styles.xml": `<styleSheet><fonts><font/><font><b/></font></fonts><cellXfs><xf fontId="0"/><xf fontId="1"/></cellXfs></styleSheet>`},
			want:  "heading 1: Data\ntable_row row 1: Name: Ann; City: Oslo\ntable_row row 2: Post\tclerk\tRoom\ntable_row row 3: Floor: 5; Desk: 7"},
		"a header on a ground of its own": {
			rows:  strings.ReplaceAll(extracttest.Cells(1, "Name", "Says"), `<c `, `<c s="1" `) + extracttest.Cells(2, "Mass", "5 kg") + extracttest.Cells(3, "City", "Oslo") + extracttest.Cells(4, "Born", "1990-05-06"),
			parts: map[string]string{"xl/styles.xml": `<styleSheet><fills><fill/><fill><patternFill patternType="solid"/></fill></fills><cellXfs><xf fillId="0"/><xf fillId="1"/></cellXfs></styleSheet>`},
			want:  "heading 1: Data\ntable_row row 1: Name\tSays\ntable_row row 2: Name: Mass; Says: 5 kg\ntable_row row 3: Name: City; Says: Oslo\ntable_row row 4: Name: Born; Says: 1990-05-06"},
		"formats of fractions of a second": {rows: `<row r="1"><c r="A1" s="1"><v>36191.170208437499</v></c></row>`,
			parts: map[string]string{"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="hh:mm:ss.000"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>`},
			want:  "heading 1: Data\ntable_row row 1: 04:05:06.009"},
		"names merged downwards beside groups": {
			rows: extracttest.Cells(1, "Month", "Guests", "", "Snow") + extracttest.Cells(2, "", "local", "foreign") + extracttest.Cells(3, "May", "few", "many", "deep"), tail: `<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/><mergeCell ref="D1:D2"/></mergeCells>`,
			want: "heading 1: Data\ntable_row row 1: Month\tGuests\t\tSnow\ntable_row row 2: Month\tlocal\tforeign\tSnow\ntable_row row 3: Month: May; Guests local: few; Guests foreign: many; Snow: deep"},
		"a cell merged over rows holds for each": {rows: extracttest.Cells(1, "site", "size") + extracttest.Cells(2, "North", "1") + extracttest.Cells(3, "", "2") + extracttest.Cells(4, "", "3"), tail: `<mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="x"/></mergeCells>`,
			want: "heading 1: Data\ntable_row row 1: site\tsize\ntable_row row 2: site: North; size: 1\ntable_row row 3: site: North; size: 2\ntable_row row 4: size: 3"},
		"the title of a second table is no record of the first": {rows: rows + extracttest.Cells(6, "Towns") + extracttest.Cells(7, "city", "size", "mayor") + extracttest.Cells(8, "Oslo", "9", "Bo"),
			want: want + "\ntable_row row 6: Towns\ntable_row row 7: city\tsize\tmayor\ntable_row row 8: city: Oslo; size: 9; mayor: Bo"},
		"formulas without a result": {rows: rows + `<row r="4"><c r="A4" t="str"><v>Ben</v></c><c r="B4"><f>B3*2</f><v></v></c></row><row r="5"><c r="A5" t="str"><f>""</f><v></v></c><c r="B5"><f t="shared" si="0"/></c></row>`,
			want: want + "\ntable_row row 4: name: Ben", warning: `sheet "Data": skipped 2 formulas because the file does not store their results`},
		"links": {rows: rows + `<row r="4"><c r="A4" t="str"><f>HYPERLINK("https://b.example","x")</f><v>B</v></c></row>`,
			tail: `<hyperlinks><hyperlink ref="A3" r:id="l"/></hyperlinks>`, parts: rels(`<Relationship Id="l" Type="x/hyperlink" Target="https://a.example" TargetMode="External"/>`),
			want: strings.Replace(want, "Ann", "Ann (https://a.example)", 1) + " <Ann=https://a.example>\ntable_row row 4: name: B (https://b.example) <B=https://b.example>"},
		"a link whose text is also in the name of its column": {rows: extracttest.Cells(1, "web site", "size", "age") + extracttest.Cells(2, "site", "5", "30") + extracttest.Cells(3, "shop", "7", "40"),
			tail: `<hyperlinks><hyperlink ref="A2" r:id="l"/></hyperlinks>`, parts: rels(`<Relationship Id="l" Type="x/hyperlink" Target="https://a.example" TargetMode="External"/>`),
			want: "heading 1: Data\ntable_row row 1: web site\tsize\tage\ntable_row row 2: web site: site (https://a.example); size: 5; age: 30 <site=https://a.example>\ntable_row row 3: web site: shop; size: 7; age: 40"},
		"links whose results are not stored": {rows: rows + `<row r="4"><c r="A4"><f>HYPERLINK("https://b.example/?a=1&amp;b=2", "the ""new"" pump")</f><v></v></c><c r="B4"><f>hyperlink("https://c.example")</f></c></row>` +
			`<row r="5"><c r="A5"><f>HYPERLINK("https://d.example/",B2)</f></c></row>`,
			want: want + "\ntable_row row 4: name: the \"new\" pump (https://b.example/?a=1&b=2); age: https://c.example <the \"new\" pump=https://b.example/?a=1&b=2> <https://c.example=https://c.example>" +
				"\ntable_row row 5: name: https://d.example/ <https://d.example/=https://d.example/>"},
		"text boxes": {rows: rows, parts: map[string]string{
			"xl/worksheets/_rels/sheet1.xml.rels": `<Relationships><Relationship Id="d" Type="x/drawing" Target="../drawings/d.xml"/></Relationships>`,
			"xl/drawings/d.xml":                   `<wsDr xmlns:a="a"><sp><txBody><a:p><a:r><a:t>A remark</a:t></a:r></a:p></txBody></sp></wsDr>`}, want: want + "\nparagraph: A remark"},
		"a hidden sheet is read":         {rows: rows, parts: book(`<sheet name="Data" state="hidden" r:id="rId1"/>`), want: want, warning: `sheet "Data" is hidden; it was indexed`},
		"what only macros show is not":   {rows: rows, parts: book(`<sheet name="Data" r:id="rId1"/><sheet name="Secret" state="veryHidden" r:id="rId1"/>`), want: want, warning: `sheet "Secret" is "very hidden"`},
		"days counted from 1904":         {rows: `<row><c s="1"><v>43956</v></c></row>`, parts: book(`<sheet name="Data" r:id="rId1"/>`), want: "heading 1: Data\ntable_row row 1: 2024-05-06"},
		"relationships that are missing": {rows: rows, parts: map[string]string{"xl/_rels/workbook.xml.rels": "", "_rels/.rels": ""}, want: want},
		"a workbook part that is missing": {rows: rows, parts: map[string]string{"xl/workbook.xml": "", "_rels/.rels": ""},
			want: strings.Replace(want, "Data", "sheet1", 1), warning: "does not list its sheets"},
		"targets from the root": {rows: rows, parts: map[string]string{"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="/xl/worksheets/sheet1.xml"/></Relationships>`}, want: want},
		"no styles and texts":   {rows: rows + `<row r="4"><c r="A4" t="s"><v>7</v></c><c r="B4" s="3"><v>5</v></c></row>`, parts: map[string]string{"xl/styles.xml": "", "xl/sharedStrings.xml": ""}, want: want + "\ntable_row row 4: age: 5", warning: "whose text is missing from the file"},
		"a sheet cut short":     {rows: rows + `<row r="4"><c r="A4`, want: want, warning: "damaged in row 4"},
		"prefixes of names": {parts: map[string]string{"xl/worksheets/sheet1.xml": `<x:worksheet xmlns:x="m"><x:sheetData><x:row r="1"><x:c r="A1" t="str"><x:v>kept</x:v></x:c></x:row></x:sheetData></x:worksheet>`},
			want: "heading 1: Data\ntable_row row 1: kept"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.xlsx", extracttest.Sheet(t, tt.rows, tt.tail, tt.parts))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if got := strings.Join(doc.Warnings, "\n"); tt.warning == "" && got != "" || !strings.Contains(got, tt.warning) {
				t.Errorf("warnings = %q, want %q", got, tt.warning)
			}
		})
	}
}

func TestDrawingsAreLeftOutOfPlainRows(t *testing.T) {
	t.Parallel()
	drawn := map[string]string{
		"xl/worksheets/_rels/sheet1.xml.rels": `<Relationships><Relationship Id="d" Type="x/drawing" Target="../drawings/d.xml"/></Relationships>`,
		"xl/drawings/d.xml":                   `<wsDr xmlns:a="a"><sp><txBody><a:p><a:r><a:t>A remark</a:t></a:r></a:p></txBody></sp></wsDr>`,
	}
	tests := map[string]struct{ rows, want string }{
		"beside cells": {extracttest.Cells(1, "name", "age") + extracttest.Cells(2, "Ann", "31"), "heading 1: Data\ntable_row row 1: name\tage\ntable_row row 2: Ann\t31"},
		"not where there is nothing else to read": {"", "heading 1: Data\nparagraph: A remark"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := extracttest.Sheet(t, tt.rows, "", drawn)
			doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), PlainRows: true}, format.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCellsBehindTheLastColumnAreNotLookedUp(t *testing.T) {
	t.Parallel()
	const cut = "rows were cut after 1024 columns"
	tests := map[string]struct {
		cell     string
		warnings []string
	}{
		"a value":             {`<c r="AMK1" t="s"><v>99</v></c>`, []string{cut}}, // a text missing from the file
		"a text":              {`<c r="AMK1" t="inlineStr"><is><t>far</t></is></c>`, []string{cut}},
		"a formula":           {`<c r="AMK1"><f>A1</f></c>`, nil},
		"nothing but a style": {`<c r="AMK1" s="1"/>`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := readtest.MustParse(t, "a.xlsx", extracttest.Sheet(t, `<row r="1"><c r="A1" t="str"><v>near</v></c>`+tt.cell+`</row>`, "", nil))
			if diff := cmp.Diff("heading 1: Data\ntable_row row 1: near", readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warnings, doc.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATextThatManyCellsShareIsBounded(t *testing.T) {
	t.Parallel()
	var row strings.Builder
	row.WriteString(`<row r="1">`)
	for range 64 {
		row.WriteString(`<c t="s"><v>0</v></c>`)
	}
	row.WriteString(`</row>`)
	doc := readtest.MustParse(t, "a.xlsx", extracttest.Sheet(t, row.String(), "", map[string]string{
		"xl/sharedStrings.xml": `<sst><si><t>` + strings.Repeat("word ", xlsx.MaxRowText/5) + `</t></si></sst>`,
	}))
	size := 0
	for _, b := range doc.Blocks {
		size += len(b.Text)
	}
	if size > xlsx.MaxRowText || size < xlsx.MaxRowText/2 {
		t.Errorf("the row has %d bytes, want up to %d", size, xlsx.MaxRowText)
	}
	if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], `"Data"`) {
		t.Errorf("warnings = %q, want one that names the sheet", doc.Warnings)
	}
}

func TestBinaryWorkbooksAskForXlsx(t *testing.T) {
	t.Parallel()
	_, err := readtest.Parse(t, "a.xlsb", extracttest.Sheet(t, "", "", map[string]string{"xl/workbook.xml": "", "xl/workbook.bin": "x"}))
	if format.KindOf(err) != format.Unsupported || !strings.Contains(err.Error(), "save the workbook as xlsx") {
		t.Errorf("error = %v, want Unsupported that says what to do", err)
	}
}

// heapGrowth returns how much the live heap has grown, in bytes, between the start of reading and the moment when block
// number `block` is emitted.
func heapGrowth(t *testing.T, src format.Source, block int) int64 {
	t.Helper()
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, during, blocks := live(), int64(0), 0
	_, err := extract.Stream(t.Context(), src, format.Limits{}, func(domain.Block) error {
		if blocks++; blocks == block {
			during = live()
		}
		return nil
	})
	if err != nil || blocks <= block {
		t.Fatalf("parse: %v after %d blocks", err, blocks)
	}
	return during - before
}

// TestMemoryDoesNotGrowWithRows measures the heap near the end of long documents. It can't run in parallel, because
// other tests' memory would count too.
func TestMemoryDoesNotGrowWithRows(t *testing.T) {
	const limit = 8 << 20
	sheet := bytes.Buffer{}
	z := zip.NewWriter(&sheet)
	for name, body := range map[string]string{
		"xl/workbook.xml": `<workbook xmlns:r="r"><sheets><sheet name="Data" r:id="x"/></sheets></workbook>`, "xl/worksheets/sheet1.xml": "",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if body == "" {
			body = "<worksheet><sheetData>" + strings.Repeat("<row><c><v>123456</v></c><c t=\"str\"><v>some words of a cell that is read</v></c></row>", 100_000)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const lines = 400_000
	tests := map[string]format.Source{
		"a.xlsx":  {Data: bytes.NewReader(sheet.Bytes()), Size: int64(sheet.Len())},
		"a.csv":   {Data: extracttest.RowSource("some words,of a line,that is read\n"), Size: 34 * lines},
		"a.jsonl": {Data: extracttest.RowSource("{\"name\":\"some words of a record\"}\n"), Size: 34 * lines},
		"a.json":  {Data: arraySource{extracttest.RowSource("{\"name\":\"some words of a recor\"},")}, Size: 1 + 33*lines},
		"a.txt":   {Data: extracttest.RowSource("some words of a line, read\n\n"), Size: 28 * lines},
	}
	for name, src := range tests {
		src.Name = name
		if grown := heapGrowth(t, src, 90_000); grown > limit {
			t.Errorf("%s: the heap is larger by %d KiB at block 90,000, want at most %d", name, grown>>10, limit>>10)
		}
	}
}

// arraySource is a JSON array that repeats elements endlessly.
type arraySource struct{ rows extracttest.RowSource }

func (s arraySource) ReadAt(p []byte, at int64) (int, error) {
	if at > 0 {
		return s.rows.ReadAt(p, at-1)
	}
	p[0] = '['
	n, err := s.rows.ReadAt(p[1:], 0)
	return n + 1, err
}
