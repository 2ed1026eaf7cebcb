package api_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// killableClaims is a store that can drop the call that ends a claim, as if the process had been killed just before it.
type killableClaims struct {
	idempotency.Store
	killed atomic.Bool
}

func (m *killableClaims) FinishIdempotent(ctx context.Context, claim *catalog.Claim, r catalog.StoredResponse) error {
	if m.killed.Load() {
		return nil
	}
	return m.Store.FinishIdempotent(ctx, claim, r)
}

func (m *killableClaims) ReleaseIdempotent(ctx context.Context, claim *catalog.Claim) error {
	if m.killed.Load() {
		return nil
	}
	return m.Store.ReleaseIdempotent(ctx, claim)
}

func (m *killableClaims) AbandonIdempotent(ctx context.Context, claim *catalog.Claim) error {
	if m.killed.Load() {
		return nil
	}
	return m.Store.AbandonIdempotent(ctx, claim)
}

func newKillableClaims(t *testing.T, adjust ...func(*api.Options, *api.Deps)) (*service, *killableClaims) {
	t.Helper()
	m := &killableClaims{}
	s := newService(t, append(adjust, func(_ *api.Options, d *api.Deps) {
		m.Store, d.Claims = d.Claims, m
	})...)
	return s, m
}

// dying sends a request and simulates the process being killed after executing it but before ending its claim. Then it
// lets the claim expire.
func (m *killableClaims) dying(s *service, send func() *response) *response {
	s.Helper()
	m.killed.Store(true)
	a := send()
	m.killed.Store(false)
	if busy := send(); busy.problem(409).Detail == "" || busy.header.Get("Retry-After") == "" {
		s.Errorf("%s does not say when to ask again", busy.body)
	}
	s.clock.advance(catalog.IdempotencyLease + time.Second)
	return a
}

// keyed maps names to requests that create or change something.
var keyed = map[string]struct {
	send func(s *service, datastore, document string) *response
	list string // path that lists the created resources
	made int
}{
	"an agent": {func(s *service, datastore, _ string) *response {
		return s.call("POST", "/agents", object{"name": "once", "datastoreIds": []string{datastore}}, "Idempotency-Key", "k")
	}, "/agents", 1},
	"a datastore": {func(s *service, _, _ string) *response {
		return s.call("POST", "/datastores", object{"name": "once"}, "Idempotency-Key", "k")
	}, "/datastores", 2},
	"an upload": {func(s *service, datastore, _ string) *response {
		body, contentType := form(part{name: "datastoreId", text: datastore}, part{"file", "note.txt", "text"})
		return s.call("POST", "/datasources", body, "Content-Type", contentType, "Idempotency-Key", "k")
	}, "/datasources", 2},
	"a text": {func(s *service, datastore, _ string) *response {
		body := object{"datastoreId": datastore, "type": "text", "config": object{"text": "text"}, "custom_id": "mine"}
		return s.call("POST", "/datasources", body, "Idempotency-Key", "k")
	}, "/datasources", 2},
	"a page": {func(s *service, datastore, _ string) *response {
		body := object{"datastoreId": datastore, "type": "web_page", "config": object{"source_url": "https://example.com/"}}
		return s.call("POST", "/datasources", body, "Idempotency-Key", "k")
	}, "/datasources", 2},
	"documents": {func(s *service, datastore, _ string) *response {
		body := object{"documents": []object{{"text": "one"}, {"text": "two"}, {"text": "one"}}}
		return s.call("POST", "/datastores/upsert/"+datastore, body, "Idempotency-Key", "k")
	}, "/datasources", 4},
	"documents by their custom ids": {func(s *service, datastore, _ string) *response {
		body := object{"documents": []object{{"text": "one", "metadata": object{"custom_id": "new"}}, {"text": "two", "metadata": object{"custom_id": "old"}}}}
		return s.call("POST", "/datastores/upsert/"+datastore, body, "Idempotency-Key", "k")
	}, "/datasources", 2},
	"documents that were there": {func(s *service, datastore, _ string) *response {
		body := object{"documents": []object{{"text": "two", "metadata": object{"custom_id": "old"}}}}
		return s.call("POST", "/datastores/upsert/"+datastore, body, "Idempotency-Key", "k")
	}, "/datasources", 1},
	"an update": {func(s *service, datastore, document string) *response {
		return s.call("POST", "/datastores/update/"+datastore, object{"id": document, "text": "new"}, "Idempotency-Key", "k")
	}, "/datasources", 1},
	"a resync": {func(s *service, _, document string) *response {
		return s.call("POST", "/datasources/"+document+"/resync", object{}, "Idempotency-Key", "k")
	}, "/datasources", 1},
}

func TestAKeyReplaysAnUploadOnlyForItsContent(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	to := part{name: "datastoreId", text: datastore}
	id := s.upload(to, part{"file", "old.txt", "old"}).want(201).object().id()
	for name, c := range map[string]struct {
		method, path string
		more         []part
	}{
		"a file":                {"POST", "/datasources", []part{to}},
		"a file, by generators": {"POST", "/datasources/upload", []part{to}},
		"a replacement":         {"PUT", "/datasources/" + id + "/original", nil},
		"a file of OpenAI's":    {"POST", "/v1/files", []part{{name: "purpose", text: "assistants"}}},
	} {
		send := func(fileName, text string) *response {
			body, contentType := form(append(c.more, part{"file", fileName, text})...) // with a new boundary each time
			return s.call(c.method, c.path, body, "Content-Type", contentType, "Idempotency-Key", name)
		}
		first := send("a.txt", "21900")
		if again := send("a.txt", "21900"); first.status/100 != 2 || string(again.body) != string(first.body) || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %d %s, then %d %s", name, first.status, first.body, again.status, again.body)
		}
		for _, other := range []*response{send("a.txt", "33333"), send("b.txt", "21900")} {
			if other.status != 409 || !strings.Contains(string(other.body), "was already used for a different request") {
				t.Errorf("%s: %d %s", name, other.status, other.body)
			}
		}
	}
}

// newKeyed creates the resources needed by the keyed requests.
func newKeyed(s *service) (datastore, document string) {
	s.Helper()
	datastore = s.newDatastore()
	return datastore, s.newText(datastore, "old text", object{"custom_id": "old"})
}

// requireComplete checks that the list has the expected length and that no datasource in it has lost its content.
func (s *service) requireComplete(list string, made int) {
	s.Helper()
	if n := len(s.call("GET", list, nil).want(200).object().list("data")); n != made {
		s.Errorf("%s lists %d, want %d", list, n, made)
	}
	all, _, err := s.catalog.Datasources(s.Context(), s.ws, catalog.DatasourceFilter{}, catalog.Page{})
	must(s.T, err)
	content := s.originals.all()
	for _, d := range all {
		if d.Original != nil && content[d.Original.Key] == "" {
			s.Errorf("the content of datasource %s is gone", d.ID)
		}
	}
}

func TestARepeatAfterACrashCreatesNoDuplicate(t *testing.T) {
	t.Parallel()
	for name, test := range keyed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := newKillableClaims(t)
			datastore, document := newKeyed(s)
			send := func() *response { return test.send(s, datastore, document) }
			first := m.dying(s, send)
			s.requireComplete(test.list, test.made)
			before := s.jobs()
			again := send().want(first.status)
			if first.status/100 != 2 || string(again.body) != string(first.body) || again.header.Get("Idempotent-Replayed") != "" {
				t.Errorf("%d %s, then %s", first.status, first.body, again.body)
			}
			s.requireComplete(test.list, test.made)
			if diff := cmp.Diff(before, s.jobs()); diff != "" && name != "a resync" {
				t.Errorf("the repeat has made jobs (-before +after):\n%s", diff)
			}
			if replayed := send().want(first.status); string(replayed.body) != string(again.body) || replayed.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("the answer of the repeat is not kept: %s", replayed.body)
			}
		})
	}
}

// jobs returns each datasource's newest job id.
func (s *service) jobs() map[string]string {
	s.Helper()
	all, _, err := s.catalog.Datasources(s.Context(), s.ws, catalog.DatasourceFilter{}, catalog.Page{})
	must(s.T, err)
	out := map[string]string{}
	for _, d := range all {
		out[d.ID] = d.JobID
	}
	return out
}

// uncertainCatalog executes every call but reports one of them as failed, as happens when the connection breaks during
// a commit.
type uncertainCatalog struct {
	api.AgentStore
	api.DatastoreStore
	api.DatasourceStore
	api.DocumentStore
	api.JobQueue
	failed atomic.Bool
}

func (d *uncertainCatalog) failOnce(err error) error {
	if err == nil && d.failed.CompareAndSwap(false, true) {
		return &domain.Error{Code: domain.CodeUnavailable, Message: "the database does not answer", Err: errors.New("broken pipe")}
	}
	return err
}

func (d *uncertainCatalog) CreateAgent(ctx context.Context, a domain.Agent) (domain.Agent, error) {
	a, err := d.AgentStore.CreateAgent(ctx, a)
	return a, d.failOnce(err)
}

func (d *uncertainCatalog) CreateDatastore(ctx context.Context, v domain.Datastore) (domain.Datastore, error) {
	v, err := d.DatastoreStore.CreateDatastore(ctx, v)
	return v, d.failOnce(err)
}

func (d *uncertainCatalog) CreateDatasources(ctx context.Context, in []catalog.NewDatasource) ([]domain.Datasource, error) {
	out, err := d.DatasourceStore.CreateDatasources(ctx, in)
	return out, d.failOnce(err)
}

func (d *uncertainCatalog) UpsertDatasources(ctx context.Context, in []catalog.NewDatasource) ([]domain.Datasource, error) {
	out, err := d.DocumentStore.UpsertDatasources(ctx, in)
	return out, d.failOnce(err)
}

func (d *uncertainCatalog) ReplaceContent(ctx context.Context, ws, id string, r catalog.Replacement) (domain.Datasource, error) {
	out, err := d.DocumentStore.ReplaceContent(ctx, ws, id, r)
	return out, d.failOnce(err)
}

func (d *uncertainCatalog) Requeue(ctx context.Context, ws, id string, job domain.Job, p catalog.Priority) (domain.Datasource, error) {
	out, err := d.JobQueue.Requeue(ctx, ws, id, job, p)
	return out, d.failOnce(err)
}

func TestARepeatAfterAnUncertainCommitCreatesNoDuplicate(t *testing.T) {
	t.Parallel()
	for name, test := range keyed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &uncertainCatalog{}
			s := newService(t, func(_ *api.Options, deps *api.Deps) {
				d.AgentStore, d.DatastoreStore, d.DatasourceStore = deps.Agents, deps.Datastores, deps.Datasources
				d.DocumentStore, d.JobQueue = deps.Documents, deps.Jobs
				deps.Agents, deps.Datastores, deps.Datasources, deps.Documents, deps.Jobs = d, d, d, d, d
			})
			d.failed.Store(true)
			datastore, document := newKeyed(s)
			d.failed.Store(false)
			test.send(s, datastore, document).problem(503)
			s.requireComplete(test.list, test.made)
			before := s.jobs()
			if a := test.send(s, datastore, document); a.status/100 != 2 { // retry at once: no other run holds the claim
				t.Errorf("the repeat is answered %d: %s", a.status, a.body)
			}
			s.requireComplete(test.list, test.made)
			if diff := cmp.Diff(before, s.jobs()); diff != "" && name != "a resync" {
				t.Errorf("the repeat has made jobs (-before +after):\n%s", diff)
			}
		})
	}
}

func TestARequestThatFailedBeforeItsCommitMayBeRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore, document := newKeyed(s)
	s.originals.fail(errors.New("the disk is full"))
	keyed["an upload"].send(s, datastore, document).problem(500)
	s.originals.fail(nil)
	keyed["an upload"].send(s, datastore, document).want(201)
	s.requireComplete("/datasources", 2)
}

func TestARepeatedUpsertKeepsLaterChanges(t *testing.T) {
	t.Parallel()
	s, m := newKillableClaims(t)
	datastore, _ := newKeyed(s)
	s.newText(datastore, "another old text", object{"custom_id": "other"})
	upsert := func(headers []string, documents ...object) *response {
		return s.call("POST", "/datastores/upsert/"+datastore, object{"documents": documents}, headers...)
	}
	document := func(id, text string) object { return object{"text": text, "metadata": object{"custom_id": id}} }
	send := func() *response {
		return upsert([]string{"Idempotency-Key", "k"}, document("old", "1"), document("other", "1"))
	}
	first := m.dying(s, send).want(200)
	upsert(nil, document("old", "2, which is newer")).want(200)
	if again := send().want(200); string(again.body) != string(first.body) {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	for id, want := range map[string]string{"old": "2, which is newer", "other": "1"} {
		d, err := s.catalog.DatasourceByCustomID(t.Context(), s.ws, datastore, id)
		must(t, err)
		if got := s.originals.all()[d.Original.Key]; got != want {
			t.Errorf("document %s says %q, want %q", id, got, want)
		}
	}
}

// gatedOriginals can block the first Put.
type gatedOriginals struct {
	*originals
	entered, open chan struct{}
	first         atomic.Bool
}

func (g *gatedOriginals) Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error) {
	if g.first.CompareAndSwap(false, true) {
		close(g.entered)
		<-g.open
	}
	return g.originals.Put(ctx, datasourceID, name, mimeType, r)
}

// newOvertaken returns a service whose next request blocks before storing its content. Closing g.open lets the request
// continue. By then it should have lost its claim; see overtaken.
func newOvertaken(t *testing.T) (s *service, datastore, document string, g *gatedOriginals) {
	t.Helper()
	g = &gatedOriginals{entered: make(chan struct{}), open: make(chan struct{})}
	g.first.Store(true)
	s = newService(t, func(o *api.Options, d *api.Deps) {
		g.originals = d.Originals.(*originals)
		d.Originals, o.ClaimHeartbeat = g, time.Hour // a paused process does not renew its claims
	})
	datastore, document = newKeyed(s)
	g.first.Store(false)
	return s, datastore, document, g
}

// overtaken sends a request, waits until it blocks at the gate, and lets its claim expire. The returned channel
// receives the response once the gate opens.
func overtaken(s *service, g *gatedOriginals, name, datastore, document string) <-chan *response {
	slow := make(chan *response)
	go func() { slow <- keyed[name].send(s, datastore, document) }()
	<-g.entered
	s.clock.advance(catalog.IdempotencyLease + time.Second)
	return slow
}

func TestTwoRunsOfARequestCreateOneResource(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"an upload", "documents"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, datastore, document, g := newOvertaken(t)
			slow := overtaken(s, g, name, datastore, document)
			taken := keyed[name].send(s, datastore, document)
			close(g.open)
			if late := <-slow; late.status != taken.status || string(late.body) != string(taken.body) {
				t.Errorf("%d %s, and then %d %s", taken.status, taken.body, late.status, late.body)
			}
			s.requireComplete("/datasources", keyed[name].made)
			if n := len(s.originals.all()); n != keyed[name].made {
				t.Errorf("%d originals are kept of %d datasources", n, keyed[name].made)
			}
		})
	}
}

func TestALateRunOfARequestUndoesNoLaterOne(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"documents that were there", "documents by their custom ids", "an update"} {
		t.Run(name+" are changed again", func(t *testing.T) {
			t.Parallel()
			s, datastore, document, g := newOvertaken(t)
			slow := overtaken(s, g, name, datastore, document)
			keyed[name].send(s, datastore, document).want(200)
			s.call("POST", "/datastores/update/"+datastore, object{"id": document, "text": "newest"}).want(200)
			close(g.open)
			<-slow
			d, err := s.catalog.Datasource(t.Context(), s.ws, document)
			must(t, err)
			if got := s.originals.all()[d.Original.Key]; got != "newest" {
				t.Errorf("the document says %q", got)
			}
			s.requireComplete("/datasources", keyed[name].made)
		})
	}
	t.Run("a text is deleted", func(t *testing.T) {
		t.Parallel()
		s, datastore, document, g := newOvertaken(t)
		slow := overtaken(s, g, "a text", datastore, document)
		made := keyed["a text"].send(s, datastore, document).want(201).object()
		s.call("DELETE", "/datasources/"+made.id(), nil).want(200)
		close(g.open)
		if late := <-slow; late.problem(409).Detail == "" || late.header.Get("Retry-After") == "" {
			t.Errorf("%s does not say when to ask again", late.body)
		}
		s.requireComplete("/datasources", 1)
	})
}

// countingClaims signals each renewal of a claim.
type countingClaims struct {
	idempotency.Store
	beats chan struct{}
}

func (b *countingClaims) KeepIdempotent(ctx context.Context, claim *catalog.Claim) (bool, error) {
	holds, err := b.Store.KeepIdempotent(ctx, claim)
	select {
	case b.beats <- struct{}{}:
	case <-ctx.Done():
	}
	return holds, err
}

func (b *countingClaims) await(t *testing.T) {
	t.Helper()
	select {
	case <-b.beats:
	case <-time.After(10 * time.Second):
		t.Fatal("the claim is not kept")
	}
}

func TestARunningRequestRenewsItsClaim(t *testing.T) {
	t.Parallel()
	b := &countingClaims{beats: make(chan struct{})}
	s := newService(t, func(o *api.Options, d *api.Deps) {
		b.Store, d.Claims, o.ClaimHeartbeat = d.Claims, b, time.Millisecond
	})
	asked, open := make(chan struct{}, 1), make(chan struct{})
	release := sync.OnceFunc(func() { close(open) })
	t.Cleanup(release)
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		asked <- struct{}{}
		<-open
		return tokens("yes")(ctx, r, emit)
	}
	path := "/agents/" + s.newAgent() + "/query"
	ask := func() *response { return s.call("POST", path, object{"query": "q"}, "Idempotency-Key", "k") }
	done := make(chan *response, 1)
	go func() { done <- ask() }()
	<-asked
	for range 3 {
		s.clock.advance(catalog.IdempotencyLease - time.Second)
		b.await(t) // this renewal may have begun before the clock was advanced
		b.await(t)
		ask().problem(409)
	}
	release()
	first := <-done
	if again := ask().want(200); string(again.body) != string(first.want(200).body) {
		t.Errorf("%s, then %s", first.body, again.body)
	}
}
