package app

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/datadir"
)

// TestAProtectedSiteIsCrawledWithItsHeaders crawls a password-protected site, then changes the password. Nothing the
// service writes may contain either password.
func TestAProtectedSiteIsCrawledWithItsHeaders(t *testing.T) {
	t.Parallel()
	const first, second = "Basic Zmlyc3Q6dmVyeS1zZWNyZXQ=", "Basic c2Vjb25kOnZlcnktc2VjcmV0"
	var mu sync.Mutex
	want, text := first, "zebrafinch"
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != want:
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/docs/":
			fmt.Fprintf(w, `<title>Start</title><h1>Start</h1><p>The members' page of the %s.</p><a href="/docs/a">more</a>`, text)
		case r.URL.Path == "/docs/a":
			fmt.Fprintf(w, `<title>More</title><h1>More</h1><h2 id="members">Members</h2><p>All that members know of the %s, and more.</p>`, text)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(served.Close)
	p := newProgram(t, crawlerSettings()...)
	p.start()
	store := p.newDatastore()
	id := p.addSiteWith(store, map[string]any{"source_url": served.URL + "/docs/", "headers": map[string]string{"Authorization": first}})
	wait := func(fetched int) {
		t.Helper()
		p.eventually(time.Minute, "the site is not crawled", func() bool {
			c, err := p.site(id)
			return err == nil && c.settled() && c.Crawl != nil && c.Crawl.Waiting == 0 && c.Crawl.Fetched == fetched && c.Status == "synched"
		})
	}
	wait(2)
	if got := p.query(store, "What do members know of the zebrafinch?", 2); len(got) != 2 {
		t.Errorf("%d fragments are found", len(got))
	} else if at := served.URL + "/docs/a#members"; got[0].Source != at && got[1].Source != at {
		t.Errorf("the fragments are from %s and %s, want %s", got[0].Source, got[1].Source, at)
	}
	mu.Lock()
	want, text = second, "nuthatch"
	mu.Unlock()
	p.must(p.call(t.Context(), http.MethodPatch, "/datasources/"+id, "application/json", strings.NewReader(`{"config":{"headers":{"Authorization":"`+second+`"}}}`), nil))
	p.refresh(id)
	wait(2)
	if got := p.query(store, "nuthatch", 2); len(got) != 2 {
		t.Errorf("%d fragments are found after the refresh", len(got))
	}
	p.must(p.terminate())
	info, err := os.Stat(filepath.Join(p.dir, datadir.SecretKey))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	secrets := [][]byte{[]byte(strings.TrimPrefix(first, "Basic ")), []byte(strings.TrimPrefix(second, "Basic "))}
	shows := func(name string, content []byte) {
		if slices.ContainsFunc(secrets, func(s []byte) bool { return bytes.Contains(content, s) }) {
			t.Errorf("%s shows the password", name)
		}
	}
	shows("the log", []byte(p.stderr.String()))
	err = filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		shows(path, content)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
