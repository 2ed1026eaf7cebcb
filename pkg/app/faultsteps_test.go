package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/faultproxy"
)

// faultBound is the time limit for a request. It is meant only to detect hangs, so it exceeds the 75 s the service
// waits for a statement when PostgreSQL doesn't respond.
const faultBound = 100 * time.Second

// faulty is a program whose dependencies can be made to fail.
type faulty struct {
	*program
	proxies map[string]*faultproxy.Proxy // one in front of each dependency, by its name
	pages   *httptest.Server
	rounds  int
}

// pagesFor starts a server with a page for every path. The page contains the path's word.
func pagesFor(t testing.TB) *httptest.Server {
	t.Helper()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		word := strings.TrimPrefix(r.URL.Path, "/")
		if word == "" || word == "robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%[1]s</title><h1>%[1]s</h1><p>%[2]s</p>", word, aboutWord(word))
	}))
	t.Cleanup(pages.Close)
	return pages
}

// aboutWord returns a text about a word. Texts about different words do not count as duplicates of each other.
func aboutWord(word string) string {
	return fmt.Sprintf("This passage speaks of %s and of nothing but %s, at some length: %s.", word, word, strings.Repeat(word+" ", 5))
}

// step is a request sent while a dependency is failing.
type step struct {
	name, method, path, contentType string
	body                            []byte
	key                             string // idempotency key for retrying the request; "" means no retry
	makes                           string // word in the datasource that the request creates, or ""
	removes, replaces               string // word in the datasource that the request deletes or overwrites, or ""
	streams, asks                   bool

	reply stepReply
}

type stepReply struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
	err    error
}

func (s *step) done() bool { return s.reply.err == nil && s.reply.status/100 == 2 && !s.cut() }

// cut reports whether a stream ended with an error.
func (s *step) cut() bool { return s.streams && !bytes.Contains(s.reply.body, []byte("data: [DONE]")) }

// send sends the request directly to the program, without a proxy.
func (s *step) send(p *program) {
	ctx, cancel := context.WithTimeout(context.Background(), faultBound)
	defer cancel()
	began := time.Now()
	s.reply = stepReply{}
	defer func() { s.reply.took = time.Since(began) }()
	req, err := http.NewRequestWithContext(ctx, s.method, "http://"+p.addr+s.path, bytes.NewReader(s.body))
	if err != nil {
		s.reply.err = err
		return
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	if s.contentType != "" {
		req.Header.Set("Content-Type", s.contentType)
	}
	if s.key != "" {
		req.Header.Set("Idempotency-Key", s.key)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.reply.err = err
		return
	}
	defer resp.Body.Close()
	s.reply.status, s.reply.header = resp.StatusCode, resp.Header
	s.reply.body, s.reply.err = io.ReadAll(resp.Body)
}

// judge says what is wrong with a response received while a dependency was failing, or returns "".
func (s *step) judge() string {
	r := s.reply
	switch {
	case r.err != nil:
		return fmt.Sprintf("no answer after %v: %v", r.took, r.err)
	case r.status/100 == 2 && !s.cut():
		return ""
	case r.status == http.StatusOK && s.streams:
		if !bytes.Contains(r.body, []byte("data: [ERROR]")) {
			return fmt.Sprintf("a stream that neither ends well nor says why: %.300s", r.body)
		}
		return ""
	case r.status != http.StatusServiceUnavailable && r.status != http.StatusBadGateway && r.status != http.StatusGatewayTimeout:
		return fmt.Sprintf("status %d: %.300s", r.status, r.body)
	}
	var problem struct{ Type, Title, Detail, Error string }
	switch err := json.Unmarshal(r.body, &problem); {
	case err != nil || problem.Detail == "" || problem.Error == "":
		return fmt.Sprintf("an error that is not of the one shape: %.300s", r.body)
	case r.header.Get("Retry-After") == "":
		return "a refusal without Retry-After"
	}
	return ""
}

// steps returns the requests for one round, each about a different word. `ids` maps words to existing datasources. One
// of the requests replaces such a datasource, and one deletes another.
func (f *faulty) steps(store, agent string, round string, ids map[string]string) []*step {
	word := func(of string) string { return round + of }
	form := func(of string) ([]byte, string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		_ = w.WriteField("datastoreId", store) // cannot fail, because it writes to memory
		part, _ := w.CreateFormFile("file", of+".txt")
		_, _ = part.Write([]byte(aboutWord(word(of))))
		_ = w.Close()
		return b.Bytes(), w.FormDataContentType()
	}
	upload, uploadType := form("upload")
	keyed, keyedType := form("keyed")
	object := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			f.t.Fatal(err)
		}
		return b
	}
	const j = "application/json"
	question := func(streams bool) []byte {
		return object(map[string]any{"query": "What is told of " + word("kept") + "?", "streaming": streams})
	}
	return []*step{
		{name: "upload", method: "POST", path: "/datasources", contentType: uploadType, body: upload, makes: word("upload")},
		{name: "keyed upload", method: "POST", path: "/datasources", contentType: keyedType, body: keyed, key: "key-" + round, makes: word("keyed")},
		{name: "upsert", method: "POST", path: "/datastores/upsert/" + store, contentType: j, makes: word("upsert"), body: object(map[string]any{
			"documents": []any{map[string]any{"name": "upsert", "text": aboutWord(word("upsert")), "metadata": map[string]string{"custom_id": word("upsert")}}}})},
		{name: "update", method: "POST", path: "/datastores/update/" + store, contentType: j, makes: word("updated"), replaces: word("replaced"), body: object(map[string]any{
			"id": ids[word("replaced")], "text": aboutWord(word("updated"))})},
		{name: "delete", method: "DELETE", path: "/datasources/" + ids[word("deleted")], contentType: j, body: []byte("{}"), removes: word("deleted")},
		{name: "crawl", method: "POST", path: "/datasources", contentType: j, makes: word("page"), body: object(map[string]any{
			"datastoreId": store, "type": "web_page", "name": "page", "config": map[string]string{"source_url": f.pages.URL + "/" + word("page")}})},
		{name: "list", method: "GET", path: "/datasources?datastoreId=" + store},
		{name: "chunks", method: "GET", path: "/datasources/" + ids[word("kept")] + "/chunks"},
		{name: "original", method: "GET", path: "/datasources/" + ids[word("kept")] + "/original"},
		{name: "query", method: "POST", path: "/datastores/" + store + "/query", contentType: j, asks: true, body: object(map[string]any{"query": word("kept"), "topK": 3})},
		{name: "agent", method: "POST", path: "/agents/" + agent + "/query", contentType: j, asks: true, body: question(false)},
		{name: "stream", method: "POST", path: "/agents/" + agent + "/query", contentType: j, asks: true, streams: true, body: question(true)},
	}
}

// faultRound holds the resources for testing one fault: a datastore with three documents, and an agent that uses it.
type faultRound struct {
	name, store, agent string
	ids                map[string]string // datasource ids by word
	steps              []*step
}

// prepare creates a round's resources while nothing is failing.
func (f *faulty) prepare(name string) *faultRound {
	f.t.Helper()
	f.rounds++
	r := &faultRound{name: fmt.Sprintf("r%02d%s", f.rounds, name), ids: map[string]string{}}
	r.store = f.newDatastore()
	var agent struct{ ID string }
	f.must(f.post("/agents", map[string]any{"name": r.name, "datastoreIds": []string{r.store}}, &agent))
	r.agent = agent.ID
	for _, of := range []string{"kept", "replaced", "deleted"} {
		var made source
		f.must(f.upload(r.store, of+".txt", "", []byte(aboutWord(r.name+of)), &made))
		r.ids[r.name+of] = made.ID
	}
	for _, s := range f.settled(r.store, 2*time.Minute) {
		if s.Status != "synched" {
			f.t.Fatalf("%s ended with status %s: %s", s.Name, s.Status, s.Error)
		}
	}
	r.steps = f.steps(r.store, r.agent, r.name, r.ids)
	return r
}

// strike sends all requests at the same time and judges the responses.
func (f *faulty) strike(r *faultRound) {
	f.t.Helper()
	var all sync.WaitGroup
	for _, s := range r.steps {
		all.Go(func() { s.send(f.program) })
	}
	all.Wait()
	for _, s := range r.steps {
		f.t.Logf("%-13s %d after %v", s.name, s.reply.status, s.reply.took.Round(time.Millisecond))
		if wrong := s.judge(); wrong != "" {
			f.t.Errorf("%s: %s", s.name, wrong)
		}
	}
}

// heals waits until nothing is failing, retries rejected requests and checks that everything exists exactly once.
func (f *faulty) heals(r *faultRound) {
	f.t.Helper()
	f.eventually(2*time.Minute, "the program is not ready though all is well again", func() bool { status, _ := f.ready(); return status == http.StatusOK })
	wanted := map[string]bool{r.name + "kept": true, r.name + "replaced": true, r.name + "deleted": true}
	note := func(s *step) {
		if s.makes != "" {
			wanted[s.makes] = true
		}
		delete(wanted, s.removes)
		delete(wanted, s.replaces)
	}
	// Rejected requests must leave nothing behind, not even an unsynched datasource.
	accepted := 3
	for _, s := range r.steps {
		if s.done() {
			note(s)
			switch {
			case s.makes != "" && s.replaces == "":
				accepted++
			case s.removes != "":
				accepted--
			}
		}
	}
	if all, err := f.sources(r.store, ""); err != nil || len(all) != accepted {
		f.t.Errorf("%d datasources are there, of which %d were accepted: %v", len(all), accepted, err)
	}
	for _, s := range r.steps {
		for guard := time.Now().Add(2 * time.Minute); !s.done(); {
			s.send(f.program)
			if time.Now().After(guard) {
				f.t.Fatalf("%s is still refused with %d: %s, %v", s.name, s.reply.status, s.reply.body, s.reply.err)
			}
			if !s.done() && pause(f.t.Context()) != nil {
				return
			}
		}
		note(s)
	}
	have := f.settled(r.store, 6*time.Minute) // longer than any back-off
	for _, s := range have {
		if s.Status != "synched" || s.Chunks == 0 {
			f.t.Errorf("%s ended with status %s and %d chunks: %s", s.Name, s.Status, s.Chunks, s.Error)
		}
	}
	if len(have) != len(wanted) {
		f.t.Errorf("%d datasources are there, want %d", len(have), len(wanted))
	}
	found := map[string]int{}
	for _, hit := range f.query(r.store, r.name, 100) {
		for _, of := range []string{"kept", "replaced", "deleted", "upload", "keyed", "upsert", "updated", "page"} {
			if strings.Contains(hit.Text, r.name+of) {
				found[r.name+of]++
			}
		}
	}
	for word := range wanted {
		if found[word] != 1 {
			f.t.Errorf("%s is found %d times", word, found[word])
		}
		delete(found, word)
	}
	for word, n := range found {
		f.t.Errorf("%s is gone, and found %d times", word, n)
	}
}

// ready returns /readyz's status and the dependencies it reports as down.
func (f *faulty) ready() (status int, down []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, (&url.URL{Scheme: "http", Host: f.addr, Path: "/readyz"}).String(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	var body api.Readiness
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		f.t.Errorf("/readyz: %v", err)
	}
	for _, c := range body.Checks {
		if c.Status != "ok" {
			down = append(down, c.Name)
		}
	}
	return resp.StatusCode, down
}

func (f *faulty) saysDown(names ...string) {
	f.t.Helper()
	var down []string
	f.eventually(time.Minute, fmt.Sprintf("/readyz does not name %q", names), func() bool {
		_, down = f.ready()
		if len(down) != len(names) {
			return false
		}
		for i := range names {
			if down[i] != names[i] {
				return false
			}
		}
		return true
	})
}
