package html_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/format"
)

// listItems returns n list items, each with a link to a page, followed by the text `behind`.
func listItems(n int, behind string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<li><a href="page%d.html">The subject of number %d</a>%s</li>`, i, i, behind)
	}
	return b.String()
}

func TestLinkListsAreRecognised(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat(`<p>Words that say something of their own, and a <a href="more.html">link</a>.</p>`, 20)
	for name, test := range map[string]struct {
		body string
		list bool
	}{
		"a table of contents":                {`<h1>Contents</h1><ul>` + listItems(40, "") + `</ul>`, true},
		"an index in a table":                {`<h1>Index</h1><h2>A</h2><table><tr><td><ul>` + listItems(60, "") + `</ul></td><td><ul>` + listItems(60, "") + `</ul></td></tr></table>`, true},
		"an index with the names of modules": {`<h1>Index</h1><dl>` + strings.Repeat(`<dt><a href="a.html#x">opener.connect() (in module)</a>, <a href="b.html">[1]</a></dt>`, 40) + `</dl>`, true},
		"a listing of source code": {`<h1>Source code for pumps</h1><pre>import os

<a href="../pumps.html#start">[docs]</a>def start(pump, delay):
    """Starts a pump after a delay."""
    return pump.start(delay)
</pre>`, true},
		"code without links to documentation": {`<h1>Example</h1><pre>import os

def start(pump, delay):
    return pump.start(delay)
</pre><p><a href="../pumps.html">[docs]</a></p>`, false},
		"links with what they are about":    {`<h1>Guides</h1><ul>` + listItems(40, ": what that is about, in some words that follow the link") + `</ul>`, false},
		"an article with links":             {`<article><h1>Guide</h1>` + prose + `</article>`, false},
		"an article with a list at its end": {`<article><h1>Guide</h1>` + prose + `<h2>See also</h2><ul>` + listItems(12, "") + `</ul></article>`, false},
		"a few links":                       {`<h1>Contents</h1><ul>` + listItems(4, "") + `</ul>`, false},
		"links within the page":             {`<h1>Contents</h1><ul>` + strings.ReplaceAll(listItems(40, ""), `href="page`, `href="#page`) + `</ul>`, false},
		"text without links":                {`<h1>Guide</h1><p>` + strings.Repeat("Words without links. ", 50) + `</p>`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := "<html><head><title>T</title></head><body><main>" + test.body + "</main></body></html>"
			doc, err := extract.Parse(t.Context(), format.Source{
				Data: strings.NewReader(page), Size: int64(len(page)), Name: "page.html", Declared: "text/html", URL: "https://docs.example/page.html",
			}, format.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if doc.LinkList != test.list {
				t.Errorf("a list of links: %t, want %t; the blocks are %+v", doc.LinkList, test.list, doc.Blocks)
			}
			if info := doc.Info(); test.list && !info.LinkList {
				t.Error("the datasource does not keep it")
			}
		})
	}
}
