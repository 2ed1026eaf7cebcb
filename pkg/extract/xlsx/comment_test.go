package xlsx_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
	"github.com/sluice/sluice/pkg/extract/xlsx"
)

func TestCommentsOnCellsAreRead(t *testing.T) {
	t.Parallel()
	rows := extracttest.Cells(1, "part", "price") + extracttest.Cells(2, "door", "10") + extracttest.Cells(3, "window", "5")
	relations := `<Relationships><Relationship Id="c" Type="x/comments" Target="../comments1.xml"/><Relationship Id="t" Type="x/threadedComment" Target="../threadedComments/t.xml"/></Relationships>`
	notes := `<comments><commentList><comment ref="B3"><text><r><t>until </t></r><r><t>June</t></r></text></comment>` +
		`<comment ref="B2"><text><t>[Threaded comment] Your version of Excel cannot show it</t></text></comment><comment ref="D9"><text><t>empty cell</t></text></comment><comment ref="?"><text><t>nowhere</t></text></comment></commentList></comments>`
	threads := `<ThreadedComments><threadedComment ref="B2" id="1"><text>Who says so?</text></threadedComment><threadedComment ref="B2" parentId="1"><text>The list.</text></threadedComment></ThreadedComments>`
	data := extracttest.Sheet(t, rows, "", map[string]string{"xl/worksheets/_rels/sheet1.xml.rels": relations, "xl/comments1.xml": notes, "xl/threadedComments/t.xml": threads})
	doc := readtest.MustParse(t, "a.xlsx", data)
	want := []string{"paragraph: B2 (door; 10): Who says so?\nThe list.", "paragraph: B3 (window; 5): until June", "paragraph: D9: empty cell"}
	if lines := readtest.Office(doc); len(lines) < 3 || !slices.Equal(lines[len(lines)-3:], want) {
		t.Errorf("blocks = %q, want at the end %q", lines, want)
	}
	plain, err := extract.Parse(t.Context(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "a.xlsx", PlainRows: true}, format.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(readtest.Text(plain), "June") || len(plain.Warnings) != 1 || !strings.Contains(plain.Warnings[0], "comments") {
		t.Errorf("plain text %q, warnings %q", readtest.Text(plain), plain.Warnings)
	}
}

func TestCommentsOnCellsAreBounded(t *testing.T) {
	t.Parallel()
	var notes strings.Builder
	for i := range xlsx.MaxRemarks + 100 {
		fmt.Fprintf(&notes, `<comment ref="A%d"><text><t>word</t></text></comment>`, i+1)
	}
	doc := readtest.MustParse(t, "a.xlsx", extracttest.Sheet(t, extracttest.Cells(1, "a"), "", map[string]string{
		"xl/worksheets/_rels/sheet1.xml.rels": `<Relationships><Relationship Id="c" Type="x/comments" Target="../comments1.xml"/></Relationships>`,
		"xl/comments1.xml":                    `<comments><commentList>` + notes.String() + `</commentList></comments>`}))
	if n := strings.Count(readtest.Text(doc), "word"); n != xlsx.MaxRemarks {
		t.Errorf("%d comments were read, want %d", n, xlsx.MaxRemarks)
	}
	if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "too many comments") {
		t.Errorf("warnings = %q", doc.Warnings)
	}
}
