package misses

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/compare"
	"github.com/sluice/sluice/pkg/eval/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a service with one document, "d", whose chunks have the ids d0, d1, and so on.
type fake struct {
	status string
	chunks []string
	// The result that Explain returns for each mode. The key for the default mode is "".
	explained map[string]service.Explained
	// Whether filters exclude the document.
	excluded bool
}

func (f fake) Query(_ context.Context, _ string, q service.Query) ([]service.Fragment, error) {
	if q.Filters != nil && len(q.Filters.DatasourceIDs) > 0 {
		if q.Filters.JSON != nil && f.excluded {
			return nil, nil
		}
		return []service.Fragment{{DatasourceID: "d", ChunkID: "d0"}}, nil
	}
	return []service.Fragment{{DatasourceID: "other", ChunkID: "o0", Text: "nothing"}}, nil
}

func (f fake) Explain(_ context.Context, _ string, q service.Query) (service.Explained, error) {
	return f.explained[q.Mode], nil
}

func (f fake) Datasource(_ context.Context, id string) (service.Datasource, error) {
	return service.Datasource{ID: id, Name: "manual", Status: f.status, Error: "it is encrypted"}, nil
}

func (f fake) Chunks(_ context.Context, id string, each func(service.Chunk) error) error {
	if id != "d" {
		return nil
	}
	for i, text := range f.chunks {
		if err := each(service.Chunk{ID: "d" + string(rune('0'+i)), Ordinal: i, Text: text}); err != nil {
			return err
		}
	}
	return nil
}

// ranked returns the results of a query in the default mode. Chunk d0 comes second and has the given ranks.
func ranked(r service.Ranks) map[string]service.Explained {
	return map[string]service.Explained{"": {Fragments: []service.ExplainedFragment{
		{Fragment: service.Fragment{ChunkID: "o0", DatasourceID: "other"}},
		{Fragment: service.Fragment{ChunkID: "d0", DatasourceID: "d"}, Ranks: r},
	}}}
}

func TestEveryReasonAndStageIsRecognised(t *testing.T) {
	t.Parallel()
	answer := []string{"the lever is red"}
	only := service.ExplainedFragment{Fragment: service.Fragment{ChunkID: "d0", DatasourceID: "d"}}
	for name, test := range map[string]struct {
		service fake
		answers []string
		filters string
		unknown bool
		reason  Reason
		stage   Stage
		detail  string
	}{
		"not in the datastore":   {unknown: true, reason: NotInDatastore, detail: `no document "manual"`},
		"failed":                 {service: fake{status: "error"}, reason: NotSearchable, detail: "it is encrypted"},
		"without text":           {service: fake{status: "synched"}, reason: NotExtracted, detail: "No text"},
		"without the answer":     {service: fake{status: "synched", chunks: []string{"a", "b"}}, answers: answer, reason: NotExtracted, detail: "does not contain the answer"},
		"cut":                    {service: fake{chunks: []string{"x", "Look: the lever", "is red."}}, answers: answer, reason: CutInTwo, detail: "in the next"},
		"excluded by filters":    {service: fake{chunks: []string{"a"}, excluded: true}, filters: `{"metadata": {"a": "b"}}`, reason: FilteredOut, detail: "filters exclude"},
		"included by filters":    {service: fake{chunks: []string{"a"}, explained: ranked(service.Ranks{Lexical: 7, Dense: 8, Fused: 6, Adjusted: 6})}, filters: `{"metadata": {"a": "b"}}`, reason: RankedLow, stage: StageBoth, detail: "Keyword search ranks it 7, and semantic search 8"},
		"a near-duplicate":       {service: fake{chunks: []string{"a"}, explained: map[string]service.Explained{"": {Dropped: []service.DroppedChunk{{ChunkID: "d0", Reason: "duplicate", For: "o3"}}}}}, reason: FilteredOut, detail: "near-duplicate of o3"},
		"lost by the reranker":   {service: fake{chunks: []string{"a"}, explained: ranked(service.Ranks{Lexical: 1, Dense: 1, Fused: 1, Adjusted: 1, Reranked: 5})}, reason: RankedLow, stage: StageReranking, detail: "from rank 1 to 5"},
		"lost by neighbours":     {service: fake{chunks: []string{"a"}, explained: ranked(service.Ranks{Lexical: 1, Dense: 1, Fused: 2, Adjusted: 4})}, reason: RankedLow, stage: StageNeighbours, detail: "ranks it 2"},
		"outvoted by meaning":    {service: fake{chunks: []string{"a"}, explained: ranked(service.Ranks{Lexical: 1, Dense: 30, Fused: 4, Adjusted: 4})}, reason: RankedLow, stage: StageFusion, detail: "Keyword search ranks it 1, but semantic search ranks it 30"},
		"outvoted by words":      {service: fake{chunks: []string{"a"}, explained: ranked(service.Ranks{Dense: 2, Fused: 4, Adjusted: 4})}, reason: RankedLow, stage: StageFusion, detail: "Semantic search ranks it 2"},
		"without common words":   {service: fake{chunks: []string{"a"}, explained: ranked(service.Ranks{Dense: 9, Fused: 4, Adjusted: 4})}, reason: NotFound, stage: StageWords, detail: "none of the question's words"},
		"without a vector":       {service: fake{chunks: []string{"a"}, explained: ranked(service.Ranks{Lexical: 9, Fused: 4, Adjusted: 4})}, reason: NotFound, stage: StageMeaning, detail: "no similar vector"},
		"found by neither":       {service: fake{chunks: []string{"a"}}, reason: NotFound, stage: StageBoth, detail: "Neither"},
		"found by meaning alone": {service: fake{chunks: []string{"a"}, explained: map[string]service.Explained{"dense": {Fragments: []service.ExplainedFragment{{}, {}, {}, only}}}}, reason: NotFound, stage: StageWords, detail: "semantic search ranks it 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := compare.Case{Question: eval.Question{ID: "1", Text: "which lever?", Answers: test.answers}, Documents: eval.Grades{"manual": 1}, Of: map[string]string{"d": "manual"}}
			if test.unknown {
				c.Of = nil
			}
			if test.filters != "" {
				c.Question.Filters = json.RawMessage(test.filters)
			}
			got, err := Find(t.Context(), test.service, []compare.Case{c}, Options{K: 3, Max: 10})
			if err != nil {
				t.Fatal(err)
			}
			if got.Missed != 1 || len(got.Misses) != 1 {
				t.Fatalf("%+v", got)
			}
			if m := got.Misses[0]; m.ID != "1" || m.Reason != test.reason || m.Stage != test.stage || !strings.Contains(m.Detail, test.detail) {
				t.Errorf("%+v, want %s at %s with %q", m, test.reason, test.stage, test.detail)
			}
		})
	}
}

func TestOnlyTheFirstMissesAreExplained(t *testing.T) {
	t.Parallel()
	var cases []compare.Case
	for _, id := range []string{"1", "2", "3"} {
		cases = append(cases, compare.Case{Question: eval.Question{ID: id, Text: "a\x1bb"}, Documents: eval.Grades{"x": 1}})
	}
	got, err := Find(t.Context(), fake{}, cases, Options{K: 3, Max: 2, Concurrency: 2})
	if err != nil || got.Missed != 3 || len(got.Misses) != 2 || got.Misses[0].ID != "1" || got.Misses[1].ID != "2" {
		t.Fatalf("%+v, error %v", got, err)
	}
	var b strings.Builder
	if err := errors.Join(got.Write(&b, 3), WriteSuggestions(&b, nil)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 of 3 questions", "first 3.", "first 2 are explained", "not in the datastore: 2", "a b", "Nothing gave better results"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestOnlyMeasuredImprovementsAreSuggested(t *testing.T) {
	t.Parallel()
	difference := func(mode compare.Mode, low, high float64) compare.Difference {
		d := compare.Difference{Mode: mode, Than: compare.Hybrid}
		d.NDCG.Mean, d.NDCG.Low, d.NDCG.High = (low+high)/2, low, high
		return d
	}
	report := compare.Report{K: 10, Levels: []compare.Level{
		{Name: "documents", Differences: []compare.Difference{difference(compare.Lexical, 0.01, 0.05), difference(compare.Dense, -0.1, 0.1), difference(compare.Reranked, 0.02, 0.06)}},
		{Name: "passages", Differences: []compare.Difference{difference(compare.Lexical, -0.05, -0.01), difference(compare.Reranked, -0.01, 0.03)}},
	}}
	got := Suggest(report)
	if len(got) != 1 || got[0].Mode != compare.Reranked || !strings.Contains(got[0].Text, "+0.040 [+0.020, +0.060]") {
		t.Errorf("%+v", got)
	}
}
