package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"mime/multipart"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
)

// once is a request that is repeated under one key until it is answered.
type once struct {
	path, contentType string
	body              []byte
	key               string
	ids               []string // of what it has made, once it is answered
}

func newOnce(path, contentType string, body []byte) *once {
	return &once{path: path, contentType: contentType, body: body, key: rand.Text()}
}

func onceJSON(t testing.TB, path string, body any) *once {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return newOnce(path, "application/json", b)
}

// mixedRequests are requests of one round, each of which makes what no other one makes, and the names of that.
func mixedRequests(t testing.TB, store string, round int) []*once {
	t.Helper()
	name := func(kind string) string { return fmt.Sprintf("%s %d", kind, round) }
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.WriteField("datastoreId", store))
	part, err := w.CreateFormFile("file", name("upload")+".txt")
	must(err)
	_, err = part.Write([]byte("What was uploaded in round " + name("number") + "."))
	must(err)
	must(w.Close())
	text := func(kind string) map[string]any {
		return map[string]any{"name": name(kind), "text": "The " + name(kind)}
	}
	replaced := text("replaced")
	replaced["name"], replaced["metadata"] = "replaced", map[string]string{"custom_id": "replaced"}
	return []*once{
		newOnce("/datasources", w.FormDataContentType(), form.Bytes()),
		onceJSON(t, "/datasources", map[string]any{
			"datastoreId": store, "type": "text", "name": name("text"), "config": map[string]string{"text": "The " + name("text")},
		}),
		onceJSON(t, "/datastores/upsert/"+store, map[string]any{"documents": []any{text("first"), text("second"), replaced}}),
		onceJSON(t, "/agents", map[string]any{"name": name("agent"), "datastoreIds": []string{store}}),
		onceJSON(t, "/datastores", map[string]any{"name": name("datastore")}),
		onceJSON(t, "/keys", map[string]any{"name": name("key")}),
	}
}

// send asks once and reports whether the request is answered. Only what may pass is no failure.
func (o *once) send(p *program) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var made struct {
		ID  string
		IDs []string
	}
	err := p.callWith(ctx, http.MethodPost, o.path, o.contentType, bytes.NewReader(o.body), &made, "Idempotency-Key", o.key)
	switch {
	case err == nil:
		if o.ids = made.IDs; made.ID != "" {
			o.ids = []string{made.ID}
		}
	case !passes(err):
		p.t.Errorf("%s: %v", o.path, err)
	}
	return err == nil || !passes(err)
}

// settle repeats the request until it is answered, and returns when it was or ctx has ended.
func (o *once) settle(ctx context.Context, p *program) error {
	for len(o.ids) == 0 && !o.send(p) {
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// TestEveryKeyMakesOneThingThoughTheProcessIsKilled kills the process at random moments while it carries out requests with
// idempotency keys, and repeats those until they are answered.
func TestEveryKeyMakesOneThingThoughTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	random := mathrand.New(mathrand.NewPCG(2026, 12))
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	var all []*once
	answered := map[string]bool{}
	for round := range rounds {
		requests := mixedRequests(t, store, round)
		all = append(all, requests...)
		life := time.Duration(random.Int64N(int64(250 * time.Millisecond))) // a little more than such requests take
		var sending sync.WaitGroup
		for _, o := range requests {
			sending.Go(func() { o.send(p) })
		}
		killing := time.NewTimer(life)
		<-killing.C
		p.kill()
		sending.Wait()
		for _, o := range requests {
			for _, id := range o.ids {
				answered[id] = true
			}
		}
		p.start()
	}
	began := time.Now()
	unsaid := 0
	sources, err := p.sources(store, "")
	p.must(err)
	for _, s := range sources {
		if !answered[s.ID] {
			unsaid++
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), catalog.IdempotencyLease+10*time.Second)
	defer cancel()
	errs := make([]error, len(all))
	var settling sync.WaitGroup
	for i, o := range all {
		settling.Go(func() { errs[i] = o.settle(ctx, p) })
	}
	settling.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("%s is not answered after %v: %v", all[i].path, time.Since(began), err)
		}
	}
	t.Logf("%d of %d datasources were made before the process was killed and without an answer, %d were answered; all were %v after its last start",
		unsaid, 4*rounds+1, len(sources)-unsaid, time.Since(began).Round(time.Millisecond))
	p.checkMade(store, rounds, all)
	if err := p.terminate(); err != nil {
		t.Errorf("the last stop: %v", err)
	}
}

// checkMade demands that all lists hold what was answered, and nothing else.
func (p *program) checkMade(store string, rounds int, all []*once) {
	p.t.Helper()
	answered := map[string]bool{}
	for _, o := range all {
		for _, id := range o.ids {
			answered[id] = true
		}
	}
	sources := p.settled(store, time.Minute)
	names := map[string]int{}
	for _, s := range sources {
		names[s.Name]++
		if !answered[s.ID] {
			p.t.Errorf("datasource %s (%s) was made and is in no answer", s.Name, s.ID)
		}
		if s.Status != "synched" || s.Chunks == 0 {
			p.t.Errorf("datasource %s ended with status %s and %d chunks: %s", s.Name, s.Status, s.Chunks, s.Error)
		}
	}
	for name, n := range names {
		if n != 1 {
			p.t.Errorf("there are %d datasources %q", n, name)
		}
	}
	if want := 4*rounds + 1; len(sources) != want {
		p.t.Errorf("there are %d datasources, want %d", len(sources), want)
	}
	for path, want := range map[string]int{"/agents?limit=200": rounds, "/datastores?limit=200": rounds + 1, "/keys": rounds + 1} {
		var page struct{ Data []source }
		p.must(p.get(path, &page))
		if len(page.Data) != want {
			p.t.Errorf("%s lists %d, want %d", path, len(page.Data), want)
		}
	}
}
