package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/sluice/sluice/testdata/site"
)

// axeVariable is the environment variable for the path to axe-core (axe.min.js), which make check-console downloads.
const axeVariable = "CONSOLE_AXE"

// view describes one of the console's views and how to open it.
type view struct {
	hash    string
	visible string // selector of an element that becomes visible with the view
	open    func(c *tab)
}

// filledService starts a service in which every view has content.
func filledService(t *testing.T) (*service, map[string]view) {
	t.Helper()
	s := start(t)
	pages := httptest.NewServer(site.Handler())
	t.Cleanup(pages.Close)
	var store, agent, public, text, broken, web struct{ ID string }
	var answer struct{ ConversationID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Handbook", "description": "All about pumps", "visibility": "public"}, &store)
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "text", "name": "Kettle", "metadata": map[string]any{"team": "kitchen"},
		"config": map[string]any{"text": "The kettle in the kitchen holds three litres.\n\nIt was bought in May."}}, &text)
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "web_page", "config": map[string]any{"source_url": pages.URL + "/nothing-here"}}, &broken)
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "web_site", "config": map[string]any{"source_url": pages.URL + "/", "max_pages": 3}}, &web)
	s.settled(store.ID, 4, stepTimeout)
	s.call(http.MethodPost, "/agents", map[string]any{"name": "Support", "datastoreIds": []string{store.ID}}, &agent)
	s.call(http.MethodPost, "/agents/"+agent.ID+"/query", map[string]any{"query": "How much does the kettle hold?"}, &answer)
	s.call(http.MethodPost, "/agents", map[string]any{"name": "Shop", "visibility": "public"}, &public)
	s.call(http.MethodPost, "/keys", map[string]any{"name": "Website", "scopes": []string{"read"}, "limits": map[string]any{"queries": 100}}, nil)
	s.call(http.MethodPut, "/usage/limits", map[string]any{"queries": 1000}, nil)
	pressed := func(css string) func(*tab) {
		return func(c *tab) {
			c.click(css)
			c.waitVisible("dialog")
		}
	}
	return s, map[string]view{
		"datastores":           {hash: "#/datastores", visible: ".cards .chip"},
		"a new datastore":      {hash: "#/datastores", visible: ".cards .chip", open: pressed(".top button")},
		"content":              {hash: "#/datastores/" + store.ID, visible: ".sources .why"},
		"filtered content":     {hash: "#/datastores/" + store.ID + "?status=error", visible: ".more button"},
		"nothing that matches": {hash: "#/datastores/" + store.ID + "?search=nothing", visible: ".more"},
		"pasting text":         {hash: "#/datastores/" + store.ID, visible: ".drop", open: pressed(".drop button:nth-of-type(3)")},
		"a crawl's plan": {hash: "#/datastores/" + store.ID, visible: ".drop", open: func(c *tab) {
			pressed(".drop button:nth-of-type(5)")(c)
			c.typeText("dialog input[type=url]", pages.URL+"/")
			c.click("dialog form > button")
			c.waitVisible("dialog table")
			c.waitVisible("dialog .problem a[href='#/datasources/" + web.ID + "']") // the preview says that the site is there
			c.until(`/ would be refreshed/.test(document.querySelector('dialog [role=status]')?.textContent)`)
		}},
		"a site that is there": {hash: "#/datastores/" + store.ID, visible: ".drop", open: func(c *tab) {
			pressed(".drop button:nth-of-type(5)")(c)
			c.typeText("dialog input[type=url]", pages.URL+"/")
			c.click("dialog .main")
			c.waitVisible("dialog .problem a[href='#/datasources/" + web.ID + "']")
		}},
		"search":             {hash: "#/datastores/" + store.ID + "/search?query=kettle", visible: ".hits td"},
		"datastore settings": {hash: "#/datastores/" + store.ID + "/settings", visible: "form"},
		"deleting":           {hash: "#/datastores/" + store.ID + "/settings", visible: "form", open: pressed("main .card > .actions button:last-child")},
		"a text":             {hash: "#/datasources/" + text.ID + "?chunk=0", visible: ".original mark"},
		"a failed page":      {hash: "#/datasources/" + broken.ID, visible: ".card .problem"},
		"a site":             {hash: "#/datasources/" + web.ID, visible: ".card h2"},
		"agents":             {hash: "#/agents", visible: ".cards a"},
		"a chat":             {hash: "#/agents/" + agent.ID, visible: ".ask textarea"},
		"a conversation":     {hash: "#/agents/" + agent.ID + "/conversations/" + answer.ConversationID, visible: ".cited a"},
		"agent settings":     {hash: "#/agents/" + agent.ID + "/settings", visible: "fieldset"},
		"a private web site": {hash: "#/agents/" + agent.ID + "/website", visible: ".card button.main"},
		"a web site":         {hash: "#/agents/" + public.ID + "/website", visible: "sluice-chat"},
		"editing a text":     {hash: "#/datasources/" + text.ID, visible: ".original pre", open: pressed(".top .actions button:nth-of-type(2)")},
		"its conversations":  {hash: "#/agents/" + agent.ID + "/conversations", visible: ".cards a"},
		"conversations":      {hash: "#/conversations", visible: ".cards a"},
		"keys":               {hash: "#/keys", visible: "td.actions"},
		"a key shown once": {hash: "#/keys", visible: "td.actions", open: func(c *tab) {
			pressed(".top button")(c)
			c.typeText("dialog input", "Another\r")
			c.waitVisible("dialog .secret")
		}},
		"usage":        {hash: "#/usage", visible: "meter"},
		"no such page": {hash: "#/nowhere", visible: "[role=alert]"},
	}
}

// show opens the view v. The tab must already be signed in.
func (t *tab) show(v view) {
	t.Helper()
	t.at("#/usage") // so that the next address is a different view and is rendered from scratch
	t.waitVisible("meter, [role=alert]")
	t.at(v.hash)
	t.waitVisible(v.visible)
	if v.open != nil {
		v.open(t)
	}
}

// in makes the tab emulate the colour scheme `scheme` and a window of the given width.
func (t *tab) in(scheme string, width int64) {
	t.Helper()
	t.do("sizing the window", chromedp.EmulateViewport(width, 800))
	_, err := cdp.Call(t.ctx, chromedp.FromContext(t.ctx).Target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsWiderThanAPhone opens every view in a window the width of a small phone.
func TestNothingIsWiderThanAPhone(t *testing.T) {
	t.Parallel()
	s, views := filledService(t)
	c := open(s)
	c.in("light", 360)
	c.signIn()
	for name, v := range views {
		c.show(v)
		if wide := value[int](c, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d pixels wide: %s", name, wide, value[string](c, `[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > 361 && !e.closest('.scroll')).map(e => e.outerHTML.slice(0, 80)).slice(0, 5).join('\n')`))
		}
	}
}

// TestAxeFindsNothing checks every view with axe, in light and dark mode and in wide and narrow windows.
func TestAxeFindsNothing(t *testing.T) {
	t.Parallel()
	path := os.Getenv(axeVariable)
	if path == "" {
		t.Skipf("%s is not set; make check-console sets it", axeVariable)
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	empty := open(start(t))
	empty.allow(string(axe))
	empty.at("#/")
	empty.waitVisible("input[name=key]")
	empty.audit("signing in")
	empty.signIn()
	empty.waitVisible("ol.steps")
	empty.audit("an empty service")

	s, views := filledService(t)
	c := open(s)
	c.allow(string(axe))
	c.signIn()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			c.in(scheme, width)
			for name, v := range views {
				c.show(v)
				c.audit(fmt.Sprintf("%s, %s, %d wide", name, scheme, width))
			}
		}
	}
}

// allow loads axe into every page that the tab opens after this call.
func (t *tab) allow(axe string) {
	t.Helper()
	_, err := cdp.Call(t.ctx, chromedp.FromContext(t.ctx).Target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: axe})
	if err != nil {
		t.Fatal(err)
	}
}

// audit reports everything that axe finds in the current page.
func (t *tab) audit(name string) {
	t.Helper()
	found := value[[]string](t, `axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations.map((v) =>
		v.id + ': ' + v.help + '\n' + v.nodes.map((n) => '    ' + n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).join('\n')))`)
	if len(found) > 0 {
		t.Errorf("%s:\n%s", name, strings.Join(found, "\n"))
	}
}
