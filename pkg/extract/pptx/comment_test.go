package pptx_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestCommentsOnSlidesAreRead(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.pptx", extracttest.Slides(t, []string{"|" + extracttest.Shape("title", extracttest.Drawn("", "Doors")) + extracttest.Shape("", extracttest.Drawn("", "oak"))},
		extracttest.Rels("ppt/slides/slide1.xml", "r1 comments ../comments/comment1.xml", "r2 comments ../comments/modern.xml"),
		extracttest.Part{"ppt/comments/comment1.xml", `<p:cmLst xmlns:p="p"><p:cm><p:pos x="1" y="2"/><p:text>Which oak?</p:text></p:cm></p:cmLst>`},
		extracttest.Part{"ppt/comments/modern.xml", `<p188:cmLst xmlns:p188="p" xmlns:a="a"><p188:cm><p188:replyLst><p188:reply><p188:txBody>` + extracttest.Drawn("", "From here.") + `</p188:txBody></p188:reply></p188:replyLst><p188:txBody>` + extracttest.Drawn("", "From where?") + `</p188:txBody></p188:cm></p188:cmLst>`}))
	if diff := cmp.Diff("Doors oak Which oak? From where? From here.", readtest.Text(doc)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}
