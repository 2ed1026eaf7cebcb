package html

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/extract/charset"
)

func TestFactsOfElementsAreThoseOfTheirTexts(t *testing.T) {
	t.Parallel()
	pages := []string{"", "<p>a", "<p>a<b>b</b> c<i> d</i></p>e<div></div>f", "<p> <b> </b> x<script>y</script></p>", "<p>…<sup>[<a href=#n>1</a>]</sup>"}
	files, err := filepath.Glob(filepath.Join("testdata", "html", "*.html"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d pages, error %v", len(files), err)
	}
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, string(page))
	}
	for _, page := range pages {
		doc, err := parseHTML(page)
		if err != nil {
			t.Fatal(err)
		}
		w := &walker{}
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			text, f := nodeText(n), w.factsOf(n)
			if f.size() != len(text) || f.hasWords != strings.ContainsFunc(text, charset.WordRune) {
				t.Errorf("facts of %q = %+v, want %d bytes", text, f, len(text))
			}
		}
	}
}
