package html_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/format"
)

// anchorsOf reads a page with the given URL and returns each heading's anchor.
func anchorsOf(t *testing.T, page, address string) map[string]string {
	t.Helper()
	doc, err := extract.Parse(t.Context(), format.Source{
		Data: strings.NewReader(page), Size: int64(len(page)), Name: "page.html", Declared: "text/html; charset=utf-8", URL: address,
	}, format.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]string{}
	for _, b := range doc.Blocks {
		if b.Kind == domain.BlockHeading {
			anchors[b.Text] = b.Anchor
		} else if b.Anchor != "" {
			t.Errorf("%s %q has the anchor %q", b.Kind, b.Text, b.Anchor)
		}
	}
	return anchors
}

func TestHeadingsOfPagesHaveTheirAnchor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want map[string]string
	}{
		"the id of the heading":               {`<h2 id="fees">Fees</h2><p>Ten.</p>`, map[string]string{"Fees": "fees"}},
		"an id that is not ASCII":             {`<h2 id="größe">Size</h2><p>Ten.</p>`, map[string]string{"Size": "größe"}},
		"an element in the heading":           {`<h2><span class="mw-headline" id="Early_life">Early life</span></h2><p>Ten.</p>`, map[string]string{"Early life": "Early_life"}},
		"a named link in the heading":         {`<h2><a name="s2"></a>2. Fees</h2><p>Ten.</p>`, map[string]string{"2. Fees": "s2"}},
		"a named link before the heading":     {`<p>Text.</p><a name="s2"></a><h2>Fees</h2><p>Ten.</p>`, map[string]string{"Fees": "s2"}},
		"a link with an id in a paragraph":    {`<p>Text.</p><p><a id="s2"></a></p><h2>Fees</h2><p>Ten.</p>`, map[string]string{"Fees": "s2"}},
		"a named link around the heading":     {`<p>Text.</p><a name="s2"><h2>Fees</h2></a><p>Ten.</p>`, map[string]string{"Fees": "s2"}},
		"a section that begins with it":       {`<section id="top"><h1>All</h1><p>Text.</p><section id="fees"><h2>Fees</h2><p>Ten.</p></section></section>`, map[string]string{"All": "top", "Fees": "fees"}},
		"a division of Sphinx":                {`<div class="section" id="all"><span id="index-0"></span><h1>All<a class="headerlink" href="#all">¶</a></h1><p>Text.</p></div>`, map[string]string{"All": "all"}},
		"a section of DocBook":                {`<div class="sect1" id="FEES"><div class="titlepage"><div><div><h2 class="title">1. Fees</h2></div></div></div><p>Ten.</p></div>`, map[string]string{"1. Fees": "FEES"}},
		"the permanent link behind it":        {`<div><h2>A</h2><a id="user-content-a" href="#a"><svg></svg></a></div><p>Text.</p><div><h2>B</h2><a id="user-content-b" href="#b"></a></div><div><h3>C</h3><a id="user-content-c" href="#c"></a></div><p>Ten.</p>`, map[string]string{"A": "user-content-a", "B": "user-content-b", "C": "user-content-c"}},
		"of several the one that it links to": {`<p>Text.</p><a id="old"></a><a id="new"></a><a id="odd"></a><h2>Fees <a href="#new">#</a></h2><p>Ten.</p>`, map[string]string{"Fees": "new"}},
		"a section of several headings":       {`<div id="content"><h2>A</h2><p>Text.</p><h2>B</h2><p>Ten.</p></div>`, map[string]string{"A": "", "B": ""}},
		"the layout around the title":         {`<div id="content"><h1>All</h1><p>Text.</p></div>`, map[string]string{"All": ""}},
		"text between them":                   {`<p><a name="a"></a>Text.</p><h2>Fees</h2><p>Ten.</p><div id="b"><p>Text.</p><h2>Dues</h2><p>Ten.</p></div>`, map[string]string{"Fees": "", "Dues": ""}},
		"no id":                               {`<h2 id="">Fees</h2><p>Ten.</p>`, map[string]string{"Fees": ""}},
		"an id with a space":                  {`<h2 id="our fees">Fees</h2><p>Ten.</p>`, map[string]string{"Fees": ""}},
		"an id that leads to another place":   {`<h2 id="x">A</h2><p>Text.</p><h2 id="x">B</h2><p>Ten.</p>`, map[string]string{"A": "x", "B": ""}},
		"an id that is as long as a page":     {`<h2 id="` + strings.Repeat("x", 5000) + `">Fees</h2><p>Ten.</p>`, map[string]string{"Fees": ""}},
		"a heading by its role":               {`<div role="heading" aria-level="2" id="fees">Fees</div><p>Ten.</p>`, map[string]string{"Fees": "fees"}},
		"a link back to the top":              {`<a name="top"></a><p>Text.</p><h2>Fees <a href="#top">up</a></h2><p>Ten.</p>`, map[string]string{"Fees up": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := "<html><head><title>T</title></head><body>" + test.body + "</body></html>"
			if diff := cmp.Diff(test.want, anchorsOf(t, page, "https://docs.example/page")); diff != "" {
				t.Errorf("anchors (-want +got):\n%s", diff)
			}
			for heading, anchor := range anchorsOf(t, page, "") {
				if anchor != "" {
					t.Errorf("in a file %q has the anchor %q", heading, anchor)
				}
			}
		})
	}
}

// TestDefinedTermsHaveTheirAnchor reads API references in the markup of Sphinx and DocBook.
func TestDefinedTermsHaveTheirAnchor(t *testing.T) {
	t.Parallel()
	page := `<main><h1 id="top">Mill</h1><p>Before.</p>
		<dl class="py class"><dt class="sig" id="mill.Wheel">class Wheel<a class="headerlink" href="#mill.Wheel">¶</a></dt><dd><p>A wheel.</p>
			<dl class="py method"><dt id="mill.Wheel.turn">turn()</dt><dd><p>Turns it.</p><ul><li>Slowly.</li></ul>
			<dl class="field-list"><dt>Returns</dt><dd>Nothing.</dd></dl></dd></dl>
			<p>It is of wood.</p></dd></dl>
		<p>Between.</p>
		<dl><dt><a name="opt-v"></a><code>-v</code></dt><dt>--verbose</dt><dd>Says more.</dd><dt>-q</dt><dd>Says less.</dd></dl></main>`
	doc, err := extract.Parse(t.Context(), format.Source{
		Data: strings.NewReader(page), Size: int64(len(page)), Name: "page.html", Declared: "text/html; charset=utf-8", URL: "https://e.com/",
	}, format.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, b := range doc.Blocks {
		got[b.Text] = b.Anchor
	}
	want := map[string]string{
		"Mill": "top", "Before.": "", "class Wheel": "mill.Wheel", "A wheel.": "mill.Wheel", "turn()": "mill.Wheel.turn", "Turns it.": "mill.Wheel.turn",
		"Slowly.": "mill.Wheel.turn", "Returns": "mill.Wheel.turn", "Nothing.": "mill.Wheel.turn", "It is of wood.": "mill.Wheel", "Between.": "", "-v": "opt-v", "--verbose": "opt-v", "Says more.": "opt-v", "-q": "", "Says less.": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
