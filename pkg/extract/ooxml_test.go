package extract

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

// officePart is a part of an office container made by a test.
type officePart struct{ name, body string }

// officeOf is a container with the parts in the given order.
func officeOf(t testing.TB, parts ...officePart) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, p := range parts {
		w, err := z.Create(p.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(p.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

const relationType = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"

// relsOf is a part of relationships; each line is "id kind target", external ones have an address as their target.
func relsOf(part string, lines ...string) officePart {
	var b strings.Builder
	b.WriteString(`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for _, l := range lines {
		f := strings.Fields(l)
		mode := ""
		if strings.Contains(f[2], "://") {
			mode = ` TargetMode="External"`
		}
		fmt.Fprintf(&b, `<Relationship Id="%s" Type="%s%s" Target="%s"%s/>`, f[0], relationType, f[1], f[2], mode)
	}
	dir, file, _ := strings.Cut(part, "/")
	if i := strings.LastIndex(part, "/"); i >= 0 {
		dir, file = part[:i+1], part[i+1:]
	}
	return officePart{dir + "_rels/" + file + ".rels", b.String() + `</Relationships>`}
}

// officeLines writes blocks as "kind level: text", with what they link to.
func officeLines(doc *domain.Document) []string {
	var lines []string
	for _, b := range doc.Blocks {
		line := string(b.Kind)
		if b.Level > 0 {
			line += fmt.Sprintf(" %d", b.Level)
		}
		line += ": " + b.Text
		for _, l := range b.Links {
			line += fmt.Sprintf(" <%s %s>", l.Text, l.URL)
		}
		lines = append(lines, line)
	}
	return lines
}

func mustRead(t *testing.T, name string, data []byte) *domain.Document {
	t.Helper()
	doc, err := parseBytes(t, name, data)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return doc
}

const bodyOf = `<w:document xmlns:w="w" xmlns:r="r"><w:body><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:body></w:document>`

func TestOfficeContainers(t *testing.T) {
	t.Parallel()
	body := officePart{"word/document.xml", fmt.Sprintf(bodyOf, "kept")}
	whole := officeOf(t, body, officePart{"docProps/app.xml", strings.Repeat("<a/>", 500)})
	lying := bytes.Clone(whole)
	at := bytes.Index(lying, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(lying[at+24:], 10) // the unpacked size of the body as the directory has it
	locked := bytes.Clone(whole)
	locked[at+8] |= 1
	tests := map[string]struct {
		name    string
		data    []byte
		want    string // the first block
		kind    Kind
		warning string
	}{
		"a part with another name is found by the package's relationships": {"a.docx",
			officeOf(t, relsOf("", "r1 officeDocument odd/Body2.xml"), officePart{"[Content_Types].xml",
				`<Types><Override PartName="/odd/body2.xml" ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/></Types>`},
				officePart{"odd/body2.xml", fmt.Sprintf(bodyOf, "kept")}), "kept", "", ""},
		"a part with another name is found by its declared type": {"a.docx",
			officeOf(t, officePart{"[Content_Types].xml", `<Types><Override PartName="/word/body.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml"/></Types>`},
				officePart{"word/body.xml", fmt.Sprintf(bodyOf, "kept")}), "kept", "", ""},
		"the strict edition of the standard is read": {"a.docx", officeOf(t, officePart{"_rels/.rels", `<Relationships><Relationship Id="r1" ` +
			`Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" Target="word/main.xml"/></Relationships>`},
			officePart{"word/main.xml", `<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"><w:body><w:p><w:r><w:t>kept</w:t></w:r></w:p></w:body></w:document>`}), "kept", "", ""},
		"hidden text is read with a warning": {"a.docx", officeOf(t, officePart{"word/document.xml", strings.Replace(fmt.Sprintf(bodyOf, "kept"), "<w:r>", "<w:r><w:rPr><w:vanish/></w:rPr>", 1)}),
			"kept", "", "hidden text"},
		"names with other slashes, cases and ways up are names within": {"a.docx",
			officeOf(t, officePart{`..\Word\Document.XML`, fmt.Sprintf(bodyOf, "kept")}), "kept", "", ""},
		"of two parts with one name the first counts": {"a.docx",
			officeOf(t, body, officePart{"word/document.xml", fmt.Sprintf(bodyOf, "smuggled")}), "kept", "", "more than once"},
		"a part in UTF-16 is read": {"a.docx",
			officeOf(t, officePart{"word/document.xml", utf16Of(`<?xml version="1.0" encoding="UTF-16"?>` + fmt.Sprintf(bodyOf, "kept"))}), "kept", "", ""},
		"a container cut short is read by what stands before each part": {"a.docx",
			whole[:at-20], "kept", "", "damaged"},
		"a part cut short is read up to there": {"a.docx",
			officeOf(t, officePart{"word/document.xml", strings.TrimSuffix(fmt.Sprintf(bodyOf, "kept"), "</w:p></w:body></w:document>")}), "kept", "", "damaged"},
		"a directory that lies about sizes is damage": {"a.docx", lying, "", Damaged, ""},
		"a packed part with a password says so":       {"a.docx", locked, "", Encrypted, ""},
		"a container without any part is damaged":     {"a.docx", []byte("PK\x03\x04" + strings.Repeat("\x00", 200)), "", Damaged, ""},
		"a container cut before its text is damaged":  {"a.docx", officeOf(t, officePart{"[Content_Types].xml", "<Types/>"}, body)[:150], "", Damaged, ""},
		"a container of other things is unsupported":  {"a.docx", officeOf(t, officePart{"a.txt", "a"}), "", Unsupported, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := parseBytes(t, tt.name, tt.data)
			if tt.kind != "" {
				if KindOf(err) != tt.kind {
					t.Fatalf("error = %v, want kind %q", err, tt.kind)
				}
				return
			}
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if len(doc.Blocks) == 0 || doc.Blocks[0].Text != tt.want {
				t.Errorf("blocks = %q, want %q", officeLines(doc), tt.want)
			}
			if all := strings.Join(doc.Warnings, "\n"); tt.warning == "" && all != "" || !strings.Contains(all, tt.warning) {
				t.Errorf("warnings = %q, want %q", all, tt.warning)
			}
		})
	}
}

// utf16Of encodes ASCII text with a byte order mark.
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
		lim  Limits
	}{
		"all parts together": {officeOf(t, officePart{"word/document.xml", strings.Repeat("<w:p/>", 1000)}, officePart{"word/a.xml", strings.Repeat("<a/>", 1000)}),
			Limits{MaxUnpacked: 8000}},
		"parts that a cut container unpacks to": {func() []byte {
			d := officeOf(t, officePart{"word/document.xml", strings.Repeat("<w:p/>", 1000)}, officePart{"word/a.xml", strings.Repeat("<a/>", 1000)})
			return d[:bytes.Index(d, []byte("PK\x01\x02"))]
		}(), Limits{MaxUnpacked: 8000}},
		"notes that nothing refers to": {officeOf(t, officePart{"word/document.xml", fmt.Sprintf(bodyOf, "a")},
			officePart{"word/footnotes.xml", `<w:footnotes xmlns:w="w"><w:footnote w:id="1"><w:p><w:r><w:t>` + strings.Repeat("word ", 1000) + `</w:t></w:r></w:p></w:footnote></w:footnotes>`}),
			Limits{MaxText: 1000}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(t.Context(), Source{Data: bytes.NewReader(tt.data), Size: int64(len(tt.data)), Name: "a.docx"}, tt.lim)
			if KindOf(err) != TooLarge {
				t.Errorf("error = %v, want TooLarge", err)
			}
		})
	}
}

func TestCorePropertiesBecomeTheDocuments(t *testing.T) {
	t.Parallel()
	core := officePart{"docProps/core.xml", `<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>Annual report</dc:title><dc:creator>Ines Duarte</dc:creator>` +
		`<dcterms:created>2024-03-01T08:00:00Z</dcterms:created><dcterms:modified>yesterday</dcterms:modified><cp:keywords>pumps; seals</cp:keywords>` +
		`<dc:description>What happened.</dc:description><dc:language>pt-PT</dc:language></cp:coreProperties>`}
	doc := mustRead(t, "a.docx", officeOf(t, core, officePart{"word/document.xml", fmt.Sprintf(bodyOf, "kept")}))
	want := map[string]string{domain.MetaAuthor: "Ines Duarte", domain.MetaCreated: "2024-03-01T08:00:00Z", domain.MetaKeywords: "pumps; seals",
		domain.MetaDescription: "What happened."}
	if diff := cmp.Diff(want, doc.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if doc.Title != "Annual report" || doc.Language != "pt-PT" {
		t.Errorf("title = %q, language = %q", doc.Title, doc.Language)
	}
}

func TestTitlesThatProgramsGiveAreNoTitles(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]bool{
		"PowerPoint Presentation": true, "Présentation PowerPoint": true, "Untitled 2": true, "Slide 1": true, "": true,
		"Documentation": false, "Why we left PowerPoint behind for good": false, "Document management": false,
	} {
		if got := isStockTitle(title); got != want {
			t.Errorf("isStockTitle(%q) = %v, want %v", title, got, want)
		}
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
			doc := mustRead(t, "a.docx", officeOf(t, officePart{"word/document.xml", body}))
			if got := doc.Blocks[0].Text; got != "y = "+tt.want {
				t.Errorf("text = %q, want %q", got, "y = "+tt.want)
			}
		})
	}
}
