package extracttest

import (
	"fmt"
	"strings"
	"testing"
)

// Sheet returns a workbook with one sheet. `rows` is the XML of the sheet's rows, and `tail` is the XML after the rows.
// `parts` adds or replaces files, by name.
func Sheet(t testing.TB, rows, tail string, parts map[string]string) []byte {
	t.Helper()
	all := map[string]string{
		"_rels/.rels":                `<Relationships><Relationship Id="r" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns:r="r"><sheets><sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   `<worksheet xmlns:r="r"><sheetData>` + rows + `</sheetData>` + tail + `</worksheet>`,
		"xl/sharedStrings.xml":       `<sst><si><t>plain</t></si><si><r><t>rich </t></r><r><rPr><b/></rPr><t>text</t></r><rPh sb="0" eb="1"><t>リッチ</t></rPh></si></sst>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="d-mmm-yyyy"/><numFmt numFmtId="165" formatCode="&quot;€&quot;#,##0.00"/></numFmts>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="10"/><xf numFmtId="165"/><xf numFmtId="20"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
	}
	for name, body := range parts {
		if body == "" {
			delete(all, name)
			continue
		}
		all[name] = body
	}
	return Zip(t, all, 1)
}

// Cells returns a row of cells with the given texts.
func Cells(row int, texts ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<row r="%d">`, row)
	for i, s := range texts {
		if s != "" {
			fmt.Fprintf(&b, `<c r="%c%d" t="str"><v>%s</v></c>`, 'A'+i, row, s)
		}
	}
	return b.String() + "</row>"
}
