package extract_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// TestHostileDocuments reads hostile files in child processes, with the service's limits. Each must fail with the given
// kind or yield the expected text, within a child's time and memory. No text may come from outside the file.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name string
		data func(t testing.TB) []byte
		want format.Kind
		text string // required text if want is empty
		not  string // forbidden text
	}{
		"a container whose entries overlap":                      {"overlap.docx", overlappingZip, format.TooLarge, "", ""},
		"a container in a container in a container":              {"nested.docx", nestedContainers, "", "outermost", "innermost"},
		"entities that unfold to a milliard of laughs in a docx": {"laughs.docx", entityBombIn("word/document.xml", "w"), "", "kept", "lollol"},
		"the same in a pptx":                                     {"laughs.pptx", entityBombIn("ppt/slides/slide1.xml", "a"), "", "kept", "lollol"},
		"the same in the shared strings of a workbook":           {"laughs.xlsx", entityBombWorkbook, "", "kept", "lollol"},
		"external entities in a document":                        {"external.docx", externalEntities, "", "kept", "root:"},
		"relations that lead out of the container":               {"relations.docx", climbingRelations, "", "kept", "root:"},
		"parts named like paths of the system":                   {"paths.docx", climbingParts, "", "kept", "root:"},
		"a docx with macros":                                     {"macros.docm", macros, "", "kept", "AutoOpen"},
		"a sheet of a million columns":                           {"columns.xlsx", columnsWithoutEnd, "", "near", ""},
		"a sheet that merges everything with everything":         {"merged.xlsx", mergesEverything, "", "near", ""},
		"a workbook with thirty thousand sheets of one part":     {"sheets.xlsx", sheetsOfOnePart, "", "near", ""},
		"a table whose cells span millions":                      {"spans.docx", spansWithoutEnd, "", "near", ""},
		"an HTML table whose cells span millions":                {"spans.html", rawBytes(`<html><body><p>Kept text of the page.</p><table>` + strings.Repeat(`<tr><td colspan=2000000000 rowspan=2000000000>near</td></tr>`, 500) + `</table></body></html>`), "", "near", ""},
		"a part that is packed as a bomb and says it is small":   {"liar.docx", falseSizeZip, format.Damaged, "", ""},
		"a PDF stream that unpacks to a thousand times its size": {"bomb.pdf", flateBomb, "", "Hello", ""},
		"a PDF stream that was packed ten times":                 {"filters.pdf", filterChain, "", "Hello", ""},
		"a PDF of object streams that hold each other":           {"objects.pdf", objectStreamLoop, "", "Hello", ""},
		"a PDF of a font whose character map has no end":         {"cmap.pdf", characterMap, "", "", ""},
		"a PDF of arrays nested a hundred thousand deep":         {"arrays.pdf", nestedArrays, "", "Hello", ""},
		"a PDF whose form is drawn by forms, each twice":         {"fan.pdf", formsThatFanOut, "", "Hello", ""},
		"a PDF whose outline is a ring":                          {"outline.pdf", ringOutline, "", "Hello", ""},
		"a PDF that is a page of HTML as well":                   {"polyglot.pdf", polyglotPDF, "", "Hello", "<script"},
		"a container with a page of HTML before it":              {"polyglot.html", polyglotZip, format.Unsupported, "", ""},
		"a picture that says it is text":                         {"image.txt", rawBytes("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00"), format.NoText, "", ""},
		"a program that says it is text":                         {"program.txt", program, format.Unsupported, "", ""},
		"a name that is a path":                                  {"../../../etc/passwd", rawBytes("These words are kept."), "", "kept", "root:"},
		"a name of line breaks and zeros":                        {"a\r\nX-Evil: 1\x00.txt", rawBytes("These words are kept."), "", "kept", ""},
		"lists nested by indentation, without end":               {"lists.md", indentedLists, "", "kept", ""},
		"brackets that open and never close":                     {"brackets.md", rawBytes("These words are kept. " + strings.Repeat("[", 300_000)), "", "kept", ""},
		"emphasis that opens and never closes":                   {"stars.md", rawBytes("These words are kept. " + strings.Repeat("*a _b ", 150_000)), "", "kept", ""},
		"links within links":                                     {"links.md", rawBytes("These words are kept. " + strings.Repeat("[a](", 100_000)), "", "kept", ""},
		"addresses in angles that never close":                   {"angles.md", rawBytes("These words are kept. " + strings.Repeat("[a](<b c ", 50_000)), "", "kept", ""},
		"references without end":                                 {"references.md", rawBytes("These words are kept.\n\n" + strings.Repeat("[a]: b\n", 100_000)), "", "kept", ""},
		"strokes without end":                                    {"tildes.md", rawBytes("These words are kept. " + strings.Repeat("~~", 100_000)), "", "kept", ""},
		"a table of a hundred thousand columns":                  {"wide.md", rawBytes(strings.Repeat("| a ", 100_000) + "|\n" + strings.Repeat("|---", 100_000) + "|\n" + strings.Repeat("| near ", 100_000) + "|\n"), "", "near", ""},
		"an element with a million attributes":                   {"attributes.html", rawBytes("<html><body><p " + strings.Repeat(`a="b" `, 1_000_000) + ">These words are kept in a page.</p></body></html>"), "", "kept", ""},
		"formatting that each paragraph opens again":             {"adoption.html", rawBytes("<html><body><p>These words are kept in a page." + strings.Repeat("<p><b><i><u><font>", 20_000) + "</body></html>"), "", "kept", ""},
		"numbers of a million digits":                            {"digits.json", rawBytes(`{"kept": "words", "n": ` + strings.Repeat("9", 1_000_000) + "}"), "", "kept", ""},
		"a million keys of the same name":                        {"keys.json", rawBytes(`{"kept": "words"` + strings.Repeat(`,"a":1`, 1_000_000) + "}"), "", "kept", ""},
		"a quote of csv that never closes":                       {"quote.csv", rawBytes("name,note\nkept,\"" + strings.Repeat("a,b\n", 1_000_000)), "", "kept", ""},
		"a line of ten million commas":                           {"commas.csv", rawBytes("kept" + strings.Repeat(",", 10_000_000) + "\nnear,b\n"), format.TooLarge, "", ""},
		"text of marks that stack on one letter":                 {"zalgo.txt", rawBytes("These words are kept a" + strings.Repeat("\u0301", 1_000_000)), "", "kept", ""},
		"UTF-16 of half characters":                              {"half.txt", rawBytes("\xff\xfek\x00e\x00p\x00t\x00" + strings.Repeat("\x00\xd8", 100_000)), "", "kept", ""},
	}
	x := extract.NewTestExtractor(t, extract.Options{Concurrency: 2, CacheDir: extracttest.Compiled})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(tt.data(t)), Name: tt.name})
			if got := format.KindOf(err); got != tt.want || tt.want == "" && err != nil {
				t.Fatalf("Extract: kind %q, error %.500v; want kind %q", got, err, tt.want)
			}
			if err != nil {
				return
			}
			readtest.Blocks(t, doc)
			var all strings.Builder
			for _, b := range doc.Blocks {
				all.WriteString(b.Text + "\n")
			}
			if !strings.Contains(all.String(), tt.text) {
				t.Errorf("%q is not in the text: %.300q", tt.text, all.String())
			}
			if tt.not != "" && strings.Contains(all.String(), tt.not) {
				t.Errorf("%q is in the text", tt.not)
			}
		})
	}
}

func rawBytes(s string) func(testing.TB) []byte { return func(testing.TB) []byte { return []byte(s) } }

// program returns random bytes that start like a Linux executable.
func program(testing.TB) []byte {
	data := []byte("\x7fELF\x02\x01\x01\x00")
	for x := uint32(1); len(data) < 8000; {
		x = x*1664525 + 1013904223
		data = append(data, byte(x>>24))
	}
	return data
}

const documentOf = `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:body></w:document>`

func documentWith(t testing.TB, others map[string]string) []byte {
	parts := map[string]string{"word/document.xml": fmt.Sprintf(documentOf, "These words are kept.")}
	for name, body := range others {
		parts[name] = body
	}
	return extracttest.Zip(t, parts, 1)
}

// overlappingZip returns a small container that unpacks to gigabytes: its directory lists one packed part thousands of
// times, like David Fifield's zip bombs (https://www.usenix.org/conference/woot19/presentation/fifield).
func overlappingZip(t testing.TB) []byte {
	t.Helper()
	body := bytes.Repeat([]byte("<w:p/>"), 1<<17)
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const entries, name = 3000, "word/document.xml"
	sum := crc32.ChecksumIEEE(body)
	var b bytes.Buffer
	le := func(values ...any) {
		for _, v := range values {
			if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	le(uint32(0x04034b50), uint16(20), uint16(0), uint16(8), uint32(0), sum, uint32(packed.Len()), uint32(len(body)), uint16(len(name)), uint16(0))
	b.WriteString(name)
	b.Write(packed.Bytes())
	at := b.Len()
	for i := range entries {
		n := name
		if i > 0 {
			n = fmt.Sprintf("word/part%07d.xml", i)
		}
		le(uint32(0x02014b50), uint16(20), uint16(20), uint16(0), uint16(8), uint32(0), sum, uint32(packed.Len()), uint32(len(body)),
			uint16(len(n)), uint16(0), uint16(0), uint16(0), uint16(0), uint32(0), uint32(0))
		b.WriteString(n)
	}
	size := b.Len() - at
	le(uint32(0x06054b50), uint16(0), uint16(0), uint16(entries), uint16(entries), uint32(size), uint32(at), uint16(0))
	return b.Bytes()
}

// falseSizeZip returns a container whose directory declares a thousand bytes for a part that unpacks to a gigabyte.
func falseSizeZip(t testing.TB) []byte {
	data := extracttest.Zip(t, map[string]string{"word/document.xml": strings.Repeat("<w:p/>", 1<<17)}, 800)
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[at+24:], 1000)
	return data
}

func nestedContainers(t testing.TB) []byte {
	data := extracttest.Zip(t, map[string]string{"word/document.xml": fmt.Sprintf(documentOf, "innermost")}, 1)
	for range 20 {
		data = extracttest.Zip(t, map[string]string{"word/document.xml": fmt.Sprintf(documentOf, "outermost"), "word/embeddings/a.docx": string(data)}, 1)
	}
	return data
}

const entityBomb = `<!DOCTYPE l [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">` +
	`<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;">` +
	`<!ENTITY g "&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;"><!ENTITY h "&g;&g;&g;&g;&g;&g;&g;&g;&g;&g;"><!ENTITY i "&h;&h;&h;&h;&h;&h;&h;&h;&h;&h;">]>`

func entityBombIn(part, prefix string) func(testing.TB) []byte {
	return func(t testing.TB) []byte {
		body := fmt.Sprintf(`<%[1]s:document xmlns:%[1]s="x"><%[1]s:p><%[1]s:r><%[1]s:t>kept &i;</%[1]s:t></%[1]s:r></%[1]s:p></%[1]s:document>`, prefix)
		if prefix == "a" {
			body = `<p:sld xmlns:p="p" xmlns:a="a"><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>kept &i;</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`
		}
		return extracttest.Zip(t, map[string]string{part: entityBomb + body}, 1)
	}
}

func workbookOf(t testing.TB, sheet string, others map[string]string) []byte {
	const relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	parts := map[string]string{
		"[Content_Types].xml":        `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"_rels/.rels":                `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" Type="` + relation + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="` + relation + `"><sheets><sheet name="S" sheetId="1" r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" Type="` + relation + `/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="b" Type="` + relation + `/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` + sheet + `</worksheet>`,
	}
	for name, body := range others {
		parts[name] = body
	}
	return extracttest.Zip(t, parts, 1)
}

func entityBombWorkbook(t testing.TB) []byte {
	return workbookOf(t, `<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row></sheetData>`, map[string]string{
		"xl/sharedStrings.xml": entityBomb + `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>kept &i;</t></si></sst>`,
	})
}

func columnsWithoutEnd(t testing.TB) []byte {
	var row strings.Builder
	row.WriteString(`<cols><col min="1" max="2147483647" width="9"/></cols><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>near</t></is></c>`)
	for i := range 1_000_000 {
		fmt.Fprintf(&row, `<c r="%s1"><v>1</v></c>`, columnName(i+2))
	}
	row.WriteString(`</row></sheetData>`)
	return workbookOf(t, row.String(), nil)
}

// columnName returns the name of the n-th column: "A" for 1, "Z" for 26, "AA" for 27.
func columnName(n int) string {
	var name []byte
	for ; n > 0; n = (n - 1) / 26 {
		name = append([]byte{byte('A' + (n-1)%26)}, name...)
	}
	return string(name)
}

func mergesEverything(t testing.TB) []byte {
	return workbookOf(t, `<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>near</t></is></c></row></sheetData><mergeCells>`+
		strings.Repeat(`<mergeCell ref="A1:XFD1048576"/>`, 50_000)+`</mergeCells>`, nil)
}

func sheetsOfOnePart(t testing.TB) []byte {
	var sheets strings.Builder
	sheets.WriteString(`<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>`)
	for i := range 30_000 {
		fmt.Fprintf(&sheets, `<sheet name="S%d" sheetId="%d" r:id="a"/>`, i, i+1)
	}
	sheets.WriteString(`</sheets></workbook>`)
	return workbookOf(t, `<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>near</t></is></c></row></sheetData>`, map[string]string{"xl/workbook.xml": sheets.String()})
}

func spansWithoutEnd(t testing.TB) []byte {
	row := `<w:tr><w:tc><w:tcPr><w:gridSpan w:val="2000000000"/></w:tcPr><w:p><w:r><w:t>near</w:t></w:r></w:p></w:tc></w:tr>`
	return extracttest.Zip(t, map[string]string{"word/document.xml": `<w:document xmlns:w="w"><w:body><w:tbl>` + strings.Repeat(row, 500) + `</w:tbl></w:body></w:document>`}, 1)
}

func externalEntities(t testing.TB) []byte {
	return extracttest.Zip(t, map[string]string{"word/document.xml": `<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY % p SYSTEM "http://127.0.0.1:1/x.dtd">%p;]>` +
		fmt.Sprintf(documentOf, "kept &x;")}, 1)
}

func climbingRelations(t testing.TB) []byte {
	const relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	return documentWith(t, map[string]string{
		"word/_rels/document.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
			`<Relationship Id="a" Type="` + relation + `/footnotes" Target="../../../../etc/passwd"/>` +
			`<Relationship Id="b" Type="` + relation + `/styles" Target="file:///etc/passwd" TargetMode="External"/>` +
			`<Relationship Id="c" Type="` + relation + `/attachedTemplate" Target="http://127.0.0.1:1/t.dotm" TargetMode="External"/></Relationships>`,
	})
}

func climbingParts(t testing.TB) []byte {
	return documentWith(t, map[string]string{"../../../../tmp/sluice-zoo": "root:", "/etc/passwd": "root:", `..\..\windows\win.ini`: "root:", "word/\x00": "root:"})
}

func macros(t testing.TB) []byte {
	return documentWith(t, map[string]string{"word/vbaProject.bin": "Sub AutoOpen()\nShell \"id\"\nEnd Sub", "word/vbaData.xml": "<x>AutoOpen</x>", "word/activeX/activeX1.bin": "AutoOpen"})
}

// The first three objects of a one-page PDF, and a content stream. The page is object 3, its content is object 4, and
// its form XObject is object 5.
const (
	zooCatalog = "<< /Type /Catalog /Pages 2 0 R >>"
	zooPages   = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
	zooPage    = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X 5 0 R >> >> >>"
	zooHello   = "BT /F1 12 Tf 72 700 Td (Hello from a page that is worth reading) Tj ET "
)

func pack(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// flateBomb returns a page with a form XObject that contains half a gigabyte of spaces, compressed to half a megabyte.
func flateBomb(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	for range 512 {
		if _, err := w.Write(blanks); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return extracttest.PDF(zooCatalog, zooPages, zooPage, extracttest.Stream("", zooHello+"/X Do"), extracttest.Stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Filter /FlateDecode", b.String()))
}

func filterChain(t testing.TB) []byte {
	data := bytes.Repeat([]byte(" "), 100<<20)
	for range 10 {
		data = pack(t, data)
	}
	return extracttest.PDF(zooCatalog, zooPages, zooPage, extracttest.Stream("", zooHello+"/X Do"),
		extracttest.Stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Filter ["+strings.Repeat("/FlateDecode ", 10)+"]", string(data)))
}

func objectStreamLoop(testing.TB) []byte {
	return extracttest.PDF(zooCatalog, zooPages, zooPage, extracttest.Stream("", zooHello),
		extracttest.Stream("/Type /ObjStm /N 1 /First 4 /Extends 6 0 R", "6 0 << >>"), extracttest.Stream("/Type /ObjStm /N 1 /First 4 /Extends 5 0 R", "5 0 << >>"))
}

func characterMap(testing.TB) []byte {
	page := strings.Replace(zooPage, "/BaseFont /Helvetica", "/BaseFont /Helvetica /ToUnicode 6 0 R", 1)
	ranges := "/CIDInit /ProcSet findresource begin begincmap\n" + strings.Repeat("1 beginbfrange <0000> <FFFFFFFF> <0041> endbfrange\n1 begincodespacerange <00> <FFFFFFFF> endcodespacerange\n", 2_000) + "endcmap"
	return extracttest.PDF(zooCatalog, zooPages, page, extracttest.Stream("", zooHello), "null", extracttest.Stream("", ranges))
}

func nestedArrays(testing.TB) []byte {
	return extracttest.PDF(zooCatalog, zooPages, zooPage, extracttest.Stream("", zooHello+strings.Repeat("[", 100_000)+" TJ "), strings.Repeat("[", 100_000))
}

// formsThatFanOut returns a page that would paint 2^40 forms: each of 40 forms paints the next one twice.
func formsThatFanOut(testing.TB) []byte {
	objects := []string{zooCatalog, zooPages, zooPage, extracttest.Stream("", zooHello+"/X Do")}
	for n := range 40 {
		objects = append(objects, extracttest.Stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>", n+6), "/X Do /X Do"))
	}
	return extracttest.PDF(append(objects, extracttest.Stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", "q Q"))...)
}

func ringOutline(testing.TB) []byte {
	return extracttest.PDF("<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>", zooPages, zooPage, extracttest.Stream("", zooHello), "null",
		"<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 2000000000 >>",
		"<< /Title (Ring) /Parent 6 0 R /Next 7 0 R /Prev 7 0 R /First 7 0 R /Dest [3 0 R /Fit] >>")
}

func polyglotPDF(testing.TB) []byte {
	page := extracttest.PDF(zooCatalog, zooPages, zooPage, extracttest.Stream("", zooHello), "null")
	return bytes.Replace(page, []byte("%PDF-1.4\n"), []byte("%PDF-1.4\n%<html><script>alert(1)</script></html>\n"), 1)
}

func polyglotZip(t testing.TB) []byte {
	page := []byte("<html><body><p>A page before a container, which nobody opens.</p><!--")
	var b bytes.Buffer
	b.Write(page)
	z := zip.NewWriter(&b)
	z.SetOffset(int64(len(page)))
	w, err := z.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(w, documentOf, "hidden"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func indentedLists(testing.TB) []byte {
	var b strings.Builder
	b.WriteString("These words are kept.\n\n")
	for n := range 4000 {
		b.WriteString(strings.Repeat(" ", 2*n) + "- a\n")
	}
	return []byte(b.String())
}
