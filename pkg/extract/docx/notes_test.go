package docx_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// of returns a Word document with the given body, footnotes and endnotes.
func of(t *testing.T, body, footnotes, endnotes string) []byte {
	t.Helper()
	const officeType = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	return extracttest.Zip(t, map[string]string{
		"word/document.xml":  `<w:document xmlns:w="w"><w:body>` + body + `</w:body></w:document>`,
		"word/footnotes.xml": `<w:footnotes xmlns:w="w">` + footnotes + `</w:footnotes>`,
		"word/endnotes.xml":  `<w:endnotes xmlns:w="w">` + endnotes + `</w:endnotes>`,
		"word/_rels/document.xml.rels": `<Relationships><Relationship Id="r1" Type="` + officeType + `footnotes" Target="footnotes.xml"/>` +
			`<Relationship Id="r2" Type="` + officeType + `endnotes" Target="endnotes.xml"/></Relationships>`,
	}, 1)
}

func TestDocxNotesFollowTheirReferences(t *testing.T) {
	t.Parallel()
	p := func(text, more string) string { return `<w:p><w:r><w:t>` + text + `</w:t></w:r>` + more + `</w:p>` }
	heading := func(text string) string {
		return `<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
	}
	ref := func(kind, id string) string { return `<w:r><w:` + kind + `Reference w:id="` + id + `"/></w:r>` }
	body := heading("Leave") +
		p("Parents get leave.", ref("footnote", "2")) +
		p("Parents get leave once more.", ref("footnote", "2")+ref("endnote", "2")) +
		`<w:tbl><w:tr><w:tc>` + p("Weeks", ref("footnote", "3")) + `</w:tc><w:tc>` + p("19", "") + `</w:tc></w:tr></w:tbl>` +
		heading("Contacts") + p("Call the office.", "")
	footnotes := `<w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>` +
		`<w:footnote w:id="2">` + heading("Since January.") + p("Before that, less.", "") + `</w:footnote>` +
		`<w:footnote w:id="3">` + p("Full pay.", "") + `</w:footnote>` +
		`<w:footnote w:id="4">` + p("Nobody refers to this.", "") + `</w:footnote>`
	doc, err := readtest.Parse(t, "a.docx", of(t, body, footnotes, `<w:endnote w:id="2">`+p("As the law says.", "")+`</w:endnote>`))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	var got []string
	for _, b := range doc.Blocks {
		got = append(got, string(b.Kind)+": "+b.Text)
	}
	want := []string{
		"heading: Leave",
		"paragraph: Parents get leave.[1]", "paragraph: [1] Since January.", "paragraph: Before that, less.",
		"paragraph: Parents get leave once more.[i]", "paragraph: [i] As the law says.",
		"table_row: Weeks[2]\t19", "paragraph: [2] Full pay.",
		"heading: Contacts", "paragraph: Call the office.",
		"paragraph: Nobody refers to this.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if doc.Title != "" {
		t.Errorf("title = %q of a body with two headings of the highest level", doc.Title)
	}
}

func TestDamagedDocxNotesCauseAWarning(t *testing.T) {
	t.Parallel()
	body := `<w:p><w:r><w:t>Kept.</w:t><w:footnoteReference w:id="1"/></w:r></w:p>`
	doc, err := readtest.Parse(t, "a.docx", of(t, body, `<w:footnote w:id="1"><w:p><w:r><w:t>Half</w:t></w:r></w:p></w:oops>`, ""))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	if len(doc.Blocks) != 2 || doc.Blocks[1].Kind != domain.BlockParagraph || doc.Blocks[1].Text != "[1] Half" {
		t.Errorf("blocks = %+v, want the paragraph and its note", doc.Blocks)
	}
	if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "damaged") {
		t.Errorf("warnings = %q, want one of the damage", doc.Warnings)
	}
}
