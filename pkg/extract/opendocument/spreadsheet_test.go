package opendocument_test

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

const (
	typeODS = "application/vnd.oasis.opendocument.spreadsheet"
	// sheets is the body of a spreadsheet as LibreOffice Calc writes it: empty cells are repeated up to the last
	// column, and rows up to the last row.
	sheets = `<table:calculation-settings table:null-year="1930"/><table:table table:name="Rent 2024"><office:forms/><table:shapes><draw:frame><draw:object table:notify-on-update-of-ranges="A1:B3" draw:notify-on-update-of-ranges="A1:B3" xlink:href="./Object 1"/></draw:frame></table:shapes>` +
		`<table:table-column table:number-columns-repeated="16384"/>` +
		`<table:table-row><table:table-cell office:value-type="string" table:number-columns-spanned="3"><text:p>Rents of the house</text:p></table:table-cell><table:covered-table-cell table:number-columns-repeated="2"/><table:table-cell table:number-columns-repeated="16381"/></table:table-row>` +
		`<table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>` +
		`<table:table-row><table:table-cell office:value-type="string"><text:p>Room</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Tenant</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Rent</text:p></table:table-cell><table:table-cell><text:p>Since</text:p></table:table-cell></table:table-row>` +
		`<table:table-row><table:table-cell table:number-rows-spanned="2" office:value-type="string"><text:p>Attic</text:p></table:table-cell><table:table-cell office:value-type="string"><office:annotation office:display="true"><dc:creator>Bo</dc:creator><dc:date>2024-01-01</dc:date><text:p>Moves out in May.</text:p></office:annotation><text:p><text:a xlink:href="https://cy.example/">Cy</text:a></text:p></table:table-cell>` +
		`<table:table-cell office:value-type="currency" office:value="90" table:formula="of:=45*2"><text:p>€90.00</text:p></table:table-cell><table:table-cell office:value-type="date" office:date-value="2020-02-01T00:00:00"/></table:table-row>` +
		`<table:table-row><table:covered-table-cell/><table:table-cell office:value-type="string"><text:p>Di</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="95"/><table:table-cell office:value-type="boolean" office:boolean-value="true"/></table:table-row>` +
		`<table:table-row-group><table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>Cellar</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"><text:p>7</text:p></table:table-cell></table:table-row></table:table-row-group>` +
		`<table:table-row table:number-rows-repeated="1048568"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>` +
		`<table:table table:name="Notes"><table:table-row><table:table-cell><draw:frame><draw:text-box><text:p>Text in a box.</text:p></draw:text-box></draw:frame><text:p>Paid</text:p><text:p>in cash</text:p></table:table-cell></table:table-row></table:table>` +
		`<table:table table:name="Empty"><table:table-row><table:table-cell/></table:table-row></table:table><table:named-expressions><table:named-range table:name="hidden"/></table:named-expressions>`
)

func spreadsheetOf(t testing.TB, body string) []byte {
	t.Helper()
	return extracttest.Office(t, extracttest.Part{"mimetype", typeODS},
		extracttest.Part{"content.xml", `<office:document-content ` + spaces + `><office:body><office:spreadsheet>` + body + `</office:spreadsheet></office:body></office:document-content>`},
		extracttest.Part{"meta.xml", `<office:document-meta ` + spaces + `>` + metaPart + `</office:document-meta>`})
}

func TestSheetsAreReadAsRows(t *testing.T) {
	t.Parallel()
	want := `heading 1: Rent 2024
table_row row 1: Rents of the house
table_row row 4: Room	Tenant	Rent	Since
table_row row 5: Room: Attic; Tenant: Cy (https://cy.example/); Rent: €90.00; Since: 2020-02-01 <Cy=https://cy.example/>
table_row row 6: Room: Attic; Tenant: Di; Rent: 95; Since: TRUE
table_row row 7: Room: Cellar; Tenant: 7; Rent: 7
table_row row 8: Room: Cellar; Tenant: 7; Rent: 7
paragraph row 5: B5 (Cy): Moves out in May.
heading 1: Notes
table_row row 1: Paid in cash
paragraph: Text in a box.`
	flat := `<?xml version="1.0"?><office:document ` + spaces + ` office:mimetype="` + typeODS + `">` + metaPart + `<office:body><office:spreadsheet>` + sheets + `</office:spreadsheet></office:body></office:document>`
	for name, data := range map[string][]byte{"rent.ods": spreadsheetOf(t, sheets), "rent.fods": []byte(flat)} {
		doc := readtest.MustParse(t, name, data)
		if diff := cmp.Diff(want, readtest.Lines(doc)); diff != "" {
			t.Errorf("%s: blocks (-want +got):\n%s", name, diff)
		}
		if doc.Title != "House rules" || doc.MIMEType != typeODS || len(doc.Warnings) != 0 || doc.Blocks[1].Sheet != "Rent 2024" {
			t.Errorf("%s: title %q, type %q, warnings %q, sheet %q", name, doc.Title, doc.MIMEType, doc.Warnings, doc.Blocks[1].Sheet)
		}
	}
}

func TestSpreadsheetsAreBounded(t *testing.T) {
	t.Parallel()
	cellOf := func(attrs string) string {
		return `<table:table-cell ` + attrs + `><text:p>x</text:p></table:table-cell>`
	}
	for name, tt := range map[string]struct {
		body string
		kind extract.Kind
	}{
		"rows without end":       {`<table:table table:name="a">` + strings.Repeat(`<table:table-row table:number-rows-repeated="999999999">`+cellOf(`table:number-columns-repeated="999999999"`)+`</table:table-row>`, 60) + `</table:table>`, extract.TooLarge},
		"merged without end":     {`<table:table table:name="a">` + strings.Repeat(`<table:table-row>`+strings.Repeat(cellOf(`table:number-rows-spanned="999999999" table:number-columns-spanned="99999"`), 300)+`</table:table-row>`, 100) + `</table:table>`, ""},
		"tables in tables":       {strings.Repeat(`<table:table table:name="a"><table:table-row><table:table-cell>`, 10_000), extract.TooLarge},
		"a cell of a megabyte":   {`<table:table table:name="a"><table:table-row>` + `<table:table-cell table:number-columns-repeated="900"><text:p>` + strings.Repeat("word ", 200_000) + `</text:p></table:table-cell>` + cellOf("") + `</table:table-row></table:table>`, ""},
		"thousands of sheets":    {strings.Repeat(`<table:table table:name="a"><table:table-row>`+cellOf("")+`</table:table-row></table:table>`, 20_000), ""},
		"a sheet without a name": {`<table:table><table:table-row>` + cellOf("") + `</table:table-row></table:table>`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := spreadsheetOf(t, tt.body)
			if _, err := readtest.Parse(t, "a.ods", data); extract.KindOf(err) != tt.kind {
				t.Errorf("error = %v, want kind %q", err, tt.kind)
			}
		})
	}
}

func TestCommentsOfSheetsAreLeftOutOfPlainText(t *testing.T) {
	t.Parallel()
	data := spreadsheetOf(t, sheets)
	doc, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), PlainRows: true}, extract.Limits{})
	if err != nil || strings.Contains(readtest.Text(doc), "Moves out") || len(doc.Warnings) != 1 {
		t.Errorf("error %v, text %q, warnings %q, want a warning in place of the comment", err, readtest.Text(doc), doc.Warnings)
	}
}

func TestDamagedSpreadsheets(t *testing.T) {
	t.Parallel()
	readtest.Damaged(t, "a.ods", spreadsheetOf(t, sheets))
	readtest.Damaged(t, "a.odp", presentationOf(t, slides))
	readtest.Damaged(t, "a.odt", sample(t))
}

func FuzzODS(f *testing.F) {
	f.Add([]byte(sheets))
	f.Fuzz(func(t *testing.T, body []byte) { readtest.Check(t, "fuzz.ods", spreadsheetOf(t, string(body))) })
}
