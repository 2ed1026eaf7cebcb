package extract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
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
		w := &htmlWalker{}
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			text, f := nodeText(n), w.factsOf(n)
			if f.size() != len(text) || f.wordy != strings.ContainsFunc(text, wordRune) {
				t.Errorf("facts of %q = %+v, want %d bytes", text, f, len(text))
			}
		}
	}
}

// deepPages are pages whose elements stand in each other as deep as the parser bears, around much content: what is asked
// of the content of each must be found once.
func deepPages(fill int) map[string]string {
	const depth = 100
	nest := func(open, close, content string) string {
		return strings.Repeat(open, depth) + content + strings.Repeat(close, depth)
	}
	return map[string]string{
		"hidden divisions": nest(`<div aria-hidden=true>`, `</div>`, strings.Repeat("<i></i>", fill)+"<p>text</p>"),
		"markers of notes": nest(`<sup class=reference>`, `</sup>`, strings.Repeat("word <i></i>", fill)),
		"code":             nest(`<code>`, `</code>`, strings.Repeat("word <i></i>", fill)),
		"links in a row":   `<table><tr><th>a<th>b<tr><td>` + nest(`<a href="#x"><table><tr><td>`, `</table></a>`, strings.Repeat("… <i></i>", fill)) + `<td>c</table>`,
		"tables of layout": nest(`<table><tr><td>a<td>b<td>`, `</table>`, strings.Repeat("word <i></i>", fill)),
		"lists in a table": `<table><tr><td>a<td>` + nest(`<ul><li>`, `</ul>`, strings.Repeat("word <i></i>", fill)) + `</table>`,
	}
}

func BenchmarkDeepPages(b *testing.B) {
	for name, page := range deepPages(20_000) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := parseBytes(b, "a.html", []byte(page)); err != nil && KindOf(err) == "" {
					b.Fatal(err)
				}
			}
		})
	}
}
