package html_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/html"
)

func TestEmptyElementsOfXHTML(t *testing.T) {
	t.Parallel()
	const declaration = `<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "xhtml1-strict.dtd">`
	for name, tc := range map[string]struct{ page, declared, want string }{
		"raw text":             {`<script src="a.js"/><p>a</p>`, "application/xhtml+xml", `<script src="a.js"></script><p>a</p>`},
		"with parameters":      {`<title/><p>a</p>`, "Application/XHTML+XML; charset=utf-8", `<title></title><p>a</p>`},
		"in a row":             {`<style /><script/><iframe/><p/>a`, "application/xhtml+xml", `<style ></style><script></script><iframe></iframe><p></p>a`},
		"other elements":       {`<nav/><DIV hidden="hidden"/>a`, "application/xhtml+xml", `<nav></nav><DIV hidden="hidden"></div>a`},
		"void elements":        {`a<br/>b<img src="c"/><hr />`, "application/xhtml+xml", `a<br/>b<img src="c"/><hr />`},
		"graphics":             {`<svg><g><g/><path d="m"/></g></svg>`, "application/xhtml+xml", `<svg><g><g></g><path d="m"></path></g></svg>`},
		"a tag in a script":    {`<script>x = "<script/>"</script><a/>`, "application/xhtml+xml", `<script>x = "<script/>"</script><a></a>`},
		"a tag in a comment":   {`<!-- <title/> --><title/>`, "application/xhtml+xml", `<!-- <title/> --><title></title>`},
		"a sign in a value":    {`<a title="/>"/>b`, "application/xhtml+xml", `<a title="/>"></a>b`},
		"by its declaration":   {declaration + `<html><title/>a`, "text/html", declaration + `<html><title></title>a`},
		"of HTML":              {`<script src="a.js"/>a`, "text/html", `<script src="a.js"/>a`},
		"XHTML in words alone": {`<p>xhtml</p><title/>`, "text/html", `<p>xhtml</p><title/>`},
		"cut off":              {`<p/>a<script src="`, "application/xhtml+xml", `<p></p>a<script src="`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.page
			if html.IsXHTML([]byte(tc.page), tc.declared) {
				got = html.ExpandXHTML(tc.page)
			}
			if got != tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestAnXHTMLPageHasItsText(t *testing.T) {
	t.Parallel()
	page := `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Valves</title><script src="a.js"/><style/></head>
		<body><nav/><h1>Valves</h1><p>Close the inlet valve before the pump is opened.</p></body></html>`
	for declared, data := range map[string]string{
		"application/xhtml+xml": page,
		"text/html":             `<?xml version="1.0"?>` + page,
	} {
		doc, err := extract.Parse(t.Context(), format.Source{Data: strings.NewReader(data), Size: int64(len(data)), Name: "page.xhtml", Declared: declared}, format.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(doc.Blocks, func(b domain.Block) bool { return strings.Contains(b.Text, "Close the inlet valve") }) || doc.Title != "Valves" {
			t.Errorf("%s: the blocks of %q are %+v", declared, doc.Title, doc.Blocks)
		}
	}
}
