package ooxml_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestOfficeContainers(t *testing.T) {
	t.Parallel()
	body := extracttest.Part{"word/document.xml", fmt.Sprintf(extracttest.BodyOf, "kept")}
	whole := extracttest.Office(t, body, extracttest.Part{"docProps/app.xml", strings.Repeat("<a/>", 500)})
	lying := bytes.Clone(whole)
	at := bytes.Index(lying, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(lying[at+24:], 10) // the body's unpacked size in the directory
	locked := bytes.Clone(whole)
	locked[at+8] |= 1
	tests := map[string]struct {
		name    string
		data    []byte
		want    string // the first block
		kind    format.Kind
		warning string
	}{
		"a part with another name is found by the package's relationships": {"a.docx",
			extracttest.Office(t, extracttest.Rels("", "r1 officeDocument odd/Body2.xml"), extracttest.Part{"[Content_Types].xml",
				`<Types><Override PartName="/odd/body2.xml" ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/></Types>`},
				extracttest.Part{"odd/body2.xml", fmt.Sprintf(extracttest.BodyOf, "kept")}), "kept", "", ""},
		"a part with another name is found by its declared type": {"a.docx",
			extracttest.Office(t, extracttest.Part{"[Content_Types].xml", `<Types><Override PartName="/word/body.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml"/></Types>`},
				extracttest.Part{"word/body.xml", fmt.Sprintf(extracttest.BodyOf, "kept")}), "kept", "", ""},
		"the strict edition of the standard is read": {"a.docx", extracttest.Office(t, extracttest.Part{"_rels/.rels", `<Relationships><Relationship Id="r1" ` +
			`Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" Target="word/main.xml"/></Relationships>`},
			extracttest.Part{"word/main.xml", `<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"><w:body><w:p><w:r><w:t>kept</w:t></w:r></w:p></w:body></w:document>`}), "kept", "", ""},
		"hidden text is read with a warning": {"a.docx", extracttest.Office(t, extracttest.Part{"word/document.xml", strings.Replace(fmt.Sprintf(extracttest.BodyOf, "kept"), "<w:r>", "<w:r><w:rPr><w:vanish/></w:rPr>", 1)}),
			"kept", "", "hidden text"},
		"names with other slashes, cases and ways up are names within": {"a.docx",
			extracttest.Office(t, extracttest.Part{`..\Word\Document.XML`, fmt.Sprintf(extracttest.BodyOf, "kept")}), "kept", "", ""},
		"of two parts with one name the first counts": {"a.docx",
			extracttest.Office(t, body, extracttest.Part{"word/document.xml", fmt.Sprintf(extracttest.BodyOf, "smuggled")}), "kept", "", "more than once"},
		"a part in UTF-16 is read": {"a.docx",
			extracttest.Office(t, extracttest.Part{"word/document.xml", utf16Of(`<?xml version="1.0" encoding="UTF-16"?>` + fmt.Sprintf(extracttest.BodyOf, "kept"))}), "kept", "", ""},
		"a container cut short is read by what stands before each part": {"a.docx",
			whole[:at-20], "kept", "", "damaged"},
		"a part cut short is read up to there": {"a.docx",
			extracttest.Office(t, extracttest.Part{"word/document.xml", strings.TrimSuffix(fmt.Sprintf(extracttest.BodyOf, "kept"), "</w:p></w:body></w:document>")}), "kept", "", "damaged"},
		"a directory that lies about sizes is damage": {"a.docx", lying, "", format.Damaged, ""},
		"a packed part with a password says so":       {"a.docx", locked, "", format.Encrypted, ""},
		"a container without any part is damaged":     {"a.docx", []byte("PK\x03\x04" + strings.Repeat("\x00", 200)), "", format.Damaged, ""},
		"a container cut before its text is damaged":  {"a.docx", extracttest.Office(t, extracttest.Part{"[Content_Types].xml", "<Types/>"}, body)[:150], "", format.Damaged, ""},
		"a container of other things is unsupported":  {"a.docx", extracttest.Office(t, extracttest.Part{"a.txt", "a"}), "", format.Unsupported, ""},
		"a container of files is an archive":          {"a.zip", extracttest.Office(t, extracttest.Part{"a.txt", "a"}), "", format.Archive, ""},
		"documents in a folder named word are files":  {"a.zip", extracttest.Office(t, extracttest.Part{"word/a.docx", "a"}, extracttest.Part{"xl/b.csv", "b"}), "", format.Archive, ""},
		"an unknown kind of package is no archive":    {"a.zip", extracttest.Office(t, extracttest.Part{"[Content_Types].xml", "<Types/>"}, extracttest.Part{"visio/document.xml", "<a/>"}), "", format.Unsupported, ""},
		"a container with a misleading name is read":  {"a.zip", extracttest.Office(t, body), "kept", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, tt.name, tt.data)
			if tt.kind != "" {
				if format.KindOf(err) != tt.kind {
					t.Fatalf("error = %v, want kind %q", err, tt.kind)
				}
				return
			}
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if len(doc.Blocks) == 0 || doc.Blocks[0].Text != tt.want {
				t.Errorf("blocks = %q, want %q", readtest.Office(doc), tt.want)
			}
			if all := strings.Join(doc.Warnings, "\n"); tt.warning == "" && all != "" || !strings.Contains(all, tt.warning) {
				t.Errorf("warnings = %q, want %q", all, tt.warning)
			}
		})
	}
}

// utf16Of encodes ASCII text as UTF-16 with a byte order mark.
func utf16Of(s string) string {
	b := []byte{0xff, 0xfe}
	for i := range len(s) {
		b = append(b, s[i], 0)
	}
	return string(b)
}

func TestContainersAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data []byte
		lim  format.Limits
	}{
		"all parts together": {extracttest.Office(t, extracttest.Part{"word/document.xml", strings.Repeat("<w:p/>", 1000)}, extracttest.Part{"word/a.xml", strings.Repeat("<a/>", 1000)}),
			format.Limits{MaxUnpacked: 8000}},
		"parts that a cut container unpacks to": {func() []byte {
			d := extracttest.Office(t, extracttest.Part{"word/document.xml", strings.Repeat("<w:p/>", 1000)}, extracttest.Part{"word/a.xml", strings.Repeat("<a/>", 1000)})
			return d[:bytes.Index(d, []byte("PK\x01\x02"))]
		}(), format.Limits{MaxUnpacked: 8000}},
		"notes that nothing refers to": {extracttest.Office(t, extracttest.Part{"word/document.xml", fmt.Sprintf(extracttest.BodyOf, "a")},
			extracttest.Part{"word/footnotes.xml", `<w:footnotes xmlns:w="w"><w:footnote w:id="1"><w:p><w:r><w:t>` + strings.Repeat("word ", 1000) + `</w:t></w:r></w:p></w:footnote></w:footnotes>`}),
			format.Limits{MaxText: 1000}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(tt.data), Size: int64(len(tt.data)), Name: "a.docx"}, tt.lim)
			if format.KindOf(err) != format.TooLarge {
				t.Errorf("error = %v, want TooLarge", err)
			}
		})
	}
}

func TestCorePropertiesBecomeTheDocuments(t *testing.T) {
	t.Parallel()
	core := extracttest.Part{"docProps/core.xml", `<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>Annual report</dc:title><dc:creator>Ines Duarte</dc:creator>` +
		`<dcterms:created>2024-03-01T08:00:00Z</dcterms:created><dcterms:modified>yesterday</dcterms:modified><cp:keywords>pumps; seals</cp:keywords>` +
		`<dc:description>What happened.</dc:description><dc:language>pt-PT</dc:language></cp:coreProperties>`}
	doc := readtest.MustParse(t, "a.docx", extracttest.Office(t, core, extracttest.Part{"word/document.xml", fmt.Sprintf(extracttest.BodyOf, "kept")}))
	want := map[string]string{domain.MetaAuthor: "Ines Duarte", domain.MetaCreated: "2024-03-01T08:00:00Z", domain.MetaKeywords: "pumps; seals",
		domain.MetaDescription: "What happened."}
	if diff := cmp.Diff(want, doc.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if doc.Title != "Annual report" || doc.Language != "pt-PT" {
		t.Errorf("title = %q, language = %q", doc.Title, doc.Language)
	}
}

func TestFormulasAreWrittenInALine(t *testing.T) {
	t.Parallel()
	r := func(s string) string { return `<m:r><m:t>` + s + `</m:t></m:r>` }
	part := func(name, inner string) string { return `<m:` + name + `>` + inner + `</m:` + name + `>` }
	tests := map[string]struct{ formula, want string }{
		"a fraction": {part("f", part("num", r("a+b"))+part("den", r("2"))), "(a+b)/2"},
		"a power":    {part("sSup", part("e", r("x"))+part("sup", r("n+1"))), "x^(n+1)"},
		"a root":     {part("rad", `<m:radPr><m:degHide m:val="1"/></m:radPr>`+part("deg", "")+part("e", r("x"))), "√x"},
		"a sum":      {part("nary", `<m:naryPr><m:chr m:val="∑"/></m:naryPr>`+part("sub", r("k=0"))+part("sup", r("n"))+part("e", r("k"))), "∑_(k=0)^n k"},
		"a function": {part("func", part("fName", r("sin"))+part("e", r("θ"))), "sin θ"},
		"a matrix":   {part("d", `<m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>`+part("e", part("m", part("mr", part("e", r("1"))+part("e", r("0")))+part("mr", part("e", r("0"))+part("e", r("1")))))), "[1, 0; 0, 1]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `<w:document xmlns:w="w" xmlns:m="m"><w:body><w:p><w:r><w:t xml:space="preserve">y = </w:t></w:r><m:oMath>` + tt.formula + `</m:oMath></w:p></w:body></w:document>`
			doc := readtest.MustParse(t, "a.docx", extracttest.Office(t, extracttest.Part{"word/document.xml", body}))
			if got := doc.Blocks[0].Text; got != "y = "+tt.want {
				t.Errorf("text = %q, want %q", got, "y = "+tt.want)
			}
		})
	}
}
