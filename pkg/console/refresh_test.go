package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// recordMessages makes the page record the messages that the console shows. The messages themselves disappear after a
// few seconds.
func (t *tab) recordMessages() {
	t.Helper()
	value[bool](t, `(() => {
		const place = document.getElementById('said');
		window.shownMessages = [];
		new MutationObserver(() => {
			if (place.textContent && place.getBoundingClientRect().width > 20) window.shownMessages.push(place.textContent);
		}).observe(place, {attributes: true, childList: true});
		return true;
	})()`)
}

func (t *tab) waitMessage(text string) {
	t.Helper()
	t.until(`window.shownMessages.includes(` + quote(text) + `)`)
}

// TestASiteIsRefreshedInItsView crawls a site, first while the list of datasources is open and then from the site's own
// view. The list and the view must each show the results of the newest crawl without a reload.
func TestASiteIsRefreshedInItsView(t *testing.T) {
	t.Parallel()
	var changed atomic.Bool
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, "<title>Pumps</title><p>Oil the pump once a year. <a href=/1>1</a> <a href=/2>2</a> <a href=/hidden>3</a>")
		case "/hidden":
			fmt.Fprint(w, "<title>Hidden</title><meta name=robots content=noindex><p>The staff's own page about the pump.")
		case "/1":
			fmt.Fprintf(w, "<title>Seals</title><p>Replace the seals of the pump after 4000 hours. Changed: %v", changed.Load())
		case "/2":
			fmt.Fprint(w, "<title>Noise</title><p>A pump that runs dry makes a loud noise.")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(pages.Close)
	s := start(t, "SLUICE_CRAWL_DELAY=0")
	var store, site struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Site"}, &store)
	c := open(s)
	c.signIn()
	c.at("#/datastores/" + store.ID)
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "web_site", "config": map[string]any{"source_url": pages.URL + "/"}}, &site)
	s.settled(store.ID, 5, time.Minute)
	c.until(`[...document.querySelectorAll('.source')].some((row) => row.innerText.includes('Website') && row.innerText.includes('3 of 3 pages'))`)

	c.at("#/datasources/" + site.ID)
	crawled := func(fact, n string) {
		t.Helper()
		c.until(`[...document.querySelectorAll('section .facts div')].some((f) => f.innerText.replace(/\s+/g, ' ') === '` + fact + ` ` + n + `')`)
	}
	crawled("New or changed", "3")
	c.recordMessages()
	changed.Store(true)
	c.click(".top .actions button:nth-of-type(2)")
	c.waitMessage("Refresh started")
	crawled("New or changed", "1")
	crawled("Unchanged", "2")

	// The site's settings can be changed.
	c.click(".top .actions button:nth-of-type(1)")
	c.waitVisible("dialog textarea")
	value[bool](c, `(() => { const [name, include, exclude, pages] = document.querySelectorAll('dialog input, dialog textarea'); name.value = 'Pump site'; exclude.value = '/2'; pages.value = '50'; document.querySelector('dialog form').requestSubmit(); return true; })()`)
	c.until(`document.querySelector('h1').textContent === 'Pump site'`)
	var edited struct {
		Config struct {
			Exclude  []string
			MaxPages int `json:"max_pages"`
		}
	}
	s.call(http.MethodGet, "/datasources/"+site.ID, nil, &edited)
	if len(edited.Config.Exclude) != 1 || edited.Config.Exclude[0] != "/2" || edited.Config.MaxPages != 50 {
		t.Errorf("the site's settings are %+v", edited.Config)
	}

	// A page links to its site, and the list of a site's pages names the site.
	c.click("section a[href*='?site=']")
	c.until(`/Showing only the pages of /.test(document.querySelector('.note')?.innerText)`)
	c.click(".source .what a")
	c.waitVisible(`.above a[href="#/datasources/` + site.ID + `"]`)
}
