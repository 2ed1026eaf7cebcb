package docx_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestCommentsInADocxFollowTheirParagraph(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.docx", extracttest.Word(t, `<w:p>`+extracttest.WordRun("A door.")+`<w:r><w:commentReference w:id="4"/></w:r></w:p>`+extracttest.WordPara("", "A window."),
		extracttest.Rels("word/document.xml", "r1 comments comments.xml"),
		extracttest.Part{"word/comments.xml", `<w:comments xmlns:w="w"><w:comment w:id="4">` + extracttest.WordPara("", "Which door?") + `</w:comment></w:comments>`}))
	if diff := cmp.Diff([]string{"paragraph: A door.", "paragraph: Which door?", "paragraph: A window."}, readtest.Office(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}
