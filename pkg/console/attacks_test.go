package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
)

// attacksVariable sets how many random answers to render. It is set by make check-attacks.
const attacksVariable = "CONSOLE_ATTACKS"

// collector is an address nothing listens on. A page that sends a request there fails the test.
const collector = "http://127.0.0.3:9"

// Markup that runs a script or sends a request unless the page escapes it. The scripts set top.ran.
var markup = []string{
	`<script>top.ran=1</script>`, `<img src=x onerror=top.ran=1>`, `"><img src=` + collector + `/a onerror=top.ran=1>`, `'><svg onload=top.ran=1>`, `<svg><script>top.ran=1</script></svg>`,
	`<svg><animate onbegin=top.ran=1 attributeName=x dur=1s>`, `<iframe srcdoc="<script>top.ran=1</script>"></iframe>`, `<iframe src="javascript:top.ran=1"></iframe>`,
	`<a href="javascript:top.ran=1" autofocus onfocus=top.ran=1>go</a>`, `<details open ontoggle=top.ran=1>x</details>`, `<math><mtext><table><mglyph><style><img src=x onerror=top.ran=1></style></mglyph></table></mtext></math>`,
	`<noscript><p title="</noscript><img src=x onerror=top.ran=1>">`, `<template><img src=x onerror=top.ran=1></template>`, `<style>@import "` + collector + `/a.css";</style>`,
	`<link rel=stylesheet href=` + collector + `/b.css>`, `<meta http-equiv=refresh content="0;url=` + collector + `/">`, `<base href="` + collector + `/">`,
	`<form action=` + collector + `/><input name=key autofocus onfocus=top.ran=1></form>`, `<object data=` + collector + `/c></object>`, `<embed src=` + collector + `/d>`,
	`<video autoplay src=` + collector + `/e onerror=top.ran=1></video>`, `<audio src=` + collector + `/f>`, `<input type=image src=` + collector + `/g>`, `<body onload=top.ran=1>`, `<dialog open onclose=top.ran=1>`,
	`<!--><img src=x onerror=top.ran=1>-->`, `<![CDATA[<img src=x onerror=top.ran=1>]]>`, `</title><script>top.ran=1</script>`, `</textarea><script>top.ran=1</script>`,
	"${top.ran=1}", `{{constructor.constructor('top.ran=1')()}}`, `javascript:top.ran=1`, `__proto__`, "\u202Egpj.exe\u2066", `<div style="background:url(` + collector + `/h)">`,
	`<sluice-chat host="` + collector + `" agent="x" open></sluice-chat>`, `<img name=currentScript>`, `<form name=createElement><input name=append></form>`,
}

// Markdown that tries to run a script or send a request.
var markdowns = []string{
	`[a](javascript:top.ran=1)`, `[a](JaVaScRiPt:top.ran=1)`, "[a](java\tscript:top.ran=1)", `[a](data:text/html,<script>top.ran=1</script>)`, `[a](vbscript:x)`, `[a](blob:x)`, `![a](` + collector + `/i.png)`,
	`![a](x" onerror="top.ran=1)`, `<javascript:top.ran=1>`, "[a]: javascript:top.ran=1\n\n[a]", `[a](https://example.com/"onmouseover="top.ran=1)`, `[a](https://example.com/ "x" onclick=top.ran=1)`,
	"```\n<script>top.ran=1</script>\n```", "`<img src=x onerror=top.ran=1>`", "| <img src=x onerror=top.ran=1> | b |\n|---|---|\n| <script>top.ran=1</script> | [x](javascript:top.ran=1) |",
	`> <svg onload=top.ran=1>`, `- <img src=x onerror=top.ran=1>`, `[1](javascript:top.ran=1)`, `[![x](` + collector + `/j.png)](` + collector + `/k)`, `**<img src=x onerror=top.ran=1>**`, `# <script>top.ran=1</script>`,
	`https://example.com/"onclick=top.ran=1`, `[<img src=x onerror=top.ran=1>](https://example.com/)`, `[a](//` + strings.TrimPrefix(collector, "http://") + `/)`, `[a](https://user:` + `pass@example.com/)`,
}

// harmless is a JavaScript expression that lists the elements and attributes that could run scripts or send requests.
// If the page has none, the result is "". The expression checks the page's main and nav elements, its dialogs, the
// chat, and the frames in all of these.
const harmless = `(() => {
	const faults = window.ran ? ['a script has run'] : [];
	const look = (root, isFrame) => {
		for (const e of root.querySelectorAll('*')) {
			const shown = e.outerHTML.slice(0, 100);
			if (/^(script|object|embed|base|meta|link|style|template|video|audio|source|svg|math|frame|form)$/i.test(e.localName) && (isFrame ? !['META', 'LINK'].includes(e.tagName) || e.closest('body') : e.localName !== 'form')) faults.push(shown);
			for (const a of e.attributes) {
				if (/^on|^srcdoc$|^style$|^formaction$|^action$/i.test(a.name)) faults.push(a.name + ' in ' + shown);
				if (a.name === 'href' && !['http:', 'https:'].includes(new URL(a.value, location.href).protocol)) faults.push(shown);
				if (a.name === 'src' && !a.value.startsWith('blob:') && !a.value.startsWith(location.origin + '/')) faults.push(shown);
			}
			if (e.shadowRoot) look(e.shadowRoot, false);
			if (e.localName === 'iframe') {
				if (e.getAttribute('src') || !e.sandbox.length || e.sandbox.contains('allow-scripts')) faults.push(shown);
				else look(e.contentDocument.body, true);
			}
		}
	};
	for (const root of document.querySelectorAll('main, dialog, nav, sluice-chat')) look(root.shadowRoot ?? root, false);
	return faults.join('\n');
})()`

// mustBeHarmless fails the test if the page contains forbidden elements or has run a script.
func (t *tab) mustBeHarmless(where string) {
	t.Helper()
	if faults := value[string](t, harmless); faults != "" {
		t.Errorf("%s: %s", where, faults)
	}
}

// upload uploads a file and returns its datasource's id, or "" if the service does not support the file type.
func (s *service) upload(store, name string, content []byte) string {
	s.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for field, value := range map[string]string{"type": "file", "datastoreId": store, "fileName": name} {
		if err := form.WriteField(field, value); err != nil {
			s.Fatal(err)
		}
	}
	part, err := form.CreateFormFile("file", "file")
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		s.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.base+"/datasources", &body)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct{ ID, Detail string }
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil {
		s.Fatal(err)
	}
	if resp.StatusCode == http.StatusUnsupportedMediaType {
		return ""
	}
	if resp.StatusCode != http.StatusCreated {
		s.Fatalf("uploading %q: %s: %s", name, resp.Status, made.Detail)
	}
	return made.ID
}

// hostilePDF returns a PDF with scripts, forms and links in the document, on the page and in annotations.
func hostilePDF() []byte {
	act := func(kind, rest string) string { return "<< /S /" + kind + " " + rest + " >>" }
	uri, js := act("URI", "/URI ("+collector+"/pdf)"), act("JavaScript", `/JS (app.alert\("Key?"\); app.launchURL\("`+collector+`/js"\); this.submitForm\("`+collector+`/form"\);)`)
	return extracttest.PDF(
		"<< /Type /Catalog /Pages 2 0 R /OpenAction "+js+" /AA << /WC "+uri+" /DC "+js+" >> /Names << /JavaScript << /Names [(a) "+js+"] >> >> /AcroForm << /Fields [8 0 R] /NeedAppearances true >> >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 400] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> /AA << /O "+js+" /C "+uri+" >> /Annots [6 0 R 7 0 R 8 0 R] >>",
		extracttest.Stream("", "BT /F1 18 Tf 40 200 Td (The kettle in the kitchen holds three litres.) Tj ET"),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Annot /Subtype /Link /Rect [0 0 400 400] /A "+uri+" >>",
		"<< /Type /Annot /Subtype /Screen /Rect [0 0 400 400] /AA << /PO "+js+" /E "+uri+" >> /A "+act("Launch", "/F ("+collector+")")+" >>",
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (key) /V (sk_) /Rect [40 100 200 130] /AA << /Fo "+js+" /E "+js+" >> /A "+act("SubmitForm", "/F << /FS /URL /F ("+collector+"/form) >> /Flags 4")+" >>",
	)
}

// TestNoContentRunsScriptsOrSendsRequests stores hostile names, texts, files and pages, and has a model write hostile
// answers. It then opens all of this content in the console, next to its original, and also in the documentation and in
// the chat on another web site. Every tab checks that no request leaves the service, no dialog opens and no policy is
// violated.
func TestNoContentRunsScriptsOrSendsRequests(t *testing.T) {
	t.Parallel()
	written := strings.Join(append(append([]string{}, markup...), markdowns...), "\n\n")
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		answer, _ := json.Marshal("The kettle holds three litres [1].\n\n" + written) // cannot fail: any string can be encoded
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", answer)
		fmt.Fprint(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	e := &embedded{service: start(t, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+model.URL, "SLUICE_CHAT_MODEL=m")}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/crawled" {
			fmt.Fprintf(w, `<!doctype html><title>%s</title><h1>%s</h1><p>The kettle in the kitchen holds three litres.</p>%s`, markup[1], markup[2], written)
			return
		}
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>A shop without a policy</title><main><h1>A shop</h1></main>`+tag+`</html>`, e.base, e.agent)
	}))
	t.Cleanup(site.Close)
	e.site = site.URL

	var store, agent, text, web struct{ ID string }
	hostileName := strings.Join(markup[:6], " ") + "\u202Egpj.html"
	e.call(http.MethodPost, "/datastores", map[string]any{"name": markup[2], "description": markup[1] + markup[3]}, &store)
	e.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "text", "name": hostileName,
		"metadata": map[string]any{"source": "javascript:top.ran=1", "author": markup[2], markup[0]: markup[1]}, "config": map[string]any{"text": "The kettle holds three litres.\n\n" + written}}, &text)
	e.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "web_page", "config": map[string]any{"source_url": site.URL + "/crawled"}}, &web)
	sources := []string{text.ID, web.ID}
	for name, content := range map[string][]byte{
		markup[2] + ".html": []byte("<!doctype html><title>" + markup[1] + "</title><h1 onclick=top.ran=1>The kettle holds three litres.</h1>" + written),
		markup[1] + ".md":   []byte("# The kettle holds three litres\n\n" + written),
		"a\u202Efdp.svg":    []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="top.ran=1"><script>top.ran=1</script><image href="` + collector + `/l"/><text>The kettle</text></svg>`),
		markup[3] + ".pdf":  hostilePDF(),
	} {
		if id := e.upload(store.ID, name, content); id != "" {
			sources = append(sources, id)
		}
	}
	if len(sources) < 5 {
		t.Fatalf("%d datasources were stored", len(sources))
	}
	e.settled(store.ID, len(sources), stepTimeout)
	e.call(http.MethodPost, "/agents", map[string]any{"name": markup[2] + "\u202E", "description": markup[1], "datastoreIds": []string{store.ID}, "visibility": "public", "allowedOrigins": []string{e.site}}, &agent)
	e.agent = agent.ID
	var answer struct{ Answer, ConversationID string }
	e.call(http.MethodPost, "/agents/"+agent.ID+"/query", map[string]any{"query": "How much does the kettle hold? " + written[:1000], "visitorId": markup[0]}, &answer)
	e.call(http.MethodPost, "/keys", map[string]any{"name": markup[1], "scopes": []string{"read"}}, nil)

	t.Run("console", func(t *testing.T) { attackConsole(t, e, store.ID, answer.ConversationID, sources) })
	t.Run("documentation", func(t *testing.T) { attackDocumentation(t, e) })
	t.Run("chat", func(t *testing.T) { attackChat(t, e) })
	t.Run("answers", func(t *testing.T) { attackMarkdown(t, e) })
}

func attackConsole(t *testing.T, e *embedded, store, conversation string, sources []string) {
	c := open(&service{TB: t, base: e.base})
	c.hostile.Store(true) // the console parses web pages into hidden documents; the policy blocks their scripts and styles
	c.signIn()
	views := map[string]string{
		"#/datastores": ".cards a", "#/datastores/" + store: ".sources .chip", "#/datastores/" + store + "/search?query=kettle": ".hits td", "#/datastores/" + store + "/settings": "form",
		"#/agents": ".cards a", "#/agents/" + e.agent + "/settings": "fieldset", "#/agents/" + e.agent + "/website": "sluice-chat, .card", "#/agents/" + e.agent + "/conversations": ".cards a",
		"#/agents/" + e.agent + "/conversations/" + conversation: ".turn.assistant .md", "#/conversations": ".cards a", "#/keys": "td.actions",
		"#/datasources/%3Cimg%20src=x%20onerror=top.ran=1%3E": "[role=alert]", "#/%22onload=top.ran=1": "[role=alert]", "#/datastores/" + store + "?search=%3Cimg%20src=x%20onerror=top.ran=1%3E": ".more",
	}
	for _, id := range sources {
		views["#/datasources/"+id+"?chunk=0"] = ".original iframe, .original pre, .original img, .original .note"
	}
	for hash, there := range views {
		c.at(hash)
		c.waitVisible(there)
		c.mustBeHarmless(hash)
		if text := value[string](c, `document.title + document.body.innerText`); strings.ContainsAny(text, "\u202E\u2066") {
			t.Errorf("%s shows a mark of direction", hash)
		}
	}
	// The PDF's image is one large link within the PDF. Clicking it must do nothing.
	var pdf struct{ Data []struct{ ID string } }
	e.call(http.MethodGet, "/datasources?search=.pdf&datastoreId="+store, nil, &pdf)
	if len(pdf.Data) != 1 {
		t.Fatalf("%d PDFs are stored", len(pdf.Data))
	}
	c.at("#/datasources/" + pdf.Data[0].ID + "?chunk=0")
	c.waitVisible(".original img")
	c.until(`document.querySelector('.original img').naturalWidth > 0`)
	before := value[string](c, `location.href`)
	c.click(".original img")
	c.mustBeHarmless("the PDF")
	if after := value[string](c, `location.href`); after != before || value[int](c, `document.querySelectorAll('iframe, embed, object').length`) > 0 {
		t.Errorf("the PDF has led from %s to %s", before, after)
	}
	c.at("#/agents/" + e.agent)
	c.typeText(".ask textarea", "<img src=x onerror=top.ran=1>\r")
	c.waitVisible(".turn.assistant:not([aria-busy]) .md")
	c.mustBeHarmless("a new answer")
}

func attackDocumentation(t *testing.T, e *embedded) {
	c := open(&service{TB: t, base: e.base})
	for _, path := range []string{"/docs/api#%3Cimg%20src=x%20onerror=top.ran=1%3E", "/docs/api#javascript:top.ran=1", "/docs#%22%3E%3Cscript%3Etop.ran=1%3C/script%3E"} {
		c.reads(path)
		if value[bool](c, `window.ran !== undefined`) {
			t.Errorf("a script has run in %s", path)
		}
	}
	c.typeText("#query", `"><img src=x onerror=top.ran=1> warranty`)
	c.waitVisible("#found li")
	if value[bool](c, `window.ran !== undefined || document.querySelector('#found img') !== null`) {
		t.Error("a script has run in the search")
	}
	for _, path := range []string{"/docs/%3Cscript%3Etop.ran=1%3C/script%3E", "/docs/search.json?q=%3Cscript%3Etop.ran=1%3C/script%3E", "/datastores/%3Cscript%3Etop.ran=1%3C/script%3E"} {
		c.do("opening "+path, chromedp.Navigate(e.base+path))
		if value[bool](c, `window.ran !== undefined || document.querySelector('script') !== null`) {
			t.Errorf("a script has run in %s", path)
		}
	}
}

func attackChat(t *testing.T, e *embedded) {
	c := openWithSite(&service{TB: t, base: e.base}, e.site)
	for range 2 { // the second time, the conversation is loaded from the browser's storage
		c.do("opening the page", chromedp.Navigate(e.site+"/"))
		c.until(`document.querySelector('sluice-chat')`)
		value[bool](c, `(document.querySelector('sluice-chat').open(), true)`)
		if value[bool](c, inside(".sources")+` === null`) {
			c.keys("<img src=x onerror=top.ran=1>\r")
		}
		c.until(inside(".sources"))
		value[bool](c, inside(".sources summary")+`.click() ?? true`)
		c.mustBeHarmless("the chat")
		if shown := value[string](c, inside("article:last-of-type")+`.innerText`); !strings.Contains(shown, "<script>") {
			t.Errorf("the answer shows no markup: %.300q", shown)
		}
	}
}

// attackMarkdown renders random answers and checks that they are harmless. The answers are assembled from snippets of
// Markdown and markup.
func attackMarkdown(t *testing.T, e *embedded) {
	count := 300
	if said := os.Getenv(attacksVariable); said != "" {
		var err error
		if count, err = strconv.Atoi(said); err != nil {
			t.Fatalf("%s: %v", attacksVariable, err)
		}
	}
	pieces := append([]string{"\n", "\n\n", " ", "[", "]", "(", ")", "<", ">", "`", "```\n", "*", "**", "__", "|", "\n|-|-|\n", "# ", "> ", "- ", "1. ", "https://example.com", "javascript:", "\"", "'", "&lt;", "\\"}, append(markup, markdowns...)...)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	c := open(&service{TB: t, base: e.base})
	c.at("#/")
	c.waitVisible("input[name=key]")
	for count > 0 {
		texts := make([]string, min(count, 500))
		count -= len(texts)
		for i := range texts {
			for range 2 + random.IntN(12) {
				texts[i] += pieces[random.IntN(len(pieces))]
			}
		}
		encoded, err := json.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}
		module[bool](c, "markdown.js", "markdown", `(() => {
			const main = document.querySelector('main');
			main.replaceChildren();
			for (const text of `+string(encoded)+`) main.append(...markdown(text));
			return true;
		})()`)
		c.mustBeHarmless(fmt.Sprintf("random answers (seed %d)", seed))
	}
	// Cross-check that `harmless` does find forbidden elements.
	for _, wrong := range []string{`{tag: 'a', href: 'javascript:1'}`, `{tag: 'svg'}`, `{tag: 'iframe'}`, `{tag: 'img', src: 'data:,x'}`} {
		found := value[string](c, `(() => {
			const {tag, ...attributes} = `+wrong+`, element = document.createElement(tag);
			for (const [name, text] of Object.entries(attributes)) element.setAttribute(name, text);
			document.querySelector('main').replaceChildren(element);
			return `+harmless+`;
		})()`)
		if found == "" {
			t.Errorf("%s is not found", wrong)
		}
	}
}
