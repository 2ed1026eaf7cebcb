package retrieve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture stands in for everything a Retriever depends on. Tests can replace each function.
type fixture struct {
	search  func(ctx context.Context, space index.Space, q index.Query) (index.Result, error)
	embed   func(ctx context.Context, texts []string) ([][]float32, error)
	count   func(ctx context.Context, space index.Space, q index.CountQuery) (index.Counts, error)
	active  map[string]domain.ActiveDatasource
	serving func() (domain.Place, error)
	resolve func(f domain.Filters) ([]string, error)

	mu     sync.Mutex
	rows   []index.Row     // rows of all hits
	filled int             // hits whose rows were requested
	gone   map[string]bool // keys of rows removed after being found
	unread error           // error from reading rows
	stored []index.Row     // rows returned by Rows
}

func (w *fixture) Index(domain.Engine) (Searcher, error) { return w, nil }

// Search calls w.search, but returns only what an index must return with a hit. Fill provides the rest.
func (w *fixture) Search(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
	res, err := w.search(ctx, space, q)
	w.mu.Lock()
	defer w.mu.Unlock()
	hits := res.Hits
	res.Allocate(len(hits)) // as engines do
	copy(res.Hits, hits)
	for i := range res.Hits {
		h := &res.Hits[i]
		w.rows = append(w.rows, h.Row)
		h.Row = index.Row{Key: h.Key, DatasourceID: h.DatasourceID, Generation: h.Generation, Ordinal: h.Ordinal}
		h.Location = uint64(len(w.rows) - 1)
	}
	return res, err
}

func (w *fixture) CountValues(ctx context.Context, space index.Space, q index.CountQuery) (index.Counts, error) {
	return w.count(ctx, space, q)
}

func (w *fixture) Rows(_ context.Context, _ index.Space, datasource string, generation uint64, from, limit int) ([]index.Row, error) {
	var out []index.Row
	for _, r := range w.stored {
		if r.DatasourceID == datasource && r.Generation == generation && r.Ordinal >= from && len(out) < limit {
			out = append(out, r)
		}
	}
	return out, nil
}

func (w *fixture) Fill(_ context.Context, _ index.Space, hits []*index.Hit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range hits {
		w.filled++
		if !w.gone[h.Key] {
			h.Row, h.Complete = w.rows[h.Location], true
		}
	}
	return w.unread
}

func (w *fixture) Embedder(model string) (embed.Embedder, error) { return embedder{w, model}, nil }
func (w *fixture) ActiveOf(_ context.Context, ids []string) ([]*domain.ActiveDatasource, error) {
	out := make([]*domain.ActiveDatasource, len(ids))
	for i, id := range ids {
		if d, ok := w.active[id]; ok {
			out[i] = &d
		}
	}
	return out, nil
}
func (w *fixture) ServingPlace(context.Context, string) (domain.Place, error) { return w.serving() }
func (w *fixture) ResolveFilters(_ context.Context, _ []string, f domain.Filters) ([]string, error) {
	return w.resolve(f)
}

type embedder struct {
	w     *fixture
	model string
}

func (e embedder) Model() embed.Model { return embed.Model{ID: e.model, Dimensions: 2} }
func (e embedder) Embed(ctx context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	return e.w.embed(ctx, texts)
}

var store = domain.Datastore{ID: "ds", WorkspaceID: "ws", Type: domain.EngineEmbedded, EmbeddingModel: "openai:x"}

// newFixture returns a fixture that finds the hits in every space. Hits without a generation belong to generation 1.
// Their datasources are active text datasources.
func newFixture(hits ...index.Hit) *fixture {
	w := &fixture{active: make(map[string]domain.ActiveDatasource)}
	for i := range hits {
		h := &hits[i]
		if h.Generation == 0 {
			h.Generation = 1
		}
		if h.Key == "" {
			h.Key = domain.ChunkKey(h.DatasourceID, h.Generation, h.Ordinal)
		}
		if h.Text == "" {
			h.Text = h.Key
		}
		w.active[h.DatasourceID] = domain.ActiveDatasource{
			ID: h.DatasourceID, DatastoreID: "ds", Type: domain.TypeText, Name: "name of " + h.DatasourceID, ActiveGeneration: 1,
			Place: store.Serving(),
		}
	}
	w.search = func(_ context.Context, _ index.Space, q index.Query) (index.Result, error) {
		return index.Result{Hits: hits[:min(len(hits), q.Limit)], MaxLexical: 10, TermWeights: map[string]float64{"gate": 2}}, nil
	}
	w.embed = func(_ context.Context, texts []string) ([][]float32, error) {
		return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
	}
	w.serving = func() (domain.Place, error) { return store.Serving(), nil }
	w.resolve = func(domain.Filters) ([]string, error) { return nil, errors.New("not asked for") }
	return w
}

func hit(datasource string, ordinal int, lexical, dense float64) index.Hit {
	return index.Hit{Row: index.Row{DatasourceID: datasource, Ordinal: ordinal}, Lexical: lexical, Dense: dense}
}

func (w *fixture) retriever(opts Options) *Retriever {
	return New(Deps{Indexes: w, Embedders: w, Catalog: w}, opts)
}

func ask(mod ...func(*Request)) Request {
	req := Request{WorkspaceID: "ws", Datastores: []domain.Datastore{store}, Query: "gate"}
	for _, f := range mod {
		f(&req)
	}
	return req
}

func ids(fs []domain.Fragment) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.DatasourceID)
	}
	return out
}

func TestRetrieveRanks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		hits []index.Hit
		opts Options
		want []string
	}{
		"a hit that both legs like comes first":               {[]index.Hit{hit("lex", 0, 6, 0.1), hit("both", 0, 5, 0.6), hit("dense", 0, 0, 0.6)}, Options{}, []string{"both", "lex", "dense"}},
		"without dense weight words alone decide":             {[]index.Hit{hit("b", 0, 5, 0.9), hit("a", 0, 6, 0)}, Options{Weights: map[string]float64{"openai:x": 0}}, []string{"a", "b"}},
		"with all weight on the dense leg vectors decide":     {[]index.Hit{hit("b", 0, 9, 0.1), hit("a", 0, 0, 0.9)}, Options{Weights: map[string]float64{"openai:x": 1}}, []string{"a", "b"}},
		"neighbours lift no document above a better one":      {[]index.Hit{hit("alone", 5, 5.5, 0.5), hit("pair", 0, 5, 0.5), hit("pair", 1, 4.9, 0.5)}, Options{}, []string{"alone", "pair"}},
		"equal scores are ordered by key, so that runs agree": {[]index.Hit{hit("c", 0, 1, 0), hit("a", 0, 1, 0), hit("b", 0, 1, 0)}, Options{}, []string{"a", "b", "c"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := newFixture(test.hits...).retriever(test.opts).Retrieve(t.Context(), ask())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, ids(res.Fragments)); diff != "" {
				t.Fatal(diff)
			}
			for i, f := range res.Fragments {
				if f.Score < 0 || f.Score > 1 || i > 0 && f.Score > res.Fragments[i-1].Score {
					t.Fatalf("scores are not falling within 0 to 1: %v", res.Fragments)
				}
			}
		})
	}
}

func TestRetrieveScoresReflectRelevance(t *testing.T) {
	t.Parallel()
	noise := func() []index.Hit {
		var hs []index.Hit
		for i := range 60 {
			hs = append(hs, hit(fmt.Sprintf("n%02d", i), 0, 0.3, 0.1+float64(i%5)/50))
		}
		return hs
	}
	nothing, err := newFixture(noise()...).retriever(Options{}).Retrieve(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	something, err := newFixture(append(noise(), hit("x", 0, 7, 0.8))...).retriever(Options{}).Retrieve(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	if s := nothing.Fragments[0].Score; s > 0.2 {
		t.Errorf("the best of nothing relevant scores %.2f", s)
	}
	if s := something.Fragments[0].Score; s < 0.7 {
		t.Errorf("a hit with most words and the meaning scores %.2f", s)
	}
}

func TestRetrieveDropsInactiveRows(t *testing.T) {
	t.Parallel()
	old := hit("a", 0, 9, 0.9)
	old.Generation = 2
	w := newFixture(old, hit("a", 1, 1, 0), hit("gone", 0, 9, 0.9), hit("elsewhere", 0, 9, 0.9), hit("fresh", 0, 9, 0.9))
	delete(w.active, "gone")
	w.active["elsewhere"] = domain.ActiveDatasource{ID: "elsewhere", DatastoreID: "another", ActiveGeneration: 1}
	w.active["fresh"] = domain.ActiveDatasource{ID: "fresh", DatastoreID: "ds", Place: store.Serving()}
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Explain = true }))
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Fragments) != 1 || res.Fragments[0].ChunkID != "a:1:1" {
		t.Fatalf("got %+v", res.Fragments)
	}
	if res.Explanation.Dropped.Inactive != 4 || res.Explanation.Candidates != 1 {
		t.Fatalf("got %+v", res.Explanation)
	}
}

func TestRetrieveSearchesDeeperWhileInactiveRowsFillTheTop(t *testing.T) {
	t.Parallel()
	var hits []index.Hit
	for i := range 2500 {
		h := hit("a", i, 9, 0.9)
		h.Generation = 7 // being written, not yet active
		hits = append(hits, h)
	}
	hits = append(hits, hit("b", 0, 1, 0))
	w := newFixture(hits...)
	var mu sync.Mutex
	var depths []int
	search := w.search
	w.search = func(ctx context.Context, s index.Space, q index.Query) (index.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		depths = append(depths, q.Limit)
		return search(ctx, s, q)
	}
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b"}, ids(res.Fragments)); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]int{100, 500, 2500, 10_000}, depths); diff != "" {
		t.Fatal(diff)
	}
}

func TestRetrieveSearchesAgainIfAGenerationBecameActive(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("manual", 0, 9, 0.9))
	serve := w.search
	searches := 0
	w.search = func(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
		searches++
		res, err := serve(ctx, space, q)
		if searches == 1 { // generation 2 becomes active after the search
			d := w.active["manual"]
			d.ActiveGeneration = 2
			w.active["manual"] = d
			return res, err
		}
		newer := hit("manual", 0, 9, 0.9)
		newer.Generation, newer.Key, newer.Text = 2, "manual.2.0", "the new version"
		res.Hits = append(append([]index.Hit(nil), res.Hits...), newer)
		return res, err
	}
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Fragments) != 1 || res.Fragments[0].Text != "the new version" || searches != 2 {
		t.Errorf("%d searches found %v, want the new version in 2", searches, res.Fragments)
	}
}

func TestRetrieveSearchesAgainOnlyOnceForRowsThatASweepHasNotReached(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("manual", 0, 9, 0.9))
	d := w.active["manual"]
	d.ActiveGeneration = 2 // none of whose rows match the query
	w.active["manual"] = d
	serve, searches := w.search, 0
	w.search = func(ctx context.Context, space index.Space, q index.Query) (index.Result, error) {
		searches++
		return serve(ctx, space, q)
	}
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask())
	if err != nil || len(res.Fragments) != 0 || searches != 2 {
		t.Errorf("%d searches found %v, err %v", searches, res.Fragments, err)
	}
}

func TestRetrieveFoldsEqualTexts(t *testing.T) {
	t.Parallel()
	a, b, c := hit("a", 0, 5, 0), hit("b", 0, 6, 0), hit("c", 0, 1, 0)
	a.Text, b.Text, c.Text = "Open the gate.", "Open  the\ngate.", "Close it."
	res, err := newFixture(a, b, c).retriever(Options{}).Retrieve(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "c"}, ids(res.Fragments)); diff != "" {
		t.Fatal(diff)
	}
}

func TestRetrieveFusesDatastoresOfDifferentModels(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 0, 0), hit("b", 0, 0, 0), hit("p", 0, 0, 0), hit("q", 0, 0, 0))
	other := domain.Datastore{ID: "ds2", WorkspaceID: "ws", EmbeddingModel: "openai:y"}
	plain := domain.Datastore{ID: "ds3", WorkspaceID: "ws"}
	for id, in := range map[string]domain.Datastore{"p": other, "q": plain} {
		d := w.active[id]
		d.DatastoreID, d.Place = in.ID, in.Serving()
		w.active[id] = d
	}
	w.search = func(_ context.Context, s index.Space, q index.Query) (index.Result, error) {
		key := func(h index.Hit) index.Hit { h.Generation, h.Key, h.Text = 1, h.DatasourceID, h.DatasourceID; return h }
		switch s.Model {
		case "openai:x":
			return index.Result{Hits: []index.Hit{key(hit("a", 0, 8, 0.7)), key(hit("b", 0, 1, 0.2))}, MaxLexical: 10}, nil
		case "openai:y": // a model with high cosines, and a small space in which words have large weights
			return index.Result{Hits: []index.Hit{key(hit("p", 0, 10, 0.85))}, MaxLexical: 40}, nil
		default:
			if q.Vector != nil || s.Dimensions != 0 {
				return index.Result{}, errors.New("a space without a model was asked for vectors")
			}
			return index.Result{Hits: []index.Hit{key(hit("q", 0, 7, 0))}, MaxLexical: 10}, nil
		}
	}
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Datastores = []domain.Datastore{store, other, plain} }))
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(res.Fragments); len(got) != 4 || got[3] != "b" {
		t.Fatalf("the one irrelevant hit is not last: %v", got)
	}
}

func TestRetrieveFilters(t *testing.T) {
	t.Parallel()
	t.Run("what the ids select is searched, with the metadata", func(t *testing.T) {
		t.Parallel()
		w := newFixture(hit("a", 0, 1, 0))
		w.resolve = func(f domain.Filters) ([]string, error) {
			if len(f.CustomIDs) != 1 || f.CustomIDs[0] != "c1" {
				return nil, fmt.Errorf("got %+v", f)
			}
			return []string{"a"}, nil
		}
		var got index.Filter
		search := w.search
		w.search = func(ctx context.Context, s index.Space, q index.Query) (index.Result, error) {
			got = q.Filter
			return search(ctx, s, q)
		}
		req := ask(func(r *Request) {
			r.Filters = domain.Filters{CustomIDs: []string{"c1"}, Metadata: map[string]any{"year": 2024.0}}
		})
		if _, err := w.retriever(Options{}).Retrieve(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		want := index.Filter{DatasourceIDs: []string{"a"}, Metadata: map[string]any{"year": 2024.0}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
	t.Run("ids that select nothing find nothing, without a search", func(t *testing.T) {
		t.Parallel()
		w := newFixture()
		w.resolve = func(domain.Filters) ([]string, error) { return []string{}, nil }
		w.search = func(context.Context, index.Space, index.Query) (index.Result, error) {
			return index.Result{}, errors.New("searched")
		}
		res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Filters.DatasourceIDs = []string{"x"} }))
		if err != nil || len(res.Fragments) != 0 {
			t.Fatalf("got %v, %v", res.Fragments, err)
		}
	})
}

func TestRetrieveFails(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	tests := map[string]struct {
		world func(*fixture)
		opts  Options
		req   Request
		want  domain.Code
		says  string
	}{
		"as invalid when there is no query":                    {req: ask(func(r *Request) { r.Query = " \n" }), want: domain.CodeInvalid, says: "query"},
		"as invalid naming every fault":                        {req: ask(func(r *Request) { r.Query, r.TopK = strings.Repeat("水", 8001), 101 }), want: domain.CodeInvalid, says: "8000; topK: is 101"},
		"as not found when a datastore is another workspace's": {req: ask(func(r *Request) { r.WorkspaceID = "other" }), want: domain.CodeNotFound, says: `"ds"`},
		"as unavailable when the embedder is down":             {world: func(w *fixture) { w.embed = func(context.Context, []string) ([][]float32, error) { return nil, down } }, req: ask(), want: domain.CodeUnavailable, says: "openai:x"},
		"as unavailable when the index is down": {world: func(w *fixture) {
			w.search = func(context.Context, index.Space, index.Query) (index.Result, error) { return index.Result{}, down }
		}, req: ask(), want: domain.CodeUnavailable, says: "ds"},
		"as unavailable when the search takes longer than its limit": {world: func(w *fixture) { w.embed = hang }, opts: Options{Timeout: time.Millisecond}, req: ask(), want: domain.CodeUnavailable, says: "1ms"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(hit("a", 0, 1, 0))
			if test.world != nil {
				test.world(w)
			}
			_, err := w.retriever(test.opts).Retrieve(t.Context(), test.req)
			if domain.CodeOf(err) != test.want || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("got %v (%s)", err, domain.CodeOf(err))
			}
		})
	}
}

func hang(ctx context.Context, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestRetrieveReturnsTheCallersCancellation(t *testing.T) {
	t.Parallel()
	w := newFixture()
	ctx, cancel := context.WithCancel(t.Context())
	w.embed = func(ctx context.Context, texts []string) ([][]float32, error) { cancel(); return hang(ctx, texts) }
	if _, err := w.retriever(Options{LexicalFallback: true}).Retrieve(ctx, ask()); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestRetrieveFallsBackToLexicalSearchIfAllowed(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 5, 0))
	w.embed = func(context.Context, []string) ([][]float32, error) { return nil, errors.New("down") }
	res, err := w.retriever(Options{LexicalFallback: true}).Retrieve(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Fragments) != 1 || !strings.Contains(res.Degraded, "only by words") {
		t.Fatalf("got %+v", res)
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		d      domain.ActiveDatasource
		page   int
		anchor string
		want   string
	}{
		"a part of a page is its anchor":        {domain.ActiveDatasource{Type: domain.TypeWebPage, SourceURL: "https://a.example/x?y=1"}, 0, "get-user", "https://a.example/x?y=1#get-user"},
		"an anchor is escaped":                  {domain.ActiveDatasource{Type: domain.TypeWebPage, SourceURL: "https://a.example/x"}, 0, `größe"<>50%`, "https://a.example/x#gr%C3%B6%C3%9Fe%22%3C%3E50%25"},
		"a fragment that is there stays":        {domain.ActiveDatasource{Type: domain.TypeWebPage, SourceURL: "https://a.example/#/x"}, 0, "a", "https://a.example/#/x"},
		"a file has no anchor":                  {domain.ActiveDatasource{Type: domain.TypeFile, FileName: "a.html"}, 0, "a", "a.html"},
		"a page is its address":                 {domain.ActiveDatasource{Type: domain.TypeWebPage, SourceURL: "https://a.example/x"}, 0, "", "https://a.example/x"},
		"a file is its name":                    {domain.ActiveDatasource{Type: domain.TypeFile, FileName: "a.txt"}, 0, "", "a.txt"},
		"a file with pages names the page":      {domain.ActiveDatasource{Type: domain.TypeFile, FileName: "a.pdf", Metadata: map[string]any{"source": "s"}}, 3, "", "a.pdf#page=3"},
		"subtitles name the time":               {domain.ActiveDatasource{Type: domain.TypeFile, FileName: "a.vtt"}, 0, "t=00:12:31", "a.vtt#t=00:12:31"},
		"a text is what its metadata says":      {domain.ActiveDatasource{Type: domain.TypeText, Metadata: map[string]any{"source": "s"}}, 0, "", "s"},
		"a source that is no string is ignored": {domain.ActiveDatasource{Type: domain.TypeText, Metadata: map[string]any{"source": 7}}, 0, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := source(test.d, test.page, test.anchor); got != test.want {
				t.Fatalf("got %q, want %q", got, test.want)
			}
		})
	}
}
