package html_test

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// deepPages returns pages with a lot of content inside deeply nested elements. An element's facts must not be
// recomputed for each element around it.
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
				if _, err := readtest.Parse(b, "a.html", []byte(page)); err != nil && format.KindOf(err) == "" {
					b.Fatal(err)
				}
			}
		})
	}
}
