package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/compare"
	"github.com/sluice/sluice/pkg/eval/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a service whose documents have numeric ids. A query finds document 1 if the chunks are small, and document 0
// otherwise.
type fake struct {
	documents int
	text      string
	fails     error // returned by Settled

	stores  map[string]service.NewDatastore
	deleted int
}

func (f *fake) Datasources(_ context.Context, _, _ string, each func(service.Datasource) error) error {
	for i := range f.documents {
		if err := each(service.Datasource{ID: fmt.Sprint(i), Chunks: 1}); err != nil {
			return err
		}
	}
	return each(service.Datasource{ID: "empty"})
}

func (f *fake) Chunks(_ context.Context, id string, each func(service.Chunk) error) error {
	return each(service.Chunk{Text: id + f.text})
}

func (f *fake) CreateDatastore(_ context.Context, d service.NewDatastore) (service.Datastore, error) {
	id := fmt.Sprint("store", len(f.stores))
	f.stores[id] = d
	return service.Datastore{ID: id}, nil
}

func (f *fake) DeleteDatastore(context.Context, string) error { f.deleted++; return nil }

func (f *fake) Upsert(_ context.Context, store string, documents []service.Document) ([]string, error) {
	ids := make([]string, len(documents))
	for i, d := range documents {
		ids[i] = store + " " + d.CustomID
	}
	return ids, nil
}

func (f *fake) Settled(context.Context, string) error { return f.fails }

func (f *fake) Query(_ context.Context, store string, q service.Query) ([]service.Fragment, error) {
	if q.Mode != string(compare.Hybrid) {
		return nil, fmt.Errorf("mode %q", q.Mode)
	}
	id := "0"
	if f.stores[store].Chunking.TargetTokens == 32 {
		id = "1"
	}
	return []service.Fragment{{DatasourceID: store + " " + id}}, nil
}

func TestSettingsAreMeasuredOnCopies(t *testing.T) {
	t.Parallel()
	f := &fake{documents: 3, stores: map[string]service.NewDatastore{}}
	store := service.Datastore{ID: "s", Type: "embedded", EmbeddingModel: "m", ChunkTokens: 128}
	c := compare.Case{Question: eval.Question{ID: "1", Text: "q"}, Documents: eval.Grades{"one": 1}, Of: map[string]string{"1": "one"}}
	filtered := c
	filtered.Question.Filters = []byte("{}")
	report, err := Run(t.Context(), f, store, []compare.Case{c, filtered}, []Setting{{ChunkTokens: 32}, {Model: "other"}}, compare.Options{K: 3, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	if report.Questions != 1 || len(report.Levels) != 1 {
		t.Fatalf("%+v", report)
	}
	got := map[compare.Mode]float64{}
	for _, m := range report.Levels[0].Modes {
		got[m.Mode] = m.NDCG.Mean
	}
	if len(got) != 3 || got["hybrid"] != 0 || got["chunks of 32 tokens"] != 1 || got["model other"] != 0 {
		t.Errorf("%v", got)
	}
	if f.deleted != 3 || f.stores["store0"].EmbeddingModel != "m" || f.stores["store0"].Chunking.TargetTokens != 128 || f.stores["store2"].EmbeddingModel != "other" {
		t.Errorf("%d of %+v are deleted", f.deleted, f.stores)
	}
}

func TestCopiesAreDeletedAfterAFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	f := &fake{documents: 1, fails: broken, stores: map[string]service.NewDatastore{}}
	if _, err := Run(t.Context(), f, service.Datastore{}, nil, []Setting{{ChunkTokens: 32}}, compare.Options{K: 3}); !errors.Is(err, broken) || f.deleted != 1 {
		t.Errorf("%d are deleted, error %v", f.deleted, err)
	}
	for name, f := range map[string]*fake{
		"documents": {documents: maxDocuments + 1}, "MiB": {documents: 10, text: strings.Repeat("x", maxBytes/9)}, "no searchable text": {},
	} {
		if _, err := Run(t.Context(), f, service.Datastore{}, nil, nil, compare.Options{K: 3}); err == nil || !strings.Contains(err.Error(), name) || f.stores != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSettingsAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Setting{"chunk=256": {ChunkTokens: 256}, "model=local:a=b": {Model: "local:a=b"}} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "chunk", "chunk=0", "chunk=x", "model=", "size=3"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
