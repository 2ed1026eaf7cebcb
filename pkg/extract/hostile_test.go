package extract_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func wideSheet(t testing.TB) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for row := 1; row <= 3; row++ {
		if err := f.SetCellValue("Sheet1", fmt.Sprintf("XFD%d", row), "far"); err != nil {
			t.Fatal(err)
		}
		if err := f.SetCellValue("Sheet1", fmt.Sprintf("A%d", row), "near"); err != nil {
			t.Fatal(err)
		}
	}
	var buf bytes.Buffer
	if err := f.Write(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// farRow returns a workbook with two rows, the second of which has a very large row number.
func farRow(t testing.TB) []byte {
	t.Helper()
	return extracttest.Zip(t, map[string]string{
		"[Content_Types].xml":        `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"_rels/.rels":                `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>near</t></is></c></row><row r="2147483647"><c r="A2147483647" t="inlineStr"><is><t>far</t></is></c></row></sheetData></worksheet>`,
	}, 1)
}

// TestHostile reads hostile files. If a test names an error kind, reading must quickly fail with that kind. Otherwise
// it must quickly yield text.
func TestHostile(t *testing.T) {
	t.Parallel()
	page := "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X 5 0 R >> >> >>"
	const catalog = "<< /Type /Catalog /Pages 2 0 R >>"
	const hello = "BT /F1 12 Tf 72 700 Td (Hello from a page that is worth reading) Tj ET "
	tests := map[string]struct {
		name string
		data []byte
		want format.Kind
	}{
		"a docx that unpacks to a gigabyte is too large": {"b.docx",
			extracttest.Zip(t, map[string]string{"word/document.xml": strings.Repeat("<w:p/>", 1<<17)}, 800), format.TooLarge},
		"an xlsx that unpacks to a gigabyte is too large": {"b.xlsx",
			extracttest.Zip(t, map[string]string{"xl/workbook.xml": strings.Repeat("<row/>", 1<<17)}, 800), format.TooLarge},
		"a docx nested a hundred thousand levels deep is too large": {"d.docx",
			extracttest.Zip(t, map[string]string{"word/document.xml": strings.Repeat("<w:p>", 100_000)}, 1), format.TooLarge},
		"entities of a docx are not expanded": {"e.docx", extracttest.Zip(t, map[string]string{"word/document.xml": `<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]>` +
			`<w:document xmlns:w="w"><w:p><w:r><w:t>kept &a; &b;</w:t></w:r></w:p></w:document>`}, 1), ""},
		"a sheet with a cell in the last column is cut":                {"w.xlsx", wideSheet(t), ""},
		"a sheet whose last row claims a number in the milliards ends": {"r.xlsx", farRow(t), ""},
		"a zip file that is no document is unsupported":                {"z.docx", extracttest.Zip(t, map[string]string{"a.txt": "a"}, 1), format.Unsupported},
		"JSON nested a million levels deep is read as text": {"j.json",
			[]byte(strings.Repeat(`[`, 1_000_000) + "deep"), ""},
		"HTML nested half a million levels deep keeps its text": {"n.html",
			[]byte("<html>" + strings.Repeat("<div>", 500_000) + "deep"), ""},
		"Markdown quotes nested ten thousand levels deep end": {"q.md",
			[]byte(strings.Repeat("> ", 10_000) + "deep"), format.TooLarge},
		"a PDF whose pages contain themselves has no text": {"p.pdf",
			extracttest.PDF(catalog, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2000000000 >>"), format.Damaged},
		"a PDF with a page tree that loops past a page keeps the page": {"p.pdf",
			extracttest.PDF(catalog, "<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 2 >>", page, extracttest.Stream("", hello), "null"), ""},
		"a PDF form that draws itself ends": {"f.pdf",
			extracttest.PDF(catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, extracttest.Stream("", hello+"/X Do"),
				extracttest.Stream("/Type /XObject /Subtype /Form /Resources << /XObject << /X 5 0 R >> >>", "/X Do /X Do")), ""},
		"a PDF content stream with an open string ends": {"s.pdf",
			extracttest.PDF(catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, extracttest.Stream("", hello+"<414243"), "null"), ""},
		"a PDF whose cross references are a loop is rebuilt": {"l.pdf", bytes.Replace(
			extracttest.PDF(catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, extracttest.Stream("", hello), "null"),
			[]byte("trailer\n<<"), []byte("trailer\n<< /Prev 9"), 1), ""},
		"an encrypted office file asks for the password to be removed": {"x.docx",
			append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 600)...), format.Encrypted},
		"an office file of the format before 2007 is unsupported": {"x.doc",
			append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 600)...), format.Unsupported},
		"a picture has no text":        {"x.txt", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), format.NoText},
		"an animation is unsupported":  {"x.txt", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), format.Unsupported},
		"an empty file has no text":    {"x.txt", nil, format.NoText},
		"a file of spaces has no text": {"x.txt", []byte("  \n \n"), format.NoText},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, tt.name, tt.data)
			if got := format.KindOf(err); got != tt.want || tt.want == "" && err != nil {
				t.Fatalf("Parse: kind %q, error %.300v; want kind %q", got, err, tt.want)
			}
			if err == nil && len(doc.Blocks) == 0 {
				t.Error("there is no text")
			}
		})
	}
}

// TestMessagesAreOneClearLine reads damaged files and checks the messages that users see.
func TestMessagesAreOneClearLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name, data, want string
	}{
		"a PDF of no pages": {"a.pdf", string(extracttest.PDF("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] >>")), "the PDF is damaged: it has no pages"},
		"a PDF that no reader opens": {"a.pdf", "%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nstream\nendstream\nendobj\ntrailer\n<< /Root 1 0 R /Encrypt 1 0 R >>\n%%EOF",
			"the PDF is damaged: its structure cannot be read"},
		"a docx cut short": {"a.docx", "PK\x03\x04 and no more", "the file is damaged or not an epub, odt, ods, odp, docx, pptx or xlsx file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readtest.Parse(t, tt.name, []byte(tt.data))
			var refused *format.Error
			if !errors.As(err, &refused) {
				t.Fatalf("error = %v, want an *Error", err)
			}
			if !strings.HasPrefix(refused.Message, tt.want) || strings.Contains(refused.Message, "\n") {
				t.Errorf("message = %q, want one line that begins %q", refused.Message, tt.want)
			}
		})
	}
}

func TestMisnamedFilesAreReadWithAWarning(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name, data, want string
	}{
		"text named docx":      {"notes.docx", "The gate opens at nine.", "the name suggests a docx document, but the content was read as plain text"},
		"a page named PDF":     {"paper.pdf", "<html><body><p>Please log in first.</p></body></html>", "the name suggests a PDF, but the content was read as an HTML page"},
		"text named text":      {"notes.txt", "The gate opens at nine.", ""},
		"text without a name":  {"", "The gate opens at nine.", ""},
		"a docx named pptx":    {"a.pptx", string(extracttest.Zip(t, map[string]string{"word/document.xml": `<w:document xmlns:w="w"><w:p><w:r><w:t>kept</w:t></w:r></w:p></w:document>`}, 1)), ""},
		"text named otherwise": {"a.conf", "gate = open", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, tt.name, []byte(tt.data))
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			got := strings.Join(doc.Warnings, "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("warnings = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestScannedPDFSaysThatItNeedsOCR(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiling PDFium takes seconds")
	}
	data := extracttest.PDF("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>",
		extracttest.Stream("", "9 0 0 9 0 0 cm /I Do"),
		extracttest.Stream("/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", "x"))
	_, err := readtest.Parse(t, "scan.pdf", data)
	if format.KindOf(err) != format.NoText || !strings.Contains(err.Error(), "OCR") {
		t.Errorf("error = %v, want NoText that names OCR", err)
	}
}

func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	data := []byte(strings.Repeat("word ", 1000))
	_, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.txt"}, format.Limits{MaxText: 1000})
	if format.KindOf(err) != format.TooLarge {
		t.Errorf("error = %v, want TooLarge", err)
	}
}
