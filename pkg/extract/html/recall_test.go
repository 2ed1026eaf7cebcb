package html_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

// prose returns a paragraph of n sentences. Each contains the given word.
func prose(n int, word string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Sentence %d says that the %s turns slowly under the old bridge. ", i, word)
	}
	return "<p>" + b.String() + "</p>"
}

// textOf reads a page and returns its blocks, one per line.
func textOf(t *testing.T, page string) string {
	t.Helper()
	doc, err := readtest.Parse(t, "page.html", []byte(page))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	var b strings.Builder
	for _, bl := range doc.Blocks {
		fmt.Fprintf(&b, "[%s] %s\n", bl.Kind, bl.Text)
	}
	return b.String()
}

// wantText checks that a page's text contains each word marked with "+" and no word marked with "-".
func wantText(t *testing.T, page string, words ...string) {
	t.Helper()
	text := textOf(t, page)
	for _, w := range words {
		if has := strings.Contains(text, w[1:]); has != (w[0] == '+') {
			t.Errorf("%q in the text: %v\n%s", w[1:], has, text)
		}
	}
}

// TestASectionIsNotDroppedForItsName gives content sections the ids and classes that themes use for boilerplate.
func TestASectionIsNotDroppedForItsName(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields(`cookies cookie-banner gdpr pagination breadcrumbs sharing social-links newsletter signup login navbar navigation
		sidebar footer related-links related-articles recommended table-of-contents toc search-form source-file skip-link advertising ads promo widget
		comments author-bio feedback vote masthead announcement-bar print-only noprint catlinks navbox hatnote read-next prev-next modal popup menu
		signature subscribe tags toolbar actions editsection related`) {
		for _, element := range []string{`<section id="%s"><h2>Part</h2>%s</section>`, `<div class="%s">%s</div>`, `<div class="%[1]s" id="%[1]s"><h3>Part</h3>%[2]s</div>`} {
			for _, generator := range []string{"", `<meta name="generator" content="Sphinx 7">`} {
				part := fmt.Sprintf(element, name, "<p>The needle is in it.</p>")
				page := "<head>" + generator + "</head><body><main><h1>Guide</h1>" + prose(8, "wheel") + part + prose(8, "mill") + "</main></body>"
				wantText(t, page, "+needle", "+wheel", "+mill")
			}
		}
	}
}

func TestContentThatAReaderCanRevealIsRead(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"an answer behind a heading":              `<h3>How?</h3><div style="height:0; display: none">` + prose(1, "needle") + `</div>`,
		"an answer behind a button":               `<div class=q><button aria-expanded="false" aria-controls="a1">How do I turn it?</button><div id="a1" hidden>A needle.</div></div>`,
		"an answer behind a button in a heading":  `<h3><button aria-expanded="false">How do I turn it?</button></h3><div hidden><p>A needle.</p></div>`,
		"a row of questions that are divisions":   `<div class=f><div class=q>Turning it</div><div class=a style="display:none">A needle.</div></div><div class=f><div class=q>More</div><div class=a style="display:none">Much.</div></div>`,
		"a question without a heading":            `<div>How do I turn it?</div><div hidden>A needle.</div>`,
		"a definition list that opens":            `<dl><dt>Wheel</dt><dd hidden>A needle.</dd></dl>`,
		"an answer hidden from screen readers":    `<h3>How do I turn it?</h3><div aria-hidden="true"><span>A needle.</span></div>`,
		"panels of tabs with roles":               `<div role=tablist><button role=tab>pip</button><button role=tab>conda</button></div><div role=tabpanel>a</div><div role=tabpanel hidden>needle</div>`,
		"panels of tabs that links open":          `<ul><li><a href="#t1">pip</a></li><li><a href="#t2">conda</a></li></ul><div class="pane on" id=t1>a</div><div class=pane id=t2 style="display:none">needle</div>`,
		"panels of tabs without any sign":         `<div class="pane">a</div><div class="pane" style="display:none">needle</div>`,
		"a dialog in the content":                 `<button>Details</button><dialog id=d><h3>Details</h3><p>A needle.</p><button>Close</button></dialog>`,
		"a collapsed part that data-target opens": `<a class=btn role=button data-bs-target="#c1">More about it</a><div class=collapse id=c1 style="display:none">A needle.</div>`,
		"a script that shows an element":          `<button onclick="flip('x1')">show</button><div id="x1" style="display:none">A needle.</div>`,
		"what stands there without scripts":       `<noscript><h2>Table</h2><p>A needle.</p></noscript>`,
		"a declarative shadow tree":               `<my-card><template shadowrootmode="open"><p>A needle.</p></template></my-card>`,
		"a slot of a shadow tree":                 `<my-card><template shadowrootmode="open"><h3><slot name=t>none</slot></h3></template><span slot=t>needle</span></my-card>`,
		"a part that its class says to be opened": `<div class=expand-control>Click to expand</div><div class=expand-content style="display:none">A needle.</div>`,
		"an answer behind a button with a word":   `<button>Turning</button><div hidden>The needle is turned by the wheel below the bridge.</div>`,
		"an answer in a wrapper":                  `<dl><dt>Turning</dt><dd><div style="display:none">A needle.</div></dd></dl>`,
		"an answer below a header":                `<article><header><h3>Turning</h3></header><div class=b><div hidden>A needle.</div></div></article>`,
		"a row of a table":                        `<table><tr><td><button>How?</button></td></tr><tr style="display:none"><td>A needle.</td></tr></table>`,
		"the rest of a text":                      `<p>It turns.</p><div hidden>A needle.</div><button>Read more</button>`,
		"the rest of a paragraph":                 `<p>It turns<span>…</span><span style="display:none"> and turns a needle, which the miller shows to everybody.</span></p><button onclick="f()">Read more</button>`,
		"the rest of a list":                      `<ul><li>One</li><li style="display:none">needle</li><li style="display:none">three</li></ul><a href="#">Show all</a>`,
		"the rest of a table":                     `<table><tr><td>One</td></tr><tr hidden><td>needle</td></tr></table><button>Alle anzeigen</button>`,
		"code in another language":                `<pre class=py>turn()</pre><pre class=js style="display:none">needle()</pre>`,
		"a picture of a page without scripts":     `<noscript><img src=a.png alt="A needle of the big wheel"></noscript>`,
		"a button that describes":                 `<button><b>200</b><div>A needle was found</div></button>`,
		"details that are closed":                 `<details><summary>More</summary><p>A needle.</p></details>`,
	}
	for name, part := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, wrap := range []string{"<main>%s</main>", "%s"} {
				wantText(t, "<body>"+fmt.Sprintf(wrap, "<h1>Guide</h1>"+prose(4, "wheel")+part+prose(4, "mill"))+"</body>", "+needle", "+wheel", "+mill")
			}
		})
	}
	page := "<body><h1>Guide</h1>" + prose(4, "wheel")
	wantText(t, page+tests["an answer behind a button"], "+How do I turn it?")
	wantText(t, page+tests["an answer behind a button in a heading"], "+[heading] How do I turn it?")
	wantText(t, page+tests["a slot of a shadow tree"], "+[heading] needle", "-none")
}

func TestPermanentlyHiddenContentIsNotRead(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"a menu that a button opens":              `<button aria-controls=m1>Main menu</button><div id=m1 hidden><ul><li><a href=/a>Flood one</a><li><a href=/b>Flood two</a><li><a href=/c>Flood three</a></ul></div>`,
		"a form to log in":                        `<button data-target="#l1">Log in here</button><div id=l1 class=modal style="display:none"><h3>Flood</h3><p>Your name.</p><input name=u><input type=password></div>`,
		"a request for consent":                   `<div class=bar style="display:none"><p>Flood: we use cookies.</p><button>Yes</button><button>No</button></div>`,
		"a dialog that asks for consent":          `<dialog open><h2>Flood</h2><p>We use cookies to know you better.</p><button>Accept</button><button>Reject</button></dialog>`,
		"a dialog with a form":                    `<dialog><h2>Flood</h2><p>Our letter comes weekly.</p><form><input type=email><button>Go</button></form></dialog>`,
		"a modal of a script":                     `<div class=modal role=dialog aria-modal=true aria-hidden=true><p>Flood: subscribe to our letter.</p><button>Close</button></div>`,
		"a notice that asks for scripts":          `<noscript>Flood: please switch JavaScript on.</noscript>`,
		"a pixel that counts":                     `<noscript><img src="https://count.example/f.gif" alt=""></noscript>`,
		"a paragraph":                             `<p hidden>Flood</p>`,
		"a template":                              `<template><p>Flood</p></template>`,
		"a message of a short button":             `<button>Copy</button><div hidden>Flood: copied!</div>`,
		"a message before a button":               `<p>x</p><div hidden>Flood: thank you for your message.</div><button>Send</button>`,
		"a form below its own more":               `<form><div hidden>Flood: leave this empty, it is for robots.</div><button>Show more</button></form>`,
		"a button with an icon":                   `<button><div>Flood</div></button>`,
		"a message of a form":                     `<form><input name=q><div style="display:none">Flood: thank you!</div></form>`,
		"a message that stands alone":             `<div style="display:none">Flood: nothing found</div>`,
		"a dialog beside the content of the page": `</main><dialog><p>Flood: our offers.</p></dialog><main hidden>`,
	}
	for name, part := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, "<body><main><h1>Guide</h1>"+prose(4, "wheel")+part+"</main></body>", "-Flood", "+wheel")
		})
	}
}

// TestBoilerplateIsRecognisedByStructure reads pages without main or nav elements and without meaningful ids or
// classes.
func TestBoilerplateIsRecognisedByStructure(t *testing.T) {
	t.Parallel()
	menu := `<div class=x1><ul><li><a href=/1>Flood one</a><li><a href=/2>Flood two</a><li><a href=/3>Flood three</a><li><a href=/4>Flood four</a></ul></div>`
	content := `<div class=x2><h1>Guide</h1>` + prose(6, "wheel") + `<h2>See also</h2><ul><li><a href=/5>needle one</a><li><a href=/6>needle two</a><li><a href=/7>needle three</a><li><a href=/8>four</a></ul></div>`
	banner := `<div class=x3><p>Flood: we use cookies on this site.</p><button>Accept</button><button>Choose</button></div>`
	for name, page := range map[string]string{
		"a menu before the content":             menu + content,
		"a menu behind it":                      content + menu,
		"both in a table of layout":             `<table><tr><td>` + menu + `</td><td>` + content + `</td></tr></table>`,
		"a request for consent before it":       banner + content,
		"a request for consent behind it":       content + banner,
		"a list of the headings of the page":    `<div class=x2><h1>Guide</h1><div class=x5><b>Flood</b><ul><li><a href="#a">Turning</a><li><a href="#b">Stopping</a><li><a href="#c">Cleaning</a></ul></div><h2 id=a>Turning</h2>` + prose(2, "wheel") + `<h2 id=b>Stopping</h2>` + prose(2, "needle") + `<h2 id=c>Cleaning</h2>` + prose(2, "needle") + `</div>`,
		"a list of links in the content":        content,
		"the headers and footers of DocBook":    `<div class=navheader><table><tr><th>Flood</th></tr><tr><td><a href=p>Prev</a></td></tr></table></div><div class=sect1><h2>Guide</h2>` + prose(3, "wheel") + `<p>needle</p></div><div class=navfooter><table><tr><td><a href=n>Flood</a></td></tr></table></div>`,
		"a page that is a list of links":        menu + `<div class=x2><h1>Index</h1><p>All of the wheel and its parts.</p><ul>` + strings.Repeat(`<li><a href=/n>needle and some other words</a>`, 30) + `</ul></div>`,
		"a long list of links behind the title": menu + `<div class=x2><h1>wheel</h1></div><div class=x6><ul>` + strings.Repeat(`<li><a href=/n>needle and some other words</a>`, 30) + `</ul></div>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, "<body>"+page+"</body>", "+needle", "+wheel", "-Flood")
		})
	}
}

func TestTheArticleIsNotTakenForAComment(t *testing.T) {
	t.Parallel()
	remark := `<article class="comment"><p>` + strings.Repeat("This comment is much longer than the text. ", 40) + `</p></article>`
	for name, page := range map[string]string{
		"a thread without a main element": `<div class=t><h1>Thread</h1><div class=p><p>The needle asks why.</p></div>` + remark + `</div>`,
		"an article with a long comment": `<head><meta property="og:type" content="article"></head><article><h1>Title</h1>` + prose(5, "needle") + `</article>` +
			`<section id=comments>` + strings.Repeat(remark, 3) + `</section>`,
		"an article in a division of an unusual class": `<head><meta property="og:type" content="article"></head><div class="zx-12 sponsored-frame" itemprop="articleBody">` +
			prose(20, "needle") + `</div><div class="entry-content">` + prose(3, "other") + `</div>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, page, "+needle")
		})
	}
}

func TestLinkedDataReplacesMissingContent(t *testing.T) {
	t.Parallel()
	faq := `<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"Organization","name":"Mill Ltd."},{"@type":"FAQPage","mainEntity":[` +
		`{"@type":"Question","name":"Why does it turn?","acceptedAnswer":{"@type":"Answer","text":"<p>The <b>river</b> turns it.</p>"}}]}]}</script>`
	product := `<script type="application/ld+json">{"@type":"Product","name":"Pump X2","description":"A pump for cold wells.","image":"https://a.example/x.jpg",` +
		`"brand":{"@type":"Brand","name":"Aurora"},"offers":{"@type":"Offer","price":12.5,"priceCurrency":"EUR"}}</script>`
	wantText(t, faq, "+[heading] Why does it turn?", "+[paragraph] The river turns it.", "-Mill Ltd.")
	wantText(t, product, "+[heading] Pump X2", "+[paragraph] A pump for cold wells.", "+price: 12.5", "+price currency: EUR", "+brand: Aurora", "-x.jpg")
	for _, hidden := range []string{"/*<![CDATA[*/%s/*]]>*/", "//<![CDATA[\n%s\n//]]>", "<!--\n%s\n//-->", "<![CDATA[%s]]>"} {
		wantText(t, `<script type="application/ld+json">`+fmt.Sprintf(hidden, `{"@type":"Article","headline":"Mills","articleBody":"The	river turns it."}`)+`</script>`, "+The river turns it.")
	}
	wantText(t, faq+"<main><h1>Guide</h1>"+prose(4, "wheel")+"</main>", "+wheel", "-river")
}

func TestScriptRenderedPagesAreRead(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"the body":              `<body style="display: none"><h1>Guide</h1>` + prose(4, "needle") + `</body>`,
		"an element of the app": `<body><div id=app style="visibility:hidden"><h1>Guide</h1>` + prose(4, "needle") + `</div><div>Loading…</div></body>`,
		"an element in another": `<body hidden><div id=page style="display:none"><h1>Guide</h1>` + prose(4, "needle") + `</div></body>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, page, "+needle", "+Guide")
		})
	}
	wantText(t, `<body><div class=m hidden><a href=/1>Flood</a></div><h1>Guide</h1>`+prose(4, "wheel")+`</body>`, "+wheel", "-Flood")
}

func TestTheMainPartMayBeInPieces(t *testing.T) {
	t.Parallel()
	menu := `<div><a href=/1>Flood one</a> <a href=/2>Flood two</a> <a href=/3>Flood three</a></div>`
	wantText(t, `<body>`+menu+`<main><h1>Guide</h1>`+prose(3, "wheel")+`</main><main><h2>More</h2>`+prose(4, "needle")+`</main></body>`, "+wheel", "+needle", "+More", "-Flood")
	wantText(t, `<body><section><div>`+menu+`</div><h2>Paying</h2><article>`+prose(4, "needle")+`</article></section></body>`, "+[heading] Paying", "+needle", "-Flood")
	wantText(t, `<body><div><h3>Flood</h3>`+menu+`</div><article>`+prose(4, "needle")+`</article></body>`, "+needle", "-Flood")
	wantText(t, `<table><tr><td><a href=/1>Flood one</a><br><a href=/2>Flood two</a><br><a href=/3>Flood three</a></td><td><b>Guide</b><br>`+prose(4, "needle")+`</td></tr></table>`, "+needle", "-Flood")
}
