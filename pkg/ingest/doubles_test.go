package ingest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/originals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errDown = errors.New("engine is down")
	at      = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func now() time.Time { return at }

// log records the events that a worker emits. If `refuse` is set and returns an error, Emit returns that error.
type log struct {
	brief  bool // without the event that ingestors send for a job which takes longer than progressAfter
	events []domain.Event
	refuse func(domain.Event) error
}

func (l *log) Emit(_ context.Context, ev domain.Event) error {
	if l.brief && ev.Type == domain.EventRunning {
		return nil
	}
	if l.refuse != nil {
		if err := l.refuse(ev); err != nil {
			return err
		}
	}
	l.events = append(l.events, ev)
	return nil
}

func (l *log) types() []domain.EventType {
	var out []domain.EventType
	for _, ev := range l.events {
		out = append(out, ev.Type)
	}
	return out
}

// last returns the most recent event and requires it to have the given type.
func (l *log) last(t *testing.T, want domain.EventType) domain.Event {
	t.Helper()
	if len(l.events) == 0 || l.events[len(l.events)-1].Type != want {
		t.Fatalf("the events are %v, want %s at the end", l.types(), want)
	}
	return l.events[len(l.events)-1]
}

// ingestorFixture simulates everything an Ingestor uses. Tests can replace each of its functions.
type ingestorFixture struct {
	get      func(key string) (io.ReadCloser, error)
	extract  func(extract.Request) (*domain.Document, error)
	chunks   func(*domain.Document) ([]domain.Chunk, error)
	embedder func(model string) (embed.Embedder, error)
	embed    func(texts []string) ([][]float32, error)
	write    func(index.Space, []index.Row) error
	engine   func(domain.Engine) (Index, error)
	now      func() time.Time

	quiet bool // the test expects log messages

	batches [][]string // texts embedded in each call
	rows    []index.Row
	spaces  []index.Space
	log     log
}

func (p *ingestorFixture) Take(_ context.Context, key string) (io.ReadCloser, error) {
	return p.get(key)
}
func (p *ingestorFixture) Extract(_ context.Context, r extract.Request) (*domain.Document, error) {
	return p.extract(r)
}
func (p *ingestorFixture) Chunker(domain.Chunking) Chunker                   { return p }
func (p *ingestorFixture) Chunks(d *domain.Document) ([]domain.Chunk, error) { return p.chunks(d) }
func (p *ingestorFixture) Version() string                                   { return "halves" }
func (p *ingestorFixture) Index(e domain.Engine) (Index, error)              { return p.engine(e) }
func (p *ingestorFixture) Embedder(model string) (embed.Embedder, error)     { return p.embedder(model) }
func (p *ingestorFixture) Model() embed.Model                                { return embed.Model{ID: "model-1", Dimensions: 2} }
func (p *ingestorFixture) Embed(_ context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	if purpose != embed.Passage {
		return nil, errors.New("content is embedded as a query")
	}
	p.batches = append(p.batches, slices.Clone(texts))
	return p.embed(texts)
}

// written is an ingestorFixture's index. It records the rows written to it, but its read methods never return any.
type written struct{ *ingestorFixture }

func (w written) Write(_ context.Context, space index.Space, rows []index.Row) error {
	if err := w.write(space, rows); err != nil {
		return err
	}
	w.spaces, w.rows = append(w.spaces, space), append(w.rows, rows...)
	return nil
}

func (w written) Rows(context.Context, index.Space, string, uint64, int, int) ([]index.Row, error) {
	return nil, nil
}
func (w written) Count(context.Context, index.Space, string, uint64) (int64, error) { return 0, nil }
func (w written) Spaces(context.Context, string) ([]index.Space, error)             { return nil, nil }

// newPipeline returns a fixture that splits every document into the given number of chunks.
func newPipeline(chunks int) *ingestorFixture {
	p := &ingestorFixture{now: now}
	p.log.brief = true
	p.get = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("content")), nil }
	p.extract = func(extract.Request) (*domain.Document, error) {
		return &domain.Document{Title: "Pumps", MIMEType: "application/pdf", Warnings: []string{"page 3 has no text"}}, nil
	}
	p.chunks = func(*domain.Document) ([]domain.Chunk, error) {
		out := make([]domain.Chunk, chunks)
		for i := range out {
			out[i] = domain.Chunk{Ordinal: i, Text: "text", Context: "Pumps"}
		}
		return out, nil
	}
	p.embedder = func(string) (embed.Embedder, error) { return p, nil }
	p.embed = func(texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i := range out {
			out[i] = []float32{1, 0}
		}
		return out, nil
	}
	p.write = func(index.Space, []index.Row) error { return nil }
	p.engine = func(domain.Engine) (Index, error) { return written{p}, nil }
	return p
}

func (p *ingestorFixture) handle(t *testing.T, job domain.Job) error {
	t.Helper()
	return p.ingestor().Handle(t.Context(), job)
}

func ingestJob() domain.Job {
	return domain.Job{
		ID: "job", Kind: domain.JobIngest, WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src", Type: domain.TypeFile,
		Name: "handbook", CustomID: "custom", Metadata: map[string]any{"lang": "en"}, Generation: 7, Delivery: 1,
		Places:   []domain.Place{{Engine: domain.EngineEmbedded, Model: "model-1"}},
		Original: &domain.Original{Key: "key", SHA256: "sum", Name: "handbook.pdf", MIMEType: "application/pdf"},
	}
}

// web simulates the web and the store of originals. Tests can replace each of its functions.
type web struct {
	fetch    func(crawl.PageRequest) (crawl.Page, error)
	discover func(domain.CrawlSpec, func([]domain.Link) error) (crawl.Discovery, error)
	put      func(key string, content []byte, o originals.PutOptions) (domain.Original, error)
	kept     []string // keys of the stored originals
	log      log
}

func (w *web) Fetch(_ context.Context, r crawl.PageRequest) (crawl.Page, error) { return w.fetch(r) }
func (w *web) Discover(_ context.Context, s domain.CrawlSpec, emit func([]domain.Link) error) (crawl.Discovery, error) {
	return w.discover(s, emit)
}

func (w *web) Put(_ context.Context, key string, r io.Reader, o originals.PutOptions) (domain.Original, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return domain.Original{}, err
	}
	w.kept = append(w.kept, key)
	return w.put(key, content, o)
}

// newWeb returns a web that serves the same page at every address.
func newWeb(page crawl.Page) *web {
	w := &web{}
	w.fetch = func(crawl.PageRequest) (crawl.Page, error) {
		if !page.NotModified {
			page.Body = &crawl.Body{ReadSeeker: strings.NewReader("<p>Pumps")}
		}
		return page, nil
	}
	w.put = func(key string, content []byte, o originals.PutOptions) (domain.Original, error) {
		return domain.Original{Key: key, SHA256: "of " + string(content), Size: int64(len(content)), MIMEType: o.MIMEType, Name: o.Name}, nil
	}
	return w
}

func (w *web) handle(t *testing.T, job domain.Job) error {
	t.Helper()
	c := Crawler{Web: w, Originals: w, Events: &w.log, Now: now}
	return c.Handle(t.Context(), job)
}

func crawlJob() domain.Job {
	return domain.Job{
		ID: "job", Kind: domain.JobCrawl, WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "page", Type: domain.TypeWebPage,
		Generation: 7, Crawl: &domain.CrawlSpec{URL: "https://pumps.example/a", ETag: `"1"`, LastModified: "yesterday"},
	}
}

func (p *ingestorFixture) ingestor() *Ingestor {
	i := &Ingestor{Originals: p, Extractor: p, Chunkers: p, Embedders: p, Indexes: p, Events: &p.log, Now: p.now}
	if p.quiet {
		i.Log = silent
	}
	return i
}

func (p *ingestorFixture) fingerprint(t *testing.T, job domain.Job) string {
	t.Helper()
	f, err := p.ingestor().fingerprint(job)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
