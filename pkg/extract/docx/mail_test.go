package docx_test

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestAWebArchiveInADocxIsItsPage(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.docx", extracttest.Word(t, extracttest.WordPara("", "before")+`<w:altChunk r:id="r1"/>`+extracttest.WordPara("", "after"),
		extracttest.Part{"word/chunk.mht", extracttest.ArchiveSample}, extracttest.Rels("word/document.xml", "r1 aFChunk chunk.mht")))
	if got := readtest.Text(doc); !strings.HasPrefix(got, "before A door costs € 500, see the list.") || !strings.HasSuffix(got, "after") {
		t.Errorf("read %q", got)
	}
}
