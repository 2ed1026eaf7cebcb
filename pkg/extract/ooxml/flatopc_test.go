package ooxml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestAFlatDocumentIsADocx(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"as Word writes it":               extracttest.FlatSample,
		"with a byte of another encoding": strings.Replace(extracttest.FlatSample, "<pkg:part", "<!-- \xe9 \xe9 \xe9 --><pkg:part", 1),
		"cut short":                       extracttest.FlatSample[:strings.Index(extracttest.FlatSample, "<pkg:part pkg:name=\"/word/media")],
		"with a mark of encoding":         "\xef\xbb\xbf" + extracttest.FlatSample,
	} {
		doc := readtest.MustParse(t, "a.docx", []byte(data))
		if diff := cmp.Diff([]string{"paragraph: A door & a window"}, readtest.Office(doc)); diff != "" || doc.MIMEType != ooxml.TypeDocx {
			t.Errorf("%s: type %q, blocks (-want +got):\n%s", name, doc.MIMEType, diff)
		}
	}
	if _, err := readtest.Parse(t, "a.docx", []byte(strings.ReplaceAll(extracttest.FlatSample, "<w:p>", strings.Repeat("<w:p>", 2*format.MaxDepth)))); format.KindOf(err) != format.TooLarge {
		t.Errorf("error = %v, want that it is nested too deeply", err)
	}
}
