package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestTheListShowsSitesWithFailedPages crawls a site on which only one page in five can be read.
func TestTheListShowsSitesWithFailedPages(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Pumps</title><p>Oil the pump once a year. <a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a> <a href=/4>4</a>")
	}))
	t.Cleanup(pages.Close)
	s := start(t)
	var store, site struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Site"}, &store)
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "web_site", "config": map[string]any{"source_url": pages.URL + "/"}}, &site)
	s.settled(store.ID, 6, time.Minute)
	c := open(s)
	c.signIn()
	c.at("#/datastores/" + store.ID)
	row := `.source:has(a[href="#/datasources/` + site.ID + `"])`
	c.waitVisible(row)
	// innerText omits elements not laid out yet, so the text may appear one frame after the row.
	for _, part := range []string{"1 of 5 pages", "Partly searchable", "4 of 5 pages could not be read"} {
		c.until(`document.querySelector('` + row + `')?.innerText.includes('` + part + `')`)
	}
}
