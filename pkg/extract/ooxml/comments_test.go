package ooxml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestEmbeddedDocumentsAreNamedInWarnings(t *testing.T) {
	t.Parallel()
	object := func(program, id string) string {
		return `<w:p>` + extracttest.WordRun("text") + `<w:r><w:object><o:OLEObject xmlns:o="o" ProgID="` + program + `" r:id="` + id + `"/></w:object></w:r></w:p>`
	}
	for name, doc := range map[string]struct {
		name string
		data []byte
	}{
		"docx": {"a.docx", extracttest.Word(t, object("Excel.Sheet.12", "r1")+object("Equation.3", "r2"), extracttest.Rels("word/document.xml", "r1 package embeddings/prices.xlsx", "r2 oleObject embeddings/oleObject1.bin"))},
		"pptx": {"a.pptx", extracttest.Slides(t, []string{"|" + extracttest.Shape("", extracttest.Drawn("", "text")) + `<p:graphicFrame><a:graphic><a:graphicData><p:oleObj progId="Excel.Sheet.12" r:id="r1"/></a:graphicData></a:graphic></p:graphicFrame>`}, extracttest.Rels("ppt/slides/slide1.xml", "r1 package ../embeddings/prices.xlsx"))},
		"xlsx": {"a.xlsx", extracttest.Sheet(t, extracttest.Cells(1, "text"), `<oleObjects><oleObject progId="Excel.Sheet.12" r:id="r1"/></oleObjects>`, map[string]string{"xl/worksheets/_rels/sheet1.xml.rels": `<Relationships><Relationship Id="r1" Type="x/package" Target="../embeddings/prices.xlsx"/></Relationships>`})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if read := readtest.MustParse(t, doc.name, doc.data); len(read.Warnings) != 1 || !strings.Contains(read.Warnings[0], "prices.xlsx (Excel.Sheet.12)") {
				t.Errorf("warnings = %q", read.Warnings)
			}
		})
	}
}

func TestEmbeddedFilesThatTheTextDoesNotMentionAreNamedInWarnings(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.docx", extracttest.Word(t, extracttest.WordPara("", "text"), extracttest.Rels("word/document.xml", "r1 package embeddings/prices.xlsx", "r2 control activeX/activeX1.xml", "r3 control activeX/activeX2.xml")))
	want := []string{"the embedded document prices.xlsx was skipped; upload it as a separate file", "the text and values of ActiveX controls were skipped"}
	if diff := cmp.Diff(want, doc.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
