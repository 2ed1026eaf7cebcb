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
	local "github.com/sluice/sluice/tools/local/engines"
)

// once is a request retried with the same idempotency key until it is answered.
type once struct {
	path, contentType string
	body              []byte
	key               string
	ids               []string // ids of the created resources, if the request has been answered
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

// setsPerRound is the number of sets of mixedRequests in flight when a process is killed.
const setsPerRound = 2

// mixedRequests returns requests that create four datasources, an agent, a datastore and a key. The resources differ
// between sets, except for one document that all sets replace.
func mixedRequests(t testing.TB, store string, set int) []*once {
	t.Helper()
	name := func(kind string) string { return fmt.Sprintf("%s %d", kind, set) }
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
	_, err = part.Write([]byte("What was uploaded as " + name("number") + "."))
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

// send sends the request and reports whether it is settled. It fails the test on a permanent error.
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

// settle retries the request until it is answered or ctx ends.
func (o *once) settle(ctx context.Context, p *program) error {
	for len(o.ids) == 0 && !o.send(p) {
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// TestEveryKeyCreatesOneResourceDespiteKills kills the process at random moments while it executes requests with
// idempotency keys, and retries the requests until they are answered.
func TestEveryKeyCreatesOneResourceDespiteKills(t *testing.T) {
	t.Parallel()
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	all := killUnderRequests(t, store, rounds, p)
	p.settleAll(all)
	for _, s := range p.settled(store, time.Minute) {
		if s.Status != "synched" || s.Chunks == 0 {
			t.Errorf("datasource %s ended with status %s and %d chunks: %s", s.Name, s.Status, s.Chunks, s.Error)
		}
	}
	p.checkMade(store, setsPerRound*rounds, all)
	if err := p.terminate(); err != nil {
		t.Errorf("the last stop: %v", err)
	}
}

// TestAnotherProcessContinuesTheRequestsOfAKilledOne retries a killed process's requests in another process. The two
// share only the engines.
func TestAnotherProcessContinuesTheRequestsOfAKilledOne(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PostgreSQL and NATS")
	}
	t.Parallel()
	const rounds = 6
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nats, err := local.StartNATS(ctx, t.TempDir(), local.NATSOptions{Servers: 1, Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nats.Stop() })
	postgres, err := local.StartPostgreSQL(ctx, t.TempDir(), local.PostgreSQLOptions{Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = postgres.Stop() })
	shared := []string{"NATS_URL=" + nats.URL(), "DATABASE_URL=" + postgres.URL(), "SLUICE_WORKERS=false", "SLUICE_NATS_REPLICAS=1"}
	first, second := newProgram(t, shared...), newProgram(t, shared...)
	first.start()
	store := first.newDatastore()
	all := killUnderRequests(t, store, rounds, first, second)
	first.settleAll(all)
	first.checkMade(store, setsPerRound*rounds, all)
}

// killUnderRequests performs a number of rounds. In each round, it sends requests to a process, kills the process while
// it executes them, and starts the next process in the ring. The first process must already be running. `rounds` must
// be a multiple of the number of processes, so that the first process is the one running in the end.
func killUnderRequests(t testing.TB, store string, rounds int, ring ...*program) []*once {
	t.Helper()
	random := mathrand.New(mathrand.NewPCG(2026, 12))
	var all []*once
	for round := range rounds {
		p := ring[round%len(ring)]
		var requests []*once
		for n := range setsPerRound {
			requests = append(requests, mixedRequests(t, store, setsPerRound*round+n)...)
		}
		all = append(all, requests...)
		var sending sync.WaitGroup
		for _, o := range requests {
			sending.Go(func() { o.send(p) })
		}
		killing := time.NewTimer(time.Duration(random.Int64N(int64(300 * time.Millisecond)))) // a little longer than the requests take
		<-killing.C
		p.kill()
		sending.Wait()
		ring[(round+1)%len(ring)].start()
	}
	return all
}

// settleAll retries all requests until they are answered, for at most the length of a claim's lease plus a few seconds.
func (p *program) settleAll(all []*once) {
	p.t.Helper()
	answered := map[string]bool{}
	for _, o := range all {
		for _, id := range o.ids {
			answered[id] = true
		}
	}
	made, unsaid := p.madeIDs(), 0
	for _, id := range made {
		if !answered[id] {
			unsaid++
		}
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(p.t.Context(), catalog.IdempotencyLease+10*time.Second)
	defer cancel()
	errs := make([]error, len(all))
	var settling sync.WaitGroup
	for i, o := range all {
		settling.Go(func() { errs[i] = o.settle(ctx, p) })
	}
	settling.Wait()
	for i, err := range errs {
		if err != nil {
			p.t.Errorf("%s is not answered after %v: %v", all[i].path, time.Since(began), err)
		}
	}
	p.t.Logf("%d datasources and agents were made before the last kill, %d of them without an answer; the rest took %v",
		len(made), unsaid, time.Since(began).Round(time.Millisecond))
}

// madeIDs returns the ids of all datasources and agents. Only mixedRequests creates them.
func (p *program) madeIDs() []string {
	p.t.Helper()
	var out []string
	for _, path := range []string{"/datasources?limit=200", "/agents?limit=200"} {
		var page struct{ Data []source }
		p.must(p.get(path, &page))
		for _, v := range page.Data {
			out = append(out, v.ID)
		}
	}
	return out
}

// checkMade checks that the lists contain exactly the resources returned to clients.
func (p *program) checkMade(store string, sets int, all []*once) {
	p.t.Helper()
	answered := map[string]bool{}
	for _, o := range all {
		for _, id := range o.ids {
			answered[id] = true
		}
	}
	sources, err := p.sources(store, "")
	p.must(err)
	names := map[string]int{}
	for _, s := range sources {
		names[s.Name]++
		if !answered[s.ID] {
			p.t.Errorf("datasource %s (%s) was made and is in no answer", s.Name, s.ID)
		}
	}
	for name, n := range names {
		if n != 1 {
			p.t.Errorf("there are %d datasources %q", n, name)
		}
	}
	if want := 4*sets + 1; len(sources) != want {
		p.t.Errorf("there are %d datasources, want %d", len(sources), want)
	}
	for path, want := range map[string]int{"/agents?limit=200": sets, "/datastores?limit=200": sets + 1, "/keys": sets + 1} {
		var page struct{ Data []source }
		p.must(p.get(path, &page))
		if len(page.Data) != want {
			p.t.Errorf("%s lists %d, want %d", path, len(page.Data), want)
		}
	}
}
