package extract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommentsOnCellsAreRead(t *testing.T) {
	t.Parallel()
	rows := cellsXML(1, "part", "price") + cellsXML(2, "door", "10") + cellsXML(3, "window", "5")
	relations := `<Relationships><Relationship Id="c" Type="x/comments" Target="../comments1.xml"/><Relationship Id="t" Type="x/threadedComment" Target="../threadedComments/t.xml"/></Relationships>`
	notes := `<comments><commentList><comment ref="B3"><text><r><t>until </t></r><r><t>June</t></r></text></comment>` +
		`<comment ref="B2"><text><t>[Threaded comment] Your version of Excel cannot show it</t></text></comment><comment ref="D9"><text><t>empty cell</t></text></comment><comment ref="?"><text><t>nowhere</t></text></comment></commentList></comments>`
	threads := `<ThreadedComments><threadedComment ref="B2" id="1"><text>Who says so?</text></threadedComment><threadedComment ref="B2" parentId="1"><text>The list.</text></threadedComment></ThreadedComments>`
	data := xlsxOf(t, rows, "", map[string]string{"xl/worksheets/_rels/sheet1.xml.rels": relations, "xl/comments1.xml": notes, "xl/threadedComments/t.xml": threads})
	doc := mustRead(t, "a.xlsx", data)
	want := []string{"paragraph: B2 (door; 10): Who says so?\nThe list.", "paragraph: B3 (window; 5): until June", "paragraph: D9: empty cell"}
	if lines := officeLines(doc); len(lines) < 3 || !slices.Equal(lines[len(lines)-3:], want) {
		t.Errorf("blocks = %q, want at the end %q", lines, want)
	}
	plain, err := Parse(t.Context(), Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.xlsx", PlainRows: true}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(spoken(plain), "June") || len(plain.Warnings) != 1 || !strings.Contains(plain.Warnings[0], "comments") {
		t.Errorf("plain text %q, warnings %q", spoken(plain), plain.Warnings)
	}
}

func TestCommentsOnCellsAreBounded(t *testing.T) {
	t.Parallel()
	var notes strings.Builder
	for i := range maxRemarks + 100 {
		fmt.Fprintf(&notes, `<comment ref="A%d"><text><t>word</t></text></comment>`, i+1)
	}
	doc := mustRead(t, "a.xlsx", xlsxOf(t, cellsXML(1, "a"), "", map[string]string{
		"xl/worksheets/_rels/sheet1.xml.rels": `<Relationships><Relationship Id="c" Type="x/comments" Target="../comments1.xml"/></Relationships>`,
		"xl/comments1.xml":                    `<comments><commentList>` + notes.String() + `</commentList></comments>`}))
	if n := strings.Count(spoken(doc), "word"); n != maxRemarks {
		t.Errorf("%d comments were read, want %d", n, maxRemarks)
	}
	if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "more comments than are read") {
		t.Errorf("warnings = %q", doc.Warnings)
	}
}

func TestCommentsOnSlidesAreRead(t *testing.T) {
	t.Parallel()
	doc := mustRead(t, "a.pptx", show(t, []string{"|" + shapeOf("title", drawn("", "Doors")) + shapeOf("", drawn("", "oak"))},
		relsOf("ppt/slides/slide1.xml", "r1 comments ../comments/comment1.xml", "r2 comments ../comments/modern.xml"),
		officePart{"ppt/comments/comment1.xml", `<p:cmLst xmlns:p="p"><p:cm><p:pos x="1" y="2"/><p:text>Which oak?</p:text></p:cm></p:cmLst>`},
		officePart{"ppt/comments/modern.xml", `<p188:cmLst xmlns:p188="p" xmlns:a="a"><p188:cm><p188:replyLst><p188:reply><p188:txBody>` + drawn("", "From here.") + `</p188:txBody></p188:reply></p188:replyLst><p188:txBody>` + drawn("", "From where?") + `</p188:txBody></p188:cm></p188:cmLst>`}))
	if diff := cmp.Diff("Doors oak Which oak? From where? From here.", spoken(doc)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestCommentsInADocxFollowTheirParagraph(t *testing.T) {
	t.Parallel()
	doc := mustRead(t, "a.docx", wordOf(t, `<w:p>`+wordRun("A door.")+`<w:r><w:commentReference w:id="4"/></w:r></w:p>`+wordPara("", "A window."),
		relsOf("word/document.xml", "r1 comments comments.xml"),
		officePart{"word/comments.xml", `<w:comments xmlns:w="w"><w:comment w:id="4">` + wordPara("", "Which door?") + `</w:comment></w:comments>`}))
	if diff := cmp.Diff([]string{"paragraph: A door.", "paragraph: Which door?", "paragraph: A window."}, officeLines(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestEmbeddedDocumentsAreNamedInWarnings(t *testing.T) {
	t.Parallel()
	object := func(program, id string) string {
		return `<w:p>` + wordRun("text") + `<w:r><w:object><o:OLEObject xmlns:o="o" ProgID="` + program + `" r:id="` + id + `"/></w:object></w:r></w:p>`
	}
	for name, doc := range map[string]struct {
		name string
		data []byte
	}{
		"docx": {"a.docx", wordOf(t, object("Excel.Sheet.12", "r1")+object("Equation.3", "r2"), relsOf("word/document.xml", "r1 package embeddings/prices.xlsx", "r2 oleObject embeddings/oleObject1.bin"))},
		"pptx": {"a.pptx", show(t, []string{"|" + shapeOf("", drawn("", "text")) + `<p:graphicFrame><a:graphic><a:graphicData><p:oleObj progId="Excel.Sheet.12" r:id="r1"/></a:graphicData></a:graphic></p:graphicFrame>`}, relsOf("ppt/slides/slide1.xml", "r1 package ../embeddings/prices.xlsx"))},
		"xlsx": {"a.xlsx", xlsxOf(t, cellsXML(1, "text"), `<oleObjects><oleObject progId="Excel.Sheet.12" r:id="r1"/></oleObjects>`, map[string]string{"xl/worksheets/_rels/sheet1.xml.rels": `<Relationships><Relationship Id="r1" Type="x/package" Target="../embeddings/prices.xlsx"/></Relationships>`})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if read := mustRead(t, doc.name, doc.data); len(read.Warnings) != 1 || !strings.Contains(read.Warnings[0], "prices.xlsx (Excel.Sheet.12)") {
				t.Errorf("warnings = %q", read.Warnings)
			}
		})
	}
}

func TestEmbeddedFilesThatTheTextDoesNotMentionAreNamedInWarnings(t *testing.T) {
	t.Parallel()
	doc := mustRead(t, "a.docx", wordOf(t, wordPara("", "text"), relsOf("word/document.xml", "r1 package embeddings/prices.xlsx", "r2 control activeX/activeX1.xml", "r3 control activeX/activeX2.xml")))
	want := []string{"the embedded document prices.xlsx was left out; send it as a file of its own", "the document has ActiveX controls, whose texts and values are not read"}
	if diff := cmp.Diff(want, doc.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
