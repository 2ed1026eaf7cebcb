package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// module imports the comma-separated `imports` from the console module `name` and evaluates an expression that uses
// them.
func module[T any](t *tab, name, imports, expression string) T {
	t.Helper()
	return value[T](t, `(async () => {
		const {`+imports+`} = await import(document.querySelector('script[type=module]').src.replace('main.js', '`+name+`'));
		return `+expression+`;
	})()`)
}

func js(s string) string {
	encoded, _ := json.Marshal(s) // cannot fail: any string can be encoded
	return string(encoded)
}

func TestModules(t *testing.T) {
	t.Parallel()
	c := open(start(t))
	c.at("#/")
	c.waitVisible("input[name=key]")
	t.Run("answers are written as elements and nothing else", func(t *testing.T) { testMarkdown(t, c) })
	t.Run("hostile answers are written quickly", func(t *testing.T) { testMarkdownTime(t, c) })
	t.Run("unsupported sentences are marked", func(t *testing.T) { testUnsupported(t, c) })
	t.Run("a fragment is found in its original", func(t *testing.T) { testLocate(t, c) })
	t.Run("events are read however they are cut", func(t *testing.T) { testEvents(t, c) })
	t.Run("addresses lead to views", func(t *testing.T) { testRoutes(t, c) })
	t.Run("elements refuse what could run", func(t *testing.T) { testElements(t, c) })
}

func testMarkdown(t *testing.T, c *tab) {
	for name, test := range map[string]struct{ text, want string }{
		"paragraphs":              {"One\ntwo.\n\nThree.", "<p>One<br>two.</p><p>Three.</p>"},
		"strong, emphasis, code":  {"**a** *b* `c<d>`", "<p><strong>a</strong> <em>b</em> <code>c&lt;d&gt;</code></p>"},
		"lists in lists":          {"- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"},
		"a numbered list":         {"3. a\n4. b", `<ol start="3"><li>a</li><li>b</li></ol>`},
		"headings without an end": {"# a#\n## ###\n### C #  ", "<h3>a#</h3><h3></h3><h3>C</h3>"},
		"brackets before a link":  {"[a [b](https://example.com/)", `<p>[a <a href="https://example.com/" target="_blank" rel="noopener noreferrer nofollow">b</a></p>`},
		"code after code":         {"```\na\n```\nb\n~~~\nc\n~~~", `<pre tabindex="0"><code>a</code></pre><p>b</p><pre tabindex="0"><code>c</code></pre>`},
		"headings":                {"## A **b** ##", "<h3>A <strong>b</strong></h3>"},
		"code is not read":        {"```html\n<b>**x**</b>\n```", `<pre tabindex="0"><code>&lt;b&gt;**x**&lt;/b&gt;</code></pre>`},
		"code without an end":     {"```\nx", `<pre tabindex="0"><code>x</code></pre>`},
		"quotes":                  {"> a\n> b", "<blockquote><p>a<br>b</p></blockquote>"},
		"citations":               {"So it is [1][22].", `<p>So it is <b>1</b>[22].</p>`},
		"subscripts":              {"x[1] = 2, arr[1], m[1][1], f(a)[1], row[1].id, but dawn[1] and (so)[1].", "<p>x[1] = 2, arr[1], m[1][1], f(a)[1], row[1].id, but dawn<b>1</b> and (so)<b>1</b>.</p>"},
		"html stays text":         {"<img src=x onerror=alert(1)><script>alert(1)</script>", "<p>&lt;img src=x onerror=alert(1)&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>"},
		"links to the web":        {"[a](https://example.com/b)", `<p><a href="https://example.com/b" target="_blank" rel="noopener noreferrer nofollow">a</a></p>`},
		"links to scripts":        {"[a](javascript:alert(1)) [b](data:text/html,x)", "<p>[a](javascript:alert(1)) [b](data:text/html,x)</p>"},
		"an address by itself":    {"See https://example.com/a.", `<p>See <a href="https://example.com/a" target="_blank" rel="noopener noreferrer nofollow">https://example.com/a</a>.</p>`},
		"images are not fetched":  {"![a](https://example.com/a.png)", `<p>!<a href="https://example.com/a.png" target="_blank" rel="noopener noreferrer nofollow">a</a></p>`},
		"a table":                 {"| a | b |\n|---|---|\n| 1 | **2** |", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div>`},
		"what is half written":    {"**a *b `c [1", "<p>**a *b `c [1</p>"},
		"nesting without an end":  {strings.Repeat("> ", 50) + "a", ""},
		"stars without an end":    {strings.Repeat("*a", 2000), ""},
		"brackets without an end": {strings.Repeat("[a](", 2000), ""},
		"dashes that look a rule": {"---\na", "<hr><p>a</p>"},
	} {
		got := module[string](c, "markdown.js", "markdown", `(() => {
			const place = document.createElement('div');
			place.append(...markdown(`+js(test.text)+`, (n) => n === 1 ? Object.assign(document.createElement('b'), {textContent: n}) : null));
			return place.getHTML();
		})()`)
		if test.want != "" && got != test.want {
			t.Errorf("%s: %q is\n%s, want\n%s", name, test.text, got, test.want)
		}
	}
}

// testMarkdownTime renders texts that open many marks without closing them. If each mark were read to the end of the
// text, four times the text would take 16 times as long.
func testMarkdownTime(t *testing.T, c *tab) {
	const long, short, tries = 64_000, 16_000, 4
	for name, text := range map[string]func(n int) string{
		"dashes":                    func(n int) string { return strings.Repeat("-", n) },
		"a table's dashes":          func(n int) string { return "|\n|" + strings.Repeat("-", n) + "x" },
		"blanks in a heading":       func(n int) string { return "# a" + strings.Repeat(" ", n) + "b" },
		"signs in a heading":        func(n int) string { return "# " + strings.Repeat(" #", n/2) + "b" },
		"code blocks":               func(n int) string { return strings.Repeat("```\n", n/4) },
		"tildes":                    func(n int) string { return strings.Repeat("~~~\n", n/4) + "`" },
		"brackets":                  func(n int) string { return strings.Repeat("[", n) },
		"brackets with letters":     func(n int) string { return strings.Repeat("[a", n/2) },
		"links without an end":      func(n int) string { return strings.Repeat("[a](http://x", n/12) },
		"underlines":                func(n int) string { return strings.Repeat("__a", n/3) },
		"nested underlines":         func(n int) string { return strings.Repeat("_", n/2) + "x" + strings.Repeat("_", n/2) },
		"stars":                     func(n int) string { return strings.Repeat("*", n) },
		"stars with letters":        func(n int) string { return strings.Repeat("*a**", n/4) },
		"backticks":                 func(n int) string { return strings.Repeat("`", n) },
		"an address of marks":       func(n int) string { return "http://a" + strings.Repeat(".", n) },
		"addresses without a host":  func(n int) string { return strings.Repeat("http://", n/7) },
		"list items":                func(n int) string { return strings.Repeat("- ", n/2) },
		"lines of a list":           func(n int) string { return strings.Repeat("-\n", n/2) + "a" },
		"quotes":                    func(n int) string { return strings.Repeat(">", n) },
		"lines of quotes":           func(n int) string { return strings.Repeat("> > > > > >\n", n/12) },
		"citations":                 func(n int) string { return strings.Repeat("[1]", n/3) },
		"citations in code":         func(n int) string { return strings.Repeat("a[1]", n/4) },
		"cells":                     func(n int) string { return strings.Repeat("|", n/2) + "\n" + strings.Repeat("|-", n/4) },
		"blanks":                    func(n int) string { return strings.Repeat(" ", n) + "a" },
		"spaced dashes":             func(n int) string { return strings.Repeat("- ", n/2) + "a" },
		"a rule that is not closed": func(n int) string { return strings.Repeat("_", n) + "a" },
	} {
		for try := 1; ; try++ {
			took, before := c.renderTime(text(long)), c.renderTime(text(short))
			t.Logf("%s: %s, %s", name, took, before)
			if took < 100*time.Millisecond || took < 10*before {
				break
			}
			if try == tries {
				t.Errorf("%s: rendering %d characters takes %s, a quarter of them %s", name, long, took, before)
				break
			}
		}
	}
}

// renderTime returns the CPU time the tab's main thread needs to render a text. Other load hardly affects this.
func (c *tab) renderTime(text string) time.Duration {
	c.Helper()
	before := c.threadTime()
	module[bool](c, "markdown.js", "markdown", `markdown(`+js(text)+`).length >= 0`)
	return c.threadTime() - before
}

// threadTime returns the CPU time used by the tab's main thread.
func (c *tab) threadTime() time.Duration {
	c.Helper()
	target := chromedp.FromContext(c.ctx).Target
	_, err := cdp.Call(c.ctx, target, performance.Enable, performance.EnableParams{})
	if err != nil {
		c.Fatal(err)
	}
	result, err := cdp.Call(c.ctx, target, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		c.Fatal(err)
	}
	for _, m := range result.Metrics {
		if m.Name == "ThreadTime" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	c.Fatal("the browser does not report the time of its main thread")
	return 0
}

func testUnsupported(t *testing.T, c *tab) {
	const mark = `<mark class="unsupported" title="The sources do not support this sentence.">`
	for name, test := range map[string]struct {
		text       string
		start, end int
		want       string
	}{
		"a sentence":               {"Grüße 👩‍👧. It is **7**. End.", 11, 23, "<p>Grüße 👩‍👧. " + mark + "It is <strong>7</strong>.</mark> End.</p>"},
		"an item":                  {"- a\n- b c\n", 6, 9, "<ul><li>a</li><li>" + mark + "b c</mark></li></ul>"},
		"two lines":                {"One\ntwo.", 0, 8, "<p>" + mark + "One</mark><br>" + mark + "two.</mark></p>"},
		"half of strong text":      {"**a. b.**", 2, 5, "<p><strong>" + mark + "a. </mark>b.</strong></p>"},
		"across strong text":       {"a **b. c** d", 0, 6, "<p>" + mark + "a **b.</mark> c** d</p>"},
		"characters of the marks":  {"\uE000x\uE001 y", 4, 5, "<p>x " + mark + "y</mark></p>"},
		"more than the answer has": {"x", 0, 9, "<p>" + mark + "x</mark></p>"},
	} {
		got := module[string](c, "markdown.js", "markdown, unsupportedMarks", fmt.Sprintf(`(() => {
			const place = document.createElement('div');
			place.append(...markdown(unsupportedMarks(%s, [{start: 0, end: 1, unsupported: false}, {start: %d, end: %d, unsupported: true}]), () => null));
			return place.getHTML();
		})()`, js(test.text), test.start, test.end))
		if got != test.want {
			t.Errorf("%s: %q is\n%s, want\n%s", name, test.text, got, test.want)
		}
	}
}

func testLocate(t *testing.T, c *tab) {
	letter := "Dear Ada,\n\nthe pump has a warranty of seven years, counted from the first of May.\nIt weighs 40 kg.\n\nYours, Grace"
	long := strings.Repeat("The pump is blue. ", 5000)
	for name, test := range map[string]struct{ text, fragment, want string }{
		"word for word":              {letter, "the pump has a warranty of seven years", "the pump has a warranty of seven years"},
		"other spaces and marks":     {letter, "the pump  has a WARRANTY of\nseven years; counted", "the pump has a warranty of seven years, counted"},
		"marks in between":           {"| **Power** | 55 kW |\n| **Head** | 96 m |", "Power 55 kW Head 96 m", "Power** | 55 kW |\n| **Head** | 96 m"},
		"one word":                   {letter, "Grace", "Grace"},
		"what is not there":          {letter, "an invoice for three kettles and a teapot", ""},
		"nothing":                    {letter, "", ""},
		"in nothing":                 {"", "the pump", ""},
		"a script without spaces":    {"序文。保証期間は七年です。以上。", "保証期間は七年です", "保証期間は七年です"},
		"among much that is alike":   {long + "The green pump weighs forty kilograms in all." + long, "The green pump weighs forty kilograms in all.", "The green pump weighs forty kilograms in all."},
		"a fragment with a headline": {letter, "Warranty\n\nthe pump has a warranty of seven years, counted from the first of May.", "the pump has a warranty of seven years, counted from the first of May."},
		"a link with its headline":   {"Milk\nWarranty and service\nWarranty and service\nThe pump has a warranty of two years.\nImprint", "Warranty and service\n\nThe pump has a warranty of two years.", "Warranty and service\nThe pump has a warranty of two years."},
		"quotation marks":            {"He said: “The pump has a warranty of two years.” Then", "“The pump has a warranty of two years.”", "“The pump has a warranty of two years.”"},
	} {
		got := module[string](c, "locate.js", "locate", `(() => { const text = `+js(test.text)+`, at = locate(text, `+js(test.fragment)+`); return at ? text.slice(at.start, at.end) : ''; })()`)
		if got != test.want {
			t.Errorf("%s: found %.200q, want %q", name, got, test.want)
		}
	}
}

func testEvents(t *testing.T, c *tab) {
	stream := ": hello\n\nevent: answer\ndata: Grüße\ndata:  zwei\n\ndata\n\r\nevent: x\r\ndata: {\"a\":1}\r\n\r\nid: 7\n\ndata: cut off"
	want := `[["answer","Grüße\n zwei"],["message",""],["x","{\"a\":1}"]]`
	for _, size := range []string{"1", "2", "7", "1000"} {
		got := module[string](c, "sse.js", "events", `(async () => {
			const bytes = new TextEncoder().encode(`+js(stream)+`);
			const body = new ReadableStream({start(control) {
				for (let i = 0; i < bytes.length; i += `+size+`) control.enqueue(bytes.slice(i, i + `+size+`));
				control.close();
			}});
			const all = [];
			for await (const e of events(body)) all.push([e.name, e.data]);
			return JSON.stringify(all);
		})()`)
		if got != want {
			t.Errorf("in pieces of %s: %s, want %s", size, got, want)
		}
	}
}

func testRoutes(t *testing.T, c *tab) {
	for hash, want := range map[string]string{
		"":                      `home {}`,
		"#/":                    `home {}`,
		"#/agents/a%2Fb?x=1":    `agent {"id":"a/b"}1`,
		"#/agents/a/settings":   `tab {"id":"a","tab":"settings"}`,
		"#/agents/a/b/c":        `none`,
		"#/agents/%":            `none`,
		"#/agents/a/settings/?": `tab {"id":"a","tab":"settings"}`,
	} {
		got := module[string](c, "router.js", "match", `(() => {
			const found = match([['', 'home'], ['agents/:id', 'agent'], ['agents/:id/:tab', 'tab']], `+js(hash)+`);
			return found ? found.target + ' ' + JSON.stringify(found.params) + (found.query.get('x') ?? '') : 'none';
		})()`)
		if got != want {
			t.Errorf("%s leads to %s, want %s", hash, got, want)
		}
	}
}

func testElements(t *testing.T, c *tab) {
	for expression, want := range map[string]string{
		`h('a', {href: 'javascript:alert(1)'}, 'a')`:                                  "<a>a</a>",
		`h('a', {href: ' JavaScript:alert(1)'}, 'a')`:                                 "<a>a</a>",
		`h('a', {href: 'data:text/html,x'}, 'a')`:                                     "<a>a</a>",
		`h('a', {href: '#/x'}, '<b>')`:                                                `<a href="#/x">&lt;b&gt;</a>`,
		`h('p', {}, null, false, undefined, '', 0, ['a', [h('b')]])`:                  "<p>0a<b></b></p>",
		`h('p', {title: '"><script>', hidden: true})`:                                 `<p title="&quot;&gt;&lt;script&gt;" hidden=""></p>`,
		`away('javascript:alert(1)', 'a')`:                                            "<span>a</span>",
		"h('p', {title: 'a\\u202Eb'}, 'c\\u2067d\\u200F')":                            "<p title=\"a⟨U+202E⟩b\">c⟨U+2067⟩d\u200f</p>",
		`away('/relative', 'a')`:                                                      "<span>a</span>",
		`(() => { try { return h('p', {onclick: 'x'}) } catch { return h('i') } })()`: "<i></i>",
	} {
		if got := module[string](c, "dom.js", "h, away", expression+".outerHTML"); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
}
