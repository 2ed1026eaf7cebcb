package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/lineends"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/retrieve"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the heap is small, and collecting it often would take a sixth of the tests' time
	goleak.VerifyTestMain(m)
}

// service is the API on a real socket with a real catalog. All other dependencies are test doubles.
type service struct {
	*testing.T
	url     string
	path    string // path to the catalog's file
	key     string // has all permissions
	ws      string
	catalog *catalog.Catalog

	originals *originals
	retriever *retriever
	answerer  *answerer
	planner   *planner
	watcher   *watcher
	chunks    *chunks
	clock     *clock
	log       *logBuffer
}

const model = "test-model"

func newService(t *testing.T, adjust ...func(*api.Options, *api.Deps)) *service {
	t.Helper()
	s := &service{
		T: t, ws: domain.NewID(), originals: newOriginals(), retriever: &retriever{}, answerer: &answerer{}, planner: &planner{},
		watcher: &watcher{}, chunks: &chunks{}, log: &logBuffer{},
		clock: &clock{now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)},
	}
	ctx := t.Context()
	empty, err := emptyCatalog()
	must(t, err)
	s.path = filepath.Join(t.TempDir(), "catalog.db")
	must(t, os.WriteFile(s.path, empty, 0o600))
	s.openCatalog()
	must(t, s.catalog.EnsureWorkspace(ctx, s.ws, "test"))
	s.key = s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeWrite}})

	o, d := s.parts()
	for _, f := range adjust {
		f(&o, &d)
	}
	s.serve(o, d)
	return s
}

func (s *service) parts() (api.Options, api.Deps) {
	return api.Options{EmbeddingModels: []string{model}, TempDir: s.TempDir()}, api.Deps{
		Agents: s.catalog, Datastores: s.catalog, Datasources: s.catalog, Documents: s.catalog, Jobs: s.catalog, Sites: s.catalog,
		Conversations: s.catalog, Keys: s.catalog, KeyFinder: s.catalog, Usage: s.catalog, Accounts: s.catalog, Claims: s.catalog, Responses: s.catalog, Files: s.catalog, SearchSettings: s.catalog,
		Originals: s.originals, Drawer: drawer(func(context.Context, string, int) ([]byte, error) { return []byte("picture"), nil }), Chunks: s.chunks, Retriever: s.retriever,
		Embedders: letterModels{model: &letters{id: model}}, Converter: converter(noText), Answerer: s.answerer, Watcher: s.watcher, Planner: s.planner,
		DetectType: detectType, Formats: []format.Format{{Type: "text/plain", Label: "text"}, {Type: "application/pdf", Label: "PDF"}},
		Checks: []api.Check{{Name: "catalog", Ready: s.catalog.Ready}},
		Log:    slog.New(slog.NewTextHandler(s.log, nil)), Now: s.clock.Now,
	}
}

// openCatalog opens the catalog as a separate process would.
func (s *service) openCatalog() {
	s.Helper()
	c, err := catalog.Open(s.Context(), catalog.Options{Path: s.path, Now: s.clock.Now})
	must(s.T, err)
	s.Cleanup(func() { must(s.T, c.Close()) })
	s.catalog = c
}

func (s *service) serve(o api.Options, d api.Deps) {
	s.Helper()
	handler, err := api.New(o, d)
	must(s.T, err)
	server := httptest.NewServer(handler)
	s.Cleanup(server.Close)
	s.url = server.URL
}

// emptyCatalog returns the contents of an empty catalog's file, for tests to copy. Creating the tables for each test
// would take longer than most tests do.
var emptyCatalog = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "api-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "catalog.db")
	c, err := catalog.Open(context.Background(), catalog.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newKey stores a key and returns its secret.
func (s *service) newKey(k domain.APIKey) string {
	s.Helper()
	secret := domain.NewKey()
	k.ID, k.Hash, k.Hint = domain.NewID(), domain.HashKey(secret), secret[len(secret)-4:]
	if k.Name == "" {
		k.Name = "test"
	}
	_, err := s.catalog.CreateKey(s.Context(), k)
	must(s.T, err)
	return secret
}

func (s *service) limit(l domain.Limits) {
	s.Helper()
	must(s.T, s.catalog.SetLimits(s.Context(), domain.Account{WorkspaceID: s.ws}, l))
}

// stranger returns the same service with a key for another workspace.
func (s *service) stranger() *service {
	s.Helper()
	other := *s
	other.ws = domain.NewID()
	must(s.T, s.catalog.EnsureWorkspace(s.Context(), other.ws, "other"))
	other.key = s.newKey(domain.APIKey{WorkspaceID: other.ws, Scopes: []domain.Scope{domain.ScopeWrite}})
	return &other
}

// as returns the service with another key.
func (s *service) as(key string) *service {
	other := *s
	other.key = key
	return &other
}

// in returns the service with failures reported to t.
func (s *service) in(t *testing.T) *service {
	other := *s
	other.T = t
	return &other
}

type response struct {
	*testing.T
	status int
	header http.Header
	body   []byte
}

// call sends a request. A string body is sent unchanged, any other body as JSON.
func (s *service) call(method, path string, body any, headers ...string) *response {
	s.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case formBody:
		reader, headers = strings.NewReader(string(b)), append(headers, "Content-Type", "multipart/form-data; boundary=x")
	case io.Reader:
		reader = b
	default:
		encoded, err := json.Marshal(b)
		must(s.T, err)
		reader = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, reader)
	must(s.T, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	must(s.T, err)
	defer func() { _ = res.Body.Close() }()
	all, err := io.ReadAll(res.Body)
	must(s.T, err)
	return &response{T: s.T, status: res.StatusCode, header: res.Header, body: all}
}

// want fails the test if the response has a status other than the given one.
func (a *response) want(status int) *response {
	a.Helper()
	if a.status != status {
		a.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

func (a *response) object() object {
	a.Helper()
	var o object
	if err := json.Unmarshal(a.body, &o); err != nil {
		a.Fatalf("the body is no JSON object: %v: %s", err, a.body)
	}
	return o
}

// problem checks that the body is an error in the API's format, and returns it.
func (a *response) problem(status int) problem {
	a.Helper()
	a.want(status)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.Errorf("Content-Type is %q", got)
	}
	var p problem
	must(a.T, json.Unmarshal(a.body, &p))
	if p.Type == "" || p.Title == "" || p.Detail == "" || p.Error == "" || p.Status != status || p.Instance == "" || p.Instance != a.header.Get("X-Request-Id") {
		a.Errorf("the problem lacks something: %s", a.body)
	}
	return p
}

type problem struct {
	Type, Title, Detail, Instance, Error string
	Status                               int
	Errors                               []domain.FieldError
}

// fault returns the error message for a field. It fails the test if there is none.
func (a *response) fault(field string) string {
	a.Helper()
	p := a.problem(http.StatusBadRequest)
	for _, f := range p.Errors {
		if f.Field == field {
			return f.Message
		}
	}
	a.Errorf("no fault names %s: %s", field, a.body)
	return ""
}

type object map[string]any

func (o object) id() string { return o.text("id") }

func (o object) text(key string) string {
	text, _ := o[key].(string)
	return text
}

func (o object) list(key string) []any {
	list, _ := o[key].([]any)
	return list
}

// The functions below create resources through the API, with sensible content.

func (s *service) newDatastore(fields ...object) string {
	s.Helper()
	return s.call("POST", "/datastores", with(object{"name": "Handbook"}, fields...)).want(201).object().id()
}

func (s *service) newAgent(fields ...object) string {
	s.Helper()
	return s.call("POST", "/agents", with(object{"name": "Support"}, fields...)).want(201).object().id()
}

func (s *service) newText(datastore, text string, fields ...object) string {
	s.Helper()
	body := with(object{"datastoreId": datastore, "type": "text", "config": object{"text": text}}, fields...)
	return s.call("POST", "/datasources", body).want(201).object().id()
}

// newSite creates a web site with `config` merged into its configuration.
func (s *service) newSite(datastore string, config object) string {
	s.Helper()
	body := object{"datastoreId": datastore, "type": "web_site", "config": with(object{"source_url": "https://pumps.example/"}, config)}
	return s.call("POST", "/datasources", body).want(201).object().id()
}

func with(o object, more ...object) object {
	for _, m := range more {
		for k, v := range m {
			o[k] = v
		}
	}
	return o
}

// synch applies the event that an ingestor sends after writing a datasource's chunks.
func (s *service) synch(id string, generation uint64, chunkCount int64) {
	s.Helper()
	d, err := s.catalog.Datasource(s.Context(), s.ws, id)
	must(s.T, err)
	store, err := s.catalog.DatastoreByID(s.Context(), d.DatastoreID)
	must(s.T, err)
	job := domain.NewIngestJob(d, store)
	job.ID, job.Generation = d.JobID, generation
	ev := job.Event(domain.EventSynched, s.clock.Now())
	ev.Chunks, ev.Bytes = chunkCount, 100
	_, err = s.catalog.Apply(s.Context(), ev)
	must(s.T, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Test doubles for dependencies.

type originals struct {
	mu      sync.Mutex
	content map[string]string
	putErr  error
}

func newOriginals() *originals { return &originals{content: map[string]string{}} }

func (o *originals) Put(_ context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error) {
	all, err := io.ReadAll(r)
	if err != nil {
		return domain.Original{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.putErr != nil {
		return domain.Original{}, o.putErr
	}
	key := fmt.Sprintf("%s.%d", datasourceID, len(o.content))
	o.content[key] = string(all)
	sum := sha256.Sum256(all)
	return domain.Original{Key: key, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(all)), MIMEType: mimeType, Name: name}, nil
}

func (o *originals) Get(_ context.Context, key string) (io.ReadCloser, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	content, found := o.content[key]
	if !found {
		return nil, domain.Errorf(domain.CodeNotFound, "the original is no longer kept")
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

func (o *originals) Delete(_ context.Context, key string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.content, key)
	return nil
}

func (o *originals) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.putErr = err
}

// all returns the stored content by key.
func (o *originals) all() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[string]string{}
	for k, v := range o.content {
		out[k] = v
	}
	return out
}

type retriever struct {
	retrieve func(context.Context, retrieve.Request) (retrieve.Result, error)
	facets   func(context.Context, retrieve.FacetRequest) (domain.Facets, error)
}

func (r *retriever) Facets(ctx context.Context, q retrieve.FacetRequest) (domain.Facets, error) {
	if r.facets == nil {
		return domain.Facets{}, nil
	}
	return r.facets(ctx, q)
}

func (r *retriever) Retrieve(ctx context.Context, q retrieve.Request) (retrieve.Result, error) {
	if r.retrieve == nil {
		return retrieve.Result{Fragments: []domain.Fragment{fragment}}, nil
	}
	return r.retrieve(ctx, q)
}

var fragment = domain.Fragment{
	ChunkID: "c", Text: "The trial lasts 30 days.", Score: 0.75, Source: "handbook.pdf#page=3", DatasourceID: "ds",
	DatasourceName: "handbook.pdf", Page: 3, Heading: "Trial", MIMEType: "application/pdf", Metadata: map[string]any{"author": "Ada"},
	Runs: domain.TextRuns{{Length: 24}},
}

type answerer struct {
	answer func(context.Context, answer.Request, func(string) error) (answer.Answer, error)
}

func (a *answerer) Answer(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
	if a.answer == nil {
		return tokens("The trial", " lasts", " 30 days [1].")(ctx, r, emit)
	}
	return a.answer(ctx, r, emit)
}

// tokens returns a function that answers with these pieces of text and cites one source.
func tokens(pieces ...string) func(context.Context, answer.Request, func(string) error) (answer.Answer, error) {
	return func(_ context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		for _, piece := range pieces {
			if emit == nil {
				break
			}
			if err := emit(piece); err != nil {
				return answer.Answer{}, err
			}
		}
		source := fragment
		source.Citation = 1
		answer := answer.Answer{Text: strings.Join(pieces, ""), ConversationID: r.ConversationID, VisitorID: r.VisitorID, Sources: []domain.Fragment{source}, PromptTokens: 5, CompletionTokens: 2}
		if answer.ConversationID == "" {
			answer.ConversationID = newConversation
		}
		if answer.VisitorID == "" {
			answer.VisitorID = newVisitor
		}
		answer.Text = lineends.Normalize(answer.Text)
		answer.Judge(r.Agent)
		return answer, nil
	}
}

// Ids that the answerer assigns to new conversations and visitors.
const (
	newConversation = "0198c0de-0000-7000-8000-00000000c001"
	newVisitor      = "0198c0de-0000-7000-8000-00000000f001"
)

type planner struct {
	plan func(context.Context, crawl.PlanRequest, func(crawl.PlanEntry) error) (crawl.PlanSummary, error)
}

func (p *planner) Plan(ctx context.Context, r crawl.PlanRequest, emit func(crawl.PlanEntry) error) (crawl.PlanSummary, error) {
	if p.plan == nil {
		return crawl.PlanSummary{Root: r.Spec.URL, Decisions: map[crawl.Decision]int{crawl.PlanPage: 1}}, emit(crawl.PlanEntry{URL: r.Spec.URL, Decision: crawl.PlanPage})
	}
	return p.plan(ctx, r, emit)
}

type watcher struct {
	watch   func(context.Context, string) (<-chan string, error)
	changed func(datastoreID, datasourceID string)
}

func (w *watcher) Changed(datastoreID, datasourceID string) {
	if w.changed != nil {
		w.changed(datastoreID, datasourceID)
	}
}

func (w *watcher) Watch(ctx context.Context, datastoreID string) (<-chan string, error) {
	if w.watch == nil {
		changes := make(chan string)
		close(changes)
		return changes, nil
	}
	return w.watch(ctx, datastoreID)
}

type chunks struct {
	read func(context.Context, domain.Datasource, int, int) ([]domain.Chunk, error)
}

func (c *chunks) Chunks(ctx context.Context, d domain.Datasource, from, limit int) ([]domain.Chunk, error) {
	if c.read != nil {
		return c.read(ctx, d, from, limit)
	}
	var out []domain.Chunk
	for n := from; n < int(d.Chunks) && len(out) < limit; n++ {
		out = append(out, domain.Chunk{Ordinal: n, Text: fmt.Sprintf("chunk %d", n), Page: 1 + n, Offset: 10 * n})
	}
	return out, nil
}

func detectType(head []byte, name, _ string) string {
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return format.TypeZip
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return "application/pdf"
	case bytes.HasPrefix(head, []byte("MZ")):
		return "application/x-msdownload"
	default:
		return "text/plain"
	}
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
