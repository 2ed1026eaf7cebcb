package html_test

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

// TestMarkup reads page fragments and compares the kinds and texts of the blocks.
func TestMarkup(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ page, want string }{
		"line ends of the source are spaces":     {"<p>one\ntwo<br>three<br><br>four</p>", "[paragraph] one two\nthree\n[paragraph] four"},
		"items count as their list says":         {`<ol start=3><li>a<li value=7>b</ol><ol type=a><li>c</ol><ol reversed><li>d<li>e</ol>`, "[list_item 1] 3. a\n[list_item 1] 7. b\n[list_item 1] a. c\n[list_item 1] 2. d\n[list_item 1] 1. e"},
		"an item's number is told once":          {`<ol><li><p>a</p><p>b</p><ul><li>c</ul></ol>`, "[list_item 1] 1. a\n[list_item 1] b\n[list_item 2] c"},
		"cells that span rows are told in each":  {`<table><tr><th>A<th>B<tr><td rowspan=2>x<td>1<tr><td>2</table>`, "[table_row] A\tB\n[table_row] A: x; B: 1\n[table_row] A: x; B: 2"},
		"a cell that spans the row is told once": {`<table><tr><th>A<th>B<tr><td colspan=2>part<tr><td>1<td>2</table>`, "[table_row] A\tB\n[table_row] A: part\n[table_row] A: 1; B: 2"},
		"properties without marks are pairs":     {`<table><tr><td>Weight<td>5 kg<tr><td>Colour<td>red</table>`, "[table_row] Weight: 5 kg\n[table_row] Colour: red"},
		"heads of three rows":                    {`<table><tr><th rowspan=3>A<th colspan=4>B<tr><th colspan=2>x<th colspan=2>y<tr><th>p<th>q<th>p<th>q<tr><td>1<td>2<td>3<td>4<td>5</table>`, "[table_row] A\tB x p\tB x q\tB y p\tB y q\n[table_row] A: 1; B x p: 2; B x q: 3; B y p: 4; B y q: 5"},
		"properties are pairs":                   {`<table><tr><th>Weight<td>5 kg<tr><th>Colour<td>red</table>`, "[table_row] Weight: 5 kg\n[table_row] Colour: red"},
		"a table of layout is not there":         {`<table><tr><td><h2>H</h2><p>a</td><td><p>b</td></tr></table>`, "[heading 2] H\n[paragraph] a\n[paragraph] b"},
		"code keeps its lines and loses numbers": {`<pre><span class="lineno">1 </span>if x:` + "\n" + `<span class="lineno">2 </span>    y<button>Copy</button></pre>`, "[code] if x:\n    y"},
		"lines of code that are elements":        {`<pre><code><div>a {</div><div>  b</div><div>}</div></code></pre>`, "[code] a {\n  b\n}"},
		"a formula is told once":                 {`<p>So <span class=katex><span class=katex-mathml><math><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></math></span><span class=katex-html aria-hidden=true>x2</span></span>.</p>`, "[paragraph] So x^2 ."},
		"ruby keeps its base whole":              {`<p><ruby>接<rt>せつ</rt>続<rt>ぞく</rt></ruby>する</p>`, "[paragraph] 接続(せつぞく)する"},
		"what is hidden is not read":             {`<p>a</p><p hidden>b</p><p style="display: none">c</p><span aria-hidden=true>d</span>`, "[paragraph] a"},
		"names and dates beside each other":      {`<div><span>Ada</span><time>1 May</time></div><p><b>by</b><span>cycle</span>s</p>`, "[paragraph] Ada 1 May\n[paragraph] bycycles"},
		"details are read, open or not":          {`<details><summary>Why?</summary><p>Because.</p></details>`, "[paragraph] Why?\n[paragraph] Because."},
		"pages of scripts tell what these show":  {`<div id=app></div><noscript><p>` + strings.Repeat("The library opens at ten. ", 10) + `</p></noscript>`, "[paragraph] " + strings.TrimSpace(strings.Repeat("The library opens at ten. ", 10))},

		"parts of an amount are joined": {`<table><tr><td><td colspan=3>2020<td colspan=3>2019<tr><td>Sales<td>$<td>1,234<td><td>$<td>9,876<td><tr><td>Loss<td><td>(567<td>)<td><td>(12.5<td>)%<tr><td>Tax<td>$<td>8<td><td>$<td>9<td></table>`,
			"[table_row] 2020\t2020\t2020\t2019\t2019\t2019\n[table_row] Sales; 2020: $1,234; 2019: $9,876\n[table_row] Loss; 2020: (567); 2019: (12.5)%\n[table_row] Tax; 2020: $8; 2019: $9"},
		"marks stay apart from numbers": {`<table><tr><th>A<th>B<tr><td>x<sup>a</sup><td>12.5<sup>2</sup><tr><td>y<td>1,234<sup>(2)</sup><tr><td>z<td>7<sup>*</sup></table><p>10<sup>6</sup> m<sup>2</sup>, the 1<sup>st</sup> of 5%<sup>b</sup></p>`,
			"[table_row] A\tB\n[table_row] A: xa; B: 12.5²\n[table_row] A: y; B: 1,234 (2)\n[table_row] A: z; B: 7*\n[paragraph] 10⁶ m2, the 1st of 5%ᵇ"},

		"heads that span rows name columns with those below": {`<table><tr><th rowspan=2>A<th colspan=2>B<tr><th>x<th>y<tr><td>1<td>2<td>3</table>`, "[table_row] A\tB x\tB y\n[table_row] A: 1; B x: 2; B y: 3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "page.html", []byte("<html><body>"+tt.page))
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			_, got, _ := strings.Cut(readtest.Render(doc), "\n\n")
			if got = strings.TrimSpace(strings.ReplaceAll(got, "\n\n", "\n")); got != tt.want {
				t.Errorf("read\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestLinksOfPagesAreAbsolute(t *testing.T) {
	t.Parallel()
	doc, err := readtest.Parse(t, "page.html", []byte(`<html><head><base href="https://a.example/x/"></head><body><p>See <a href="../y?z=1">the
list</a>, <a href="#top">the top</a> and <a href="javascript:f()">a script</a>.</p></body></html>`))
	if err != nil {
		t.Fatal(err)
	}
	links := doc.Blocks[0].Links
	if len(links) != 1 || links[0].URL != "https://a.example/y?z=1" || links[0].Text != "the list" {
		t.Errorf("links = %v, want the list alone", links)
	}
}
