package console_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestFromAnEmptyServiceToACitedAnswer goes through a new user's first steps in a browser, with a complete service.
func TestFromAnEmptyServiceToACitedAnswer(t *testing.T) {
	t.Parallel()
	c := open(start(t))

	c.at("#/")
	c.typeText("input[name=key]", "sk_wrong_0123456789\r")
	c.waitVisible("[role=alert]") // the error; the user can try again
	c.clearField("input[name=key]")
	c.typeText("input[name=key]", testKey+"\r")
	c.waitVisible("ol.steps") // the next steps

	c.typeText("input[name=name]", "Handbook\r")
	c.waitVisible(".drop")
	c.chooseFiles(documents(t, "aurora-x2-manual.pdf", "support.html"))
	// The list updates without a reload.
	c.until(`document.querySelectorAll('.sources .chip.synched').length === 2`)
	c.until(`/2 datasources/.test(document.querySelector('.counts').innerText)`)

	c.click(`.tabs a[href$="/search"]`)
	c.typeText("form.card input[type=search]", "How long is the warranty of the Aurora X2 pump?\r")
	c.waitVisible(".hits li td")
	if text := value[string](c, `document.querySelector('.hits li').innerText`); !strings.Contains(text, "7 years") || !strings.Contains(text, "BM25") {
		t.Errorf("the first fragment is shown as %q", text)
	}

	c.click(".top button.main") // creates an agent and opens its chat
	c.typeText(".ask textarea", "How long is the warranty of the Aurora X2 pump?\r")
	c.waitVisible(".cited a")
	if answer := value[string](c, `document.querySelector('.turn.assistant').innerText`); !strings.Contains(answer, "7 years") {
		t.Errorf("the answer is %q", answer)
	}
	kept := value[string](c, `location.hash`)
	if !strings.Contains(kept, "/conversations/") {
		t.Errorf("the conversation has no address: %s", kept)
	}

	c.click("a.cite")
	c.waitVisible(".chunks button[aria-pressed=true]")
	if chunk := value[string](c, `document.querySelector('.chunks button[aria-pressed=true]').innerText`); !strings.Contains(chunk, "7 years") {
		t.Errorf("the citation leads to %q", chunk)
	}
	c.waitVisible(`.original img[alt*="page 1"]`)
	c.until(`document.querySelector('.original img').naturalWidth > 500`)
	c.waitVisible(".original mark") // in the page's text, above its picture
	if page := value[string](c, `document.querySelector('.original pre').innerText`); !strings.Contains(page, "vertical multistage pump") {
		t.Errorf("the text of the page is %q", page)
	}
	if marked := value[string](c, `document.querySelector('.original mark').innerText`); !strings.Contains(marked, "7 years") || strings.Contains(marked, "vertical multistage pump") {
		t.Errorf("marked is %q", marked)
	}

	c.do("going back", chromedp.NavigateBack())
	c.waitVisible(".cited a") // the conversation is still there
	if here := value[string](c, `location.hash`); here != kept {
		t.Errorf("back leads to %s, not %s", here, kept)
	}
	c.do("reloading", chromedp.Reload())
	c.waitVisible(".cited a")
}

func documents(t testing.TB, names ...string) []string {
	t.Helper()
	for i, name := range names {
		path, err := filepath.Abs(filepath.Join("../../testdata/documents", name))
		if err != nil {
			t.Fatal(err)
		}
		names[i] = path
	}
	return names
}

// TestTheConsoleIsUsableByKeyboard creates a datastore, pastes a text and asks a question without a mouse.
func TestTheConsoleIsUsableByKeyboard(t *testing.T) {
	t.Parallel()
	c := open(start(t))
	c.at("#/")
	c.waitVisible("input[name=key]")
	c.tabTo("input[name=key]")
	c.keys(testKey + "\r")
	c.waitVisible("ol.steps")
	c.tabTo("input[name=name]")
	c.keys("Notes\r")
	c.waitVisible(".drop")
	c.tabTo(".drop .actions button:nth-of-type(3)") // the button for pasting text
	c.keys("\r")
	c.waitVisible("dialog textarea")
	c.tabTo("dialog textarea")
	c.keys("The kettle in the kitchen holds three litres.")
	c.tabTo("dialog button.main")
	c.keys("\r")
	c.until(`document.querySelector('.sources .chip.synched')`)
	if open := value[bool](c, `document.querySelector('dialog') !== null`); open {
		t.Error("the dialog is still open")
	}
	c.tabTo(".top button.main") // the button for asking a question
	c.keys("\r")
	c.waitVisible(".ask textarea")
	c.tabTo(".ask textarea")
	c.keys("How much does the kettle hold?\r")
	c.waitVisible(".cited a")
	c.tabTo(".cited a")
	c.keys("\r")
	c.waitVisible(".original mark")
	if marked := value[string](c, `document.querySelector('.original mark').textContent`); !strings.Contains(marked, "three litres") {
		t.Errorf("marked is %q", marked)
	}
	// Escape closes a dialog and returns the focus to the element that opened it.
	c.tabTo(".top .actions button:last-child")
	c.keys("\r")
	c.waitVisible("dialog")
	c.keys(kb.Escape)
	c.until(`!document.querySelector('dialog') && document.activeElement.textContent === 'Delete'`)
}

// tabTo presses Tab until the element has the focus.
func (t *tab) tabTo(css string) {
	t.Helper()
	t.waitVisible(css)
	for range 60 {
		if value[bool](t, `document.activeElement === document.querySelector(`+quote(css)+`)`) {
			return
		}
		t.keys(kb.Tab)
	}
	t.Fatalf("Tab never comes to %s", css)
}

func quote(s string) string { return "`" + s + "`" }

// TestAWebPageIsShownNextToItsChunks opens a web page's original. Its scripts must not run.
func TestAWebPageIsShownNextToItsChunks(t *testing.T) {
	t.Parallel()
	s := start(t)
	var store, source struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Pages"}, &store)
	html := `<!doctype html><title>Kettle</title><base href="http://evil.example/"><script>parent.document.title = "taken over"</script>
		<style>body { display: none }</style><h1 onclick="alert(1)">The kettle</h1><img src="http://evil.example/x.png" onerror="alert(1)" alt="A kettle">
		<p>The kettle in the kitchen holds <b>three litres</b> of water, no more.</p><iframe src="http://evil.example/"></iframe>
		<a href="javascript:alert(1)">Read on</a><p>It was bought in May of the year before last, at the corner shop.</p>`
	c := open(s)
	c.hostile.Store(true)
	c.signIn()
	c.at("#/datastores/" + store.ID)
	c.waitVisible(".drop")
	value[bool](c, `(async () => {
		const data = new DataTransfer();
		data.items.add(new File([`+quote(html)+`], 'kettle.html', {type: 'text/html'}));
		document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
		return true;
	})()`)
	c.until(`document.querySelector('.sources .chip.synched')`)
	var list struct{ Data []struct{ ID string } }
	s.call(http.MethodGet, "/datasources?datastoreId="+store.ID, nil, &list)
	source.ID = list.Data[0].ID
	c.at("#/datasources/" + source.ID + "?chunk=0")
	c.waitVisible(".original iframe")
	c.until(`document.querySelector('.original iframe').contentDocument?.querySelector('mark')`)
	if sandbox := value[string](c, `document.querySelector('.original iframe').getAttribute('sandbox')`); sandbox != "allow-same-origin" {
		t.Errorf("the frame's sandbox is %q", sandbox)
	}
	inside := value[string](c, `document.querySelector('.original iframe').contentDocument.documentElement.getHTML()`)
	for _, gone := range []string{"script", "evil.example", "onclick", "onerror", "javascript:", "<img", "<iframe"} {
		if strings.Contains(inside, gone) {
			t.Errorf("the frame holds %s: %s", gone, inside)
		}
	}
	if !strings.Contains(inside, "[A kettle]") || !strings.Contains(inside, "<b>") {
		t.Errorf("the frame lacks what the page has: %s", inside)
	}
	if title := value[string](c, `document.title`); strings.Contains(title, "taken over") {
		t.Error("the page's script has run")
	}
}

// TestALinkCanSignIn opens a sign-in link like the one in the demo. The key must disappear from the address bar and
// must not replace the key of a user who is already signed in.
func TestALinkCanSignIn(t *testing.T) {
	t.Parallel()
	c := open(start(t))
	c.at("#/usage?key=" + testKey)
	c.waitVisible("meter, td")
	if here := value[string](c, `location.href`); strings.Contains(here, "key") {
		t.Errorf("the key is still in %s", here)
	}
	c.at("#/keys?key=sk_of_somebody_else_0123456789")
	c.waitVisible("td.actions")
	if kept := value[string](c, `sessionStorage.getItem('sluice.key')`); kept != testKey {
		t.Errorf("the link has signed in another: %s", kept)
	}
	c.click("nav button") // the button for signing out
	c.waitVisible("input[name=key]")
	c.click("input[name=stay]")
	c.typeText("input[name=key]", testKey+"\r")
	c.waitVisible("#nav")
	if kept := value[string](c, `localStorage.getItem('sluice.key') + ' ' + sessionStorage.getItem('sluice.key')`); kept != testKey+" null" {
		t.Errorf("after signing in for good, the stored key is %s", kept)
	}
}

// TestADatasourceIsEdited edits a text and its metadata in the view that displays the text.
func TestADatasourceIsEdited(t *testing.T) {
	t.Parallel()
	s := start(t)
	var store, source struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Notes"}, &store)
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "text", "name": "Kettle", "metadata": map[string]any{"team": "kitchen"},
		"config": map[string]any{"text": "The kettle holds three litres."}}, &source)
	s.settled(store.ID, 1, stepTimeout)
	c := open(s)
	c.signIn()
	c.at("#/datasources/" + source.ID)
	edit := func(change string) {
		c.click(".top .actions button:nth-of-type(2)")
		c.waitVisible("dialog form")
		value[bool](c, `(() => { const [name, text, metadata] = document.querySelectorAll('dialog input, dialog textarea'); `+change+`; document.querySelector('dialog form').requestSubmit(); return true; })()`)
	}
	edit(`metadata.value = '[1]'`)
	c.waitVisible("dialog .problem")
	c.keys(kb.Escape)
	c.until(`!document.querySelector('dialog')`)
	edit(`name.value = 'The kettle'; metadata.value = '{"team": "canteen"}'`)
	c.until(`document.querySelector('h1').textContent === 'The kettle' && /canteen/.test(document.querySelector('.facts').innerText) && document.querySelector('.card .chip.synched')`)
	edit(`text.value = 'The kettle holds five litres.'`)
	c.until(`!document.querySelector('dialog')`)
	s.settled(store.ID, 1, stepTimeout)
	c.do("reloading", chromedp.Reload())
	c.until(`/five litres/.test(document.querySelector('.chunks')?.innerText)`)
	var read struct {
		Name     string
		Metadata map[string]any
	}
	s.call(http.MethodGet, "/datasources/"+source.ID, nil, &read)
	if read.Name != "The kettle" || read.Metadata["team"] != "canteen" {
		t.Errorf("the datasource is %+v", read)
	}
}

// TestTheConsoleOffersActionsAllowedByTheKey signs in with a read-only key and with a key that can only query one
// agent.
func TestTheConsoleOffersActionsAllowedByTheKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	var store, agent struct{ ID string }
	var reader, asker struct{ Key string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Notes"}, &store)
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "text", "name": "Kettle", "config": map[string]any{"text": "The kettle in the kitchen holds three litres."}}, nil)
	s.settled(store.ID, 1, stepTimeout)
	s.call(http.MethodPost, "/agents", map[string]any{"name": "Support", "datastoreIds": []string{store.ID}}, &agent)
	s.call(http.MethodPost, "/keys", map[string]any{"name": "r", "scopes": []string{"read"}}, &reader)
	s.call(http.MethodPost, "/keys", map[string]any{"name": "q", "scopes": []string{"query"}, "agentId": agent.ID}, &asker)

	c := open(s)
	c.at("#/")
	c.typeText("input[name=key]", reader.Key+"\r")
	c.waitVisible(".cards a")
	c.at("#/datastores/" + store.ID)
	c.waitVisible(".sources .source")
	if offers := value[string](c, `document.body.innerText`); strings.Contains(offers, "Drop files") || strings.Contains(offers, "Keys") || strings.Contains(offers, "Settings") {
		t.Errorf("a key that may only read is offered: %s", offers)
	}
	c.click("nav button") // the button for signing out
	c.waitVisible("input[name=key]")

	c.typeText("input[name=key]", asker.Key+"\r")
	c.waitVisible(".ask textarea")
	if places := value[string](c, `document.querySelector('#nav').innerText.replace(/\s+/g, ' ')`); places != "Ask Docs Sign out" {
		t.Errorf("a key that may only ask is offered %q", places)
	}
	c.typeText(".ask textarea", "How much does the kettle hold?\r")
	c.waitVisible(".cited li")
	c.click("button.cite")
	c.waitVisible(".cited details[open] .quote")
	if links := value[int](c, `document.querySelectorAll('main a[href*="datasources"]').length`); links != 0 {
		t.Errorf("%d links lead to what the key may not read", links)
	}
	c.at("#/keys") // opens the same chat, not an error
	c.waitVisible(".ask textarea")
}

// TestAnAgentIsEmbeddedInAWebSite makes an agent public, adds a site's origin and tries the chat.
func TestAnAgentIsEmbeddedInAWebSite(t *testing.T) {
	t.Parallel()
	s := start(t)
	var agent struct{ ID string }
	s.call(http.MethodPost, "/agents", map[string]any{"name": `Ask "us" & <more>`}, &agent)
	c := open(s)
	c.signIn()
	c.at("#/agents/" + agent.ID + "/website")
	c.waitVisible(`.tabs a[href$="/website"][aria-current=page]`)
	c.click("main .card button.main") // the button that makes the agent public
	c.waitVisible("sluice-chat")
	c.typeText("main textarea", "shop.example")
	c.click("main form button.main")
	c.until(`document.querySelector('main .problem')?.textContent.startsWith('Line 1 is "shop.example"')`)
	value[bool](c, `(document.querySelector('main textarea').value = 'https://shop.example\nhttp://localhost:3000/', true)`)
	c.click("main form button.main")
	c.until(`document.querySelector('main textarea')?.value === 'https://shop.example\nhttp://localhost:3000'`)
	script := `<script src="` + s.base + `/embed/chat.js" data-agent="` + agent.ID + `" data-heading="Ask &quot;us&quot; &amp; &lt;more&gt;"`
	embedCode := func() string { return value[string](c, `document.querySelector('main pre').innerText`) }
	if got, want := embedCode(), script+" async></script>"; got != want {
		t.Errorf("the embed code is %s, want %s", got, want)
	}
	value[bool](c, `[['select', 'dark', 'change'], ['input[type=color]', '#7a1f5c', 'input']].every(([field, value, event]) => {
		const e = document.querySelector('main ' + field);
		e.value = value;
		return e.dispatchEvent(new Event(event, {bubbles: true}));
	})`)
	want := script + ` data-theme="dark" data-accent="#7a1f5c" async></script>`
	if got := embedCode(); got != want {
		t.Errorf("the embed code with a look is %s, want %s", got, want)
	}
	// The chat's colours must still be in the embed code after the list of allowed web sites is saved, and after the
	// page is reloaded.
	value[bool](c, `(document.querySelector('main textarea').value = '*', true)`)
	c.click("main form button.main")
	c.until(`document.querySelector('main .card')?.innerText.includes('Every website can show the chat.')`)
	if got := embedCode(); got != want {
		t.Errorf("after saving, the embed code is %s, want %s", got, want)
	}
	c.do("reloading", chromedp.Reload())
	c.until(`document.querySelector('main pre')?.innerText === ` + quote(want))
	value[bool](c, inside("textarea")+`.focus() ?? true`)
	c.keys("How much does the kettle hold?\r")
	c.until(inside("article:last-of-type:not([aria-busy]) .md"))
}
