package retrieve

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/searchsettings"
)

// settingsOf is a SettingsReader with the same settings for every datastore.
type settingsOf struct{ *searchsettings.Compiled }

func (s settingsOf) Settings(_ context.Context, id string, version int64) (*searchsettings.Compiled, error) {
	if version != 7 {
		return nil, domain.NotFound("version", id)
	}
	return s.Compiled, nil
}

// controlled returns a retriever for w with the given settings for its datastore, and a function that queries it.
func controlled(t *testing.T, w *fixture, settings string) (*Retriever, func(...func(*Request)) Result) {
	t.Helper()
	s, faults := searchsettings.Parse([]byte(settings))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	compiled, err := s.Compile()
	if err != nil {
		t.Fatal(err)
	}
	r := w.retriever(atNoon())
	r.deps.Settings = settingsOf{compiled}
	return r, func(mod ...func(*Request)) Result {
		t.Helper()
		res, err := r.Retrieve(t.Context(), ask(append([]func(*Request){explained, versioned}, mod...)...))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
}

func versioned(r *Request) {
	ds := store
	ds.SearchVersion = 7
	r.Datastores = []domain.Datastore{ds}
}

func TestBoostsOfTheSettings(t *testing.T) {
	t.Parallel()
	_, ask := controlled(t, described(), `{"boosts":[{"type":"value","key":"team","value":"ops"},{"type":"number","key":"team","pivot":1}]}`)
	res := ask()
	if diff := cmp.Diff([]string{"b", "a", "c"}, ids(res.Fragments)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e := res.Explanation; e.Datastores[0].SettingsVersion != 7 || len(e.Notes) == 0 || !strings.Contains(e.Notes[0], `boosts[1].key is "team", but a document has the value`) {
		t.Errorf("explained by %+v", e)
	}
	if res := ask(boosted(t, `[]`)); res.Fragments[0].DatasourceID != "a" {
		t.Errorf("a query without boosts finds %v", ids(res.Fragments))
	}
	if res := ask(func(r *Request) { r.Datastores[0].SearchVersion = 6 }); res.Fragments[0].DatasourceID != "a" {
		t.Errorf("a version that is gone applies: %v", ids(res.Fragments))
	}
}

func TestRulesReachTheIndex(t *testing.T) {
	t.Parallel()
	w := described()
	search := w.search
	var got index.Query
	w.search = func(ctx context.Context, s index.Space, q index.Query) (index.Result, error) {
		got = q
		return search(ctx, s, q)
	}
	_, ask := controlled(t, w, `{"synonyms":["gate, door"]}`)
	if res := ask(); got.Rules == nil || res.Rules != got.Rules {
		t.Errorf("the index got the rules %v, the caller %v", got.Rules, res.Rules)
	}
}

func TestPinnedDocuments(t *testing.T) {
	t.Parallel()
	const pins = `{"pins":[
		{"query":"Gate!","documents":[{"customId":"faq"},{"datasourceId":"c"},{"datasourceId":"gone"},{"datasourceId":"other"}]},
		{"query":"iron gate","match":"contains","documents":[{"datasourceId":"b","chunk":4}]},
		{"query":"closed","block":[{"datasourceId":"a"},{"customId":"faq"}]}]}`
	w := described()
	w.describe("faq1", func(d *domain.ActiveDatasource) {
		*d = domain.ActiveDatasource{ID: "faq1", CustomID: "faq", DatastoreID: "ds", Type: domain.TypeText, ActiveGeneration: 1, Place: store.Serving(), Metadata: map[string]any{"team": "docs"}}
	})
	w.describe("other", func(d *domain.ActiveDatasource) {
		*d = domain.ActiveDatasource{ID: "other", DatastoreID: "another", ActiveGeneration: 1, Place: store.Serving()}
	})
	for _, row := range []index.Row{{DatasourceID: "faq1", Text: "Questions."}, {DatasourceID: "b", Ordinal: 4, Text: "The last part."}, {DatasourceID: "other", Text: "Secret."}} {
		row.Generation, row.Key = 1, domain.ChunkKey(row.DatasourceID, 1, row.Ordinal)
		w.stored = append(w.stored, row)
	}
	w.resolve = func(f domain.Filters) ([]string, error) {
		switch {
		case slices.Contains(f.CustomIDs, "faq"):
			return []string{"faq1"}, nil
		case len(f.DatasourceIDs) > 0:
			return f.DatasourceIDs, nil
		}
		return []string{}, nil
	}
	w.count = func(_ context.Context, _ index.Space, q index.CountQuery) (index.Counts, error) {
		if len(q.Filter.DatasourceIDs) == 1 && q.Filter.DatasourceIDs[0] == "faq1" && q.Filter.Where.Values[0].Text() == "docs" {
			return index.Counts{Documents: 1}, nil
		}
		return index.Counts{}, nil
	}
	_, find := controlled(t, w, pins)
	team := func(name string) func(*Request) {
		return func(r *Request) {
			r.Where = &filter.Filter{Op: filter.Eq, Key: "team", Values: []filter.Value{filter.TextOf(name)}}
		}
	}
	query := func(text string) func(*Request) { return func(r *Request) { r.Query = text } }
	for name, c := range map[string]struct {
		mod  []func(*Request)
		want []string
	}{
		"the same words":              {nil, []string{"faq1", "c", "a", "b"}},
		"in lower case, with accents": {[]func(*Request){query("  GÁTE ")}, []string{"faq1", "c", "a", "b"}},
		"other words besides":         {[]func(*Request){query("the gate")}, []string{"a", "b", "c"}},
		"one of several queries":      {[]func(*Request){query("fence"), func(r *Request) { r.Parts = []string{"gate"} }}, []string{"faq1", "c", "a", "b"}},
		"a phrase in the query":       {[]func(*Request){query("which iron gate is it")}, []string{"b", "a", "b", "c"}},
		"words in another order":      {[]func(*Request){query("gate of iron")}, []string{"a", "b", "c"}},
		"hidden":                      {[]func(*Request){query("closed")}, []string{"b", "c"}},
		"a limit":                     {[]func(*Request){func(r *Request) { r.TopK = 1 }}, []string{"faq1"}},
		"a filter that it matches":    {[]func(*Request){team("docs")}, []string{"faq1", "c", "a", "b"}},
		"a filter that it does not":   {[]func(*Request){team("ops")}, []string{"c", "a", "b"}},
		"another document":            {[]func(*Request){func(r *Request) { r.Filters.DatasourceIDs = []string{"a", "b", "c"} }}, []string{"c", "a", "b"}},
		"by meaning":                  {[]func(*Request){func(r *Request) { r.Mode = domain.SearchDense }}, []string{"faq1", "c", "a", "b"}},
	} {
		res := find(c.mod...)
		got := ids(res.Fragments)
		if len(c.want) != len(got) || len(got) > 2 && !slices.Equal(got[:2], c.want[:2]) || got[0] != c.want[0] {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for i, f := range res.Fragments {
			if res.Explanation.Fragments[i].Pinned != (f.Score == 1) || i > 0 && f.Score > res.Fragments[i-1].Score || strings.Contains(f.Text, "Secret") {
				t.Errorf("%s: fragment %d has the score %v, and pinned is %t", name, i, f.Score, res.Explanation.Fragments[i].Pinned)
			}
		}
	}
	if res := find(query("which iron gate")); res.Fragments[0].Text != "The last part." {
		t.Errorf("the pinned chunk is not first: %q", res.Fragments[0].Text)
	}
	if res := find(query("closed")); res.Explanation.Dropped.Blocked != 1 {
		t.Errorf("%d hits were hidden", res.Explanation.Dropped.Blocked)
	}
}

func TestAPinnedDuplicateIsShown(t *testing.T) {
	t.Parallel()
	text := "The gate of the garden is closed at night and opened in the morning by the gardener."
	w := newFixture(chunk("a", 0, 6, 0, text), chunk("b", 0, 5, 0, text), chunk("c", 0, 4, 0, "Another gate."))
	_, find := controlled(t, w, `{"pins":[{"query":"gate","documents":[{"datasourceId":"b"}]}]}`)
	if got := ids(find().Fragments); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("found %v, want b in place of a", got)
	}
}

func TestStopWordsOfOneDatastoreAreNotThoseOfAnother(t *testing.T) {
	t.Parallel()
	_, ask := controlled(t, described(), `{"synonyms":["gate, door"],"stopWords":["iron"]}`)
	names := func(rules *analysis.Rules) (out []string) {
		for _, q := range analysis.QueryWith("iron gate", []analysis.Language{analysis.English}, rules) {
			out = append(out, q.Name)
		}
		return out
	}
	if diff := cmp.Diff([]string{"gate"}, names(ask().Rules)); diff != "" {
		t.Errorf("in the datastore with settings (-want +got):\n%s", diff)
	}
	both := ask(func(r *Request) {
		other := store
		other.ID = "other"
		r.Datastores = append(r.Datastores, other)
	}).Rules
	if diff := cmp.Diff([]string{"iron", "gate"}, names(both)); diff != "" {
		t.Errorf("in both (-want +got):\n%s", diff)
	}
	if terms := analysis.QueryWith("gate", []analysis.Language{analysis.English}, both); len(terms[0].Alternatives) != 1 {
		t.Errorf("the synonyms are lost: %+v", terms)
	}
}
