package console_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sluice/sluice/pkg/console"
)

// Maximum size of the embedded chat as sent.
const maxChatBytes = 15_000

func TestTheEmbeddedChatIsOneSmallScript(t *testing.T) {
	t.Parallel()
	plain, found := get(t, console.EmbedPath)
	packed, _ := get(t, console.EmbedPath, "Accept-Encoding", "gzip")
	if !found || packed.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("there is no chat: %v", packed.Header())
	}
	t.Logf("%d bytes, %d as they are sent", plain.Body.Len(), packed.Body.Len())
	if packed.Body.Len() > maxChatBytes {
		t.Errorf("the chat has %d bytes; %d are its limit", packed.Body.Len(), maxChatBytes)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if _, err := whole.ReadFrom(unpacked); err != nil || whole.String() != plain.Body.String() {
		t.Errorf("the packed file is damaged: %v", err)
	}
	for _, foreign := range []string{"import ", "export ", "import(", "innerHTML", "eval(", "/**\n"} {
		if strings.Contains(plain.Body.String(), foreign) {
			t.Errorf("the script holds %q", foreign)
		}
	}
	for header, want := range map[string]string{
		"Cross-Origin-Resource-Policy": "cross-origin", "Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=600",
		"Content-Type": "text/javascript; charset=utf-8", "X-Content-Type-Options": "nosniff",
	} {
		if got := plain.Header().Get(header); got != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
	if again, _ := get(t, console.EmbedPath, "If-None-Match", plain.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("the same script is sent again: %d", again.Code)
	}
}

// strict is the policy of a security-conscious site that embeds the chat. It allows only the script and its requests.
const strict = "default-src 'none'; script-src %[1]s; connect-src %[1]s; require-trusted-types-for 'script'; trusted-types 'none'"

// embedded is a service with a public agent, plus a site on another origin that embeds its chat.
type embedded struct {
	*service
	site  string
	agent string
}

// embed starts a service and a web site whose page has the given body. In `body`, %[1]s stands for the service's
// address and %[2]s for the agent's id.
func embed(t *testing.T, body string, answers http.HandlerFunc) *embedded {
	t.Helper()
	s := start(t)
	e := &embedded{service: s}
	called := s.base
	if answers != nil { // simulates rare responses
		stub := http.NewServeMux()
		stub.HandleFunc("POST /agents/{id}/query", answers)
		stub.HandleFunc("OPTIONS /agents/{id}/query", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
		})
		stub.HandleFunc("GET /embed/chat.js", func(w http.ResponseWriter, r *http.Request) { console.Serve(w, r) })
		server := httptest.NewServer(stub)
		t.Cleanup(server.Close)
		called = server.URL
		s.base = called
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", fmt.Sprintf(strict, called))
		fmt.Fprintf(w, `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A shop</title></head><body><main><h1>A shop</h1>`+body+`</main></body></html>`, called, e.agent)
	}))
	t.Cleanup(site.Close)
	e.site = site.URL
	if answers != nil {
		e.agent = "01a1ff5b-9089-711a-a298-ac51be28ff37"
		return e
	}
	var store, agent struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Handbook"}, &store)
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "text", "name": "Kettle <b>",
		"config": map[string]any{"text": "The kettle in the kitchen holds three litres. It was bought in May."}}, nil)
	s.settled(store.ID, 1, stepTimeout)
	s.call(http.MethodPost, "/agents", map[string]any{"name": "Support", "datastoreIds": []string{store.ID}, "visibility": "public", "allowedOrigins": []string{e.site}}, &agent)
	e.agent = agent.ID
	return e
}

const tag = `<script src="%[1]s/embed/chat.js" data-agent="%[2]s" data-heading="Ask the shop" data-greeting="Hello! **Ask** about kettles." async></script>`

// inside returns a JavaScript expression for the chat's first element that matches the selector `css`.
func inside(css string) string {
	return "document.querySelector('sluice-chat').shadowRoot.querySelector(" + quote(css) + ")"
}

// focus presses Tab until an element in the chat has the focus.
func (t *tab) focus(css string) {
	t.Helper()
	t.until(inside(css))
	for range 40 {
		if value[bool](t, `document.activeElement?.shadowRoot?.activeElement === `+inside(css)+` && `+inside(css)+` !== null`) {
			return
		}
		t.keys(kb.Tab)
	}
	t.Fatalf("Tab never comes to %s", css)
}

// TestAWebSiteEmbedsTheChat asks questions on another origin's page, using only the keyboard. The page's policy allows
// only the script and its requests.
func TestAWebSiteEmbedsTheChat(t *testing.T) {
	t.Parallel()
	e := embed(t, tag, nil)
	c := openWithSite(e.service, e.site)
	c.do("opening the page", chromedp.Navigate(e.site+"/"))
	c.focus(".launcher")
	c.keys("\r")
	c.until(`document.activeElement.shadowRoot?.activeElement?.tagName === 'TEXTAREA'`)
	if text := value[string](c, inside(".log")+`.innerText`); !strings.Contains(text, "Hello! Ask about kettles.") {
		t.Errorf("the greeting is %q", text)
	}
	c.keys("How much does the kettle hold?\r")
	c.until(inside(".cite"))
	if text := value[string](c, inside("article:last-of-type .md")+`.innerText`); !strings.Contains(text, "three litres") {
		t.Errorf("the answer is %q", text)
	}
	if said := value[string](c, inside("[role=status]")+`.textContent`); !strings.Contains(said, "three litres") {
		t.Errorf("a screen reader is told %q", said)
	}
	c.until(`document.activeElement.shadowRoot?.activeElement?.tagName === 'TEXTAREA'`) // so the user can type the next question at once

	// A citation opens its source.
	value[bool](c, inside(".log")+`.focus() ?? true`)
	c.focus(".cite")
	c.keys("\r")
	c.until(inside("details") + `.open`)
	if source := value[string](c, inside("details")+`.innerText`); !strings.Contains(source, "Kettle <b>") || !strings.Contains(source, "three litres") {
		t.Errorf("the source is %q", source)
	}

	// The conversation survives a reload and can be continued.
	c.do("reloading", chromedp.Reload())
	c.focus(".launcher")
	c.keys("\r")
	c.until(inside(".cite"))
	c.keys("And when was it bought?\r")
	c.until(inside(".log") + `.querySelectorAll('.sources').length === 2`)
	var list struct {
		Data []struct{ ID, VisitorID string }
	}
	e.call(http.MethodGet, "/conversations?agentId="+e.agent, nil, &list)
	if len(list.Data) != 1 || len(list.Data[0].VisitorID) != 32 {
		t.Fatalf("the conversations are %+v", list)
	}

	// If the conversation was deleted on the service, a new one starts.
	e.call(http.MethodDelete, "/conversations/"+list.Data[0].ID, map[string]any{}, nil)
	c.keys("How much does the kettle hold, again?\r")
	c.until(inside(".log") + `.querySelectorAll('.sources').length === 3`)

	// Escape closes the panel and returns the focus to the launcher. The new-conversation button removes the old
	// conversation.
	c.keys(kb.Escape)
	c.until(inside(".panel") + `.hidden && document.activeElement.shadowRoot?.activeElement === ` + inside(".launcher"))
	c.keys("\r")
	c.focus("header button")
	c.keys("\r")
	c.until(inside(".log") + `.querySelectorAll('article').length === 0`)
	c.do("reloading", chromedp.Reload())
	c.until(`document.querySelector('sluice-chat')?.shadowRoot.querySelector('.log') && ` + inside(".log") + `.querySelectorAll('article').length === 0`)
}

// TestAPageOfAnotherOriginShowsAnError opens the chat on an origin missing from the agent's list.
func TestAPageOfAnotherOriginShowsAnError(t *testing.T) {
	t.Parallel()
	e := embed(t, tag, nil)
	e.call(http.MethodPatch, "/agents/"+e.agent, map[string]any{"allowedOrigins": []string{"https://shop.example"}}, nil)
	c := openWithSite(e.service, e.site)
	c.hostile.Store(true)
	c.do("opening the page", chromedp.Navigate(e.site+"/"))
	c.until(`document.querySelector('sluice-chat')`)
	value[bool](c, `(globalThis.said = [], console.error = (m) => said.push(m), document.querySelector('sluice-chat').open(), true)`)
	c.keys("How much does the kettle hold?\r")
	c.until(inside("[role=alert]"))
	// The field may contain a line break, so trim its text. Unlike a keyboard, Chromium's driver first sends the Enter
	// key and then its character, and the error may appear between the two.
	if text := strings.TrimSpace(value[string](c, inside("textarea")+`.value`)); text != "How much does the kettle hold?" {
		t.Errorf("the question must be typed again: %q", text)
	}
	if said := value[string](c, `said.join(' ')`); !strings.Contains(said, e.site) || !strings.Contains(said, "allowedOrigins") {
		t.Errorf("the message for the owner of the site is %q", said)
	}
	var list struct{ Data []struct{ ID string } }
	e.call(http.MethodGet, "/conversations?agentId="+e.agent, nil, &list)
	if len(list.Data) != 0 {
		t.Errorf("the agent was asked: %+v", list)
	}
}

// TestTheChatShowsWhatModelsWriteAsText has a model write markup, addresses and scripts, split at arbitrary positions.
func TestTheChatShowsWhatModelsWriteAsText(t *testing.T) {
	t.Parallel()
	evil := `<img src=x onerror=alert(1)> [a](javascript:alert(1)) **strong** [b](https://example.com/) [1]`
	goOn := make(chan struct{})
	body := `<sluice-chat agent="%[2]s" host="%[1]s" theme="dark" words='{"ask":"Fragen"}'></sluice-chat><script src="%[1]s/embed/chat.js" async></script>`
	e := embed(t, body, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{evil[:30], evil[30:]} {
			fmt.Fprintf(w, "event: answer\ndata: %s\n\n", piece)
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-goOn:
		case <-r.Context().Done():
			return
		}
		fmt.Fprintf(w, "event: endpoint_response\ndata: {\"answer\": %q, \"conversationId\": \"c\", \"sources\": [{\"citation\": 1, \"datasource_name\": \"<script>\", \"text\": \"<b>x</b>\", \"source\": \"javascript:alert(1)\", \"page\": null, \"heading\": null}]}\n\ndata: [DONE]\n\n", evil)
	})
	c := openWithSite(e.service, e.site)
	c.do("opening the page", chromedp.Navigate(e.site+"/"))
	c.until(`document.querySelector('sluice-chat')?.shadowRoot`)
	if label := value[string](c, inside(".main")+`.textContent`); label != "Fragen" {
		t.Errorf("the button is %q", label)
	}
	value[bool](c, inside("textarea")+`.focus() ?? true`)
	c.keys("Anything\r")
	c.until(inside("strong")) // while the answer is still streaming
	close(goOn)
	c.until(inside(".sources"))
	got := value[string](c, inside("article:last-of-type")+`.getHTML()`)
	for _, gone := range []string{"<img", "<script", `href="javascript`, "<b>"} {
		if strings.Contains(got, gone) {
			t.Errorf("the answer holds %s: %s", gone, got)
		}
	}
	if !strings.Contains(got, html.EscapeString("<script>")) || !strings.Contains(got, `href="https://example.com/"`) {
		t.Errorf("the answer lacks something: %s", got)
	}
	if scheme := value[string](c, `getComputedStyle(document.querySelector('sluice-chat')).colorScheme`); scheme != "dark" {
		t.Errorf("the theme is %q", scheme)
	}
}

// TestTheChatMarksUnsupportedSentences checks a new answer, and the same answer after a reload.
func TestTheChatMarksUnsupportedSentences(t *testing.T) {
	t.Parallel()
	e := embed(t, `<sluice-chat agent="%[2]s" host="%[1]s" words='{"unsupported":"Nicht belegt."}'></sluice-chat><script src="%[1]s/embed/chat.js" async></script>`, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: answer\ndata: Ümläute. It has **90** handles [1].\n\n"+
			`event: endpoint_response`+"\n"+`data: {"answer": "Ümläute. It has **90** handles [1].", "conversationId": "c", "sources": [{"citation": 1, "datasource_name": "Kettle", "text": "Ümläute and handles", "source": "", "page": null, "heading": null, "highlights": [{"start": 0, "end": 7}]}], `+
			`"sentences": [{"start": 0, "end": 8, "support": 1, "unsupported": false, "spans": []}, {"start": 9, "end": 35, "support": 0, "unsupported": true, "spans": []}]}`+"\n\ndata: [DONE]\n\n")
	})
	c := openWithSite(e.service, e.site)
	c.do("opening the page", chromedp.Navigate(e.site+"/"))
	c.until(`document.querySelector('sluice-chat')?.shadowRoot`)
	value[bool](c, inside("textarea")+`.focus() ?? true`)
	c.keys("Anything\r")
	for _, when := range []string{"after the answer", "after a reload"} {
		c.until(inside(".sources"))
		got := value[string](c, inside("article:last-of-type")+`.getHTML()`)
		for _, part := range []string{
			`Ümläute. <mark class="unsupported" title="Nicht belegt.">It has <strong>90</strong> handles <button`, `</mark></p>`,
			`<p class="faint">Nicht belegt.</p>`, `<blockquote><mark>Ümläute</mark> and handles</blockquote>`,
		} {
			if !strings.Contains(got, part) {
				t.Errorf("%s, the answer lacks %s: %s", when, part, got)
			}
		}
		c.do("reloading", chromedp.Reload())
	}
}

// clobbering is markup that a page may let its visitors write. Its elements shadow properties of the document.
const clobbering = `<img name="currentScript" src="/other/embed/chat.js" data-agent="x"><iframe name="baseURI"></iframe><form name="body"></form>` +
	`<form name="createElement"></form><img name="addEventListener"><object name="documentElement"></object><img name="defaultView"><form id="Document" name="location"></form>`

// TestElementsOfThePageDoNotMisleadTheChat embeds the chat in a page whose elements shadow properties of the document.
// Once the script has loaded, the page also gets a base element that changes its base address.
func TestElementsOfThePageDoNotMisleadTheChat(t *testing.T) {
	t.Parallel()
	e := embed(t, clobbering+tag, nil)
	c := openWithSite(e.service, e.site)
	c.hostile.Store(true) // the page's policy blocks the image
	c.do("opening the page", chromedp.Navigate(e.site+"/"))
	c.until(`document.querySelector('sluice-chat')`)
	if value[bool](c, `document.currentScript === null || document.createElement instanceof Function`) {
		t.Error("the page hides nothing")
	}
	value[bool](c, `document.head.append(Object.assign(Document.prototype.createElement.call(document, 'base'), {href: 'http://127.0.0.2:9/'})) ?? true`)
	value[bool](c, `(document.querySelector('sluice-chat').open(), true)`)
	c.keys("How much does the kettle hold?\r")
	c.until(inside(".cite"))
	if home := value[string](c, `document.querySelector('sluice-chat').home()`); home != e.base+"/" {
		t.Errorf("the chat asks %s", home)
	}
}

// TestTheChatShowsErrors has the service reject a question, fail halfway through an answer and stop.
func TestTheChatShowsErrors(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	e := embed(t, tag, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		var question bytes.Buffer
		_, _ = question.ReadFrom(r.Body)
		switch {
		case strings.Contains(question.String(), "many"):
			w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		case strings.Contains(question.String(), "limit"):
			w.WriteHeader(http.StatusPaymentRequired)
			fmt.Fprint(w, `{"detail": "the workspace's limit is reached"}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: answer\ndata: It is \n\n")
		_ = http.NewResponseController(w).Flush()
		if strings.Contains(question.String(), "stop") {
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "data: [ERROR] the model does not answer\n\n")
	})
	c := openWithSite(e.service, e.site)
	c.do("opening the page", chromedp.Navigate(e.site+"/"))
	c.until(`document.querySelector('sluice-chat')`)
	value[bool](c, `(globalThis.said = [], console.error = (m) => said.push(m), document.querySelector('sluice-chat').open(), true)`)
	for question, want := range map[string]struct{ shown, said string }{
		"too many":  {"Try again in 7 seconds", "429"},
		"the limit": {"is not available right now", "the workspace's limit is reached"},
		"anything":  {"was interrupted", "the model does not answer"},
	} {
		value[bool](c, `(`+inside("textarea")+`.value = '', `+inside("textarea")+`.focus(), true)`)
		c.keys(question + "\r")
		c.until(inside("[role=alert]") + `?.textContent.includes(` + quote(want.shown) + `) && ` + inside("form button:not([hidden])") + `.type === 'submit'`)
		if said := value[string](c, `said.at(-1)`); !strings.Contains(said, want.said) {
			t.Errorf("%s: who keeps the site is told %q", question, said)
		}
	}
	value[bool](c, `(`+inside("textarea")+`.value = '', `+inside("textarea")+`.focus(), true)`)
	c.keys("stop\r")
	<-asked
	c.until(inside("article:last-of-type .md"))
	value[bool](c, inside("form button:not([hidden])")+`.click() ?? true`)
	c.until(inside("form button:not([hidden])") + `.type === 'submit'`)
	if text := value[string](c, inside("article:last-of-type")+`.innerText`); !strings.Contains(text, "It is") {
		t.Errorf("the received part of the answer is gone: %q", text)
	}
}

// TestAxeFindsNothingInTheChat checks the chat with axe: closed and open, empty and with an answer, in light and dark
// mode and in wide and narrow windows.
func TestAxeFindsNothingInTheChat(t *testing.T) {
	t.Parallel()
	path := os.Getenv(axeVariable)
	if path == "" {
		t.Skipf("%s is not set; make check-console sets it", axeVariable)
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e := embed(t, tag, nil)
	c := openWithSite(e.service, e.site)
	c.allow(string(axe))
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			c.in(scheme, width)
			name := fmt.Sprintf(", %s, %d wide", scheme, width)
			c.do("opening the page", chromedp.Navigate(e.site+"/"))
			c.until(`document.querySelector('sluice-chat')`)
			c.audit("the chat, closed" + name)
			value[bool](c, `(document.querySelector('sluice-chat').open(), true)`)
			c.audit("the chat, open" + name)
			c.keys("How much does the kettle hold?\r")
			c.until(inside(".cite"))
			value[bool](c, inside(".cite")+`.click() ?? true`)
			c.audit("the chat, with an answer" + name)
			if wide := value[int](c, `document.documentElement.scrollWidth`); int64(wide) > width {
				t.Errorf("the page is %d wide%s", wide, name)
			}
			value[bool](c, `(document.querySelector('sluice-chat').forget(), true)`)
		}
	}
}
