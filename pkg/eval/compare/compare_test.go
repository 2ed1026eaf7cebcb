package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type searcher func(ctx context.Context, q service.Query) ([]service.Fragment, error)

func (s searcher) Query(ctx context.Context, _ string, q service.Query) ([]service.Fragment, error) {
	return s(ctx, q)
}

func fragments(ids ...string) []service.Fragment {
	out := make([]service.Fragment, len(ids))
	for i, id := range ids {
		out[i] = service.Fragment{DatasourceID: id, Text: "text of " + id, ChunkID: fmt.Sprint(i)}
	}
	return out
}

func TestModesAreComparedOnDocumentsAndPassages(t *testing.T) {
	t.Parallel()
	var names Names
	names.Add(service.Datasource{ID: "1", CustomID: "manual", Name: "Manual"})
	names.Add(service.Datasource{ID: "2", Name: "Prices"})
	names.Add(service.Datasource{ID: "3", Name: "other"})
	truth, err := NewTruth([]eval.Question{
		{ID: "a", Text: "a", Relevant: []string{"manual"}, Answers: []string{"of 1"}},
		{ID: "b", Text: "b", Relevant: []string{"Prices", "gone"}},
		{ID: "c", Text: "c", Answers: []string{"of 3"}},
		{ID: "none", Text: "d"},
	}, nil, &names)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"gone"}, truth.Unknown); diff != "" {
		t.Errorf("unknown: %s", diff)
	}
	if diff := cmp.Diff([]string{"none"}, truth.Without); diff != "" {
		t.Errorf("without: %s", diff)
	}
	var mu sync.Mutex
	modes := map[string]int{}
	ask := searcher(func(_ context.Context, q service.Query) ([]service.Fragment, error) {
		mu.Lock()
		modes[fmt.Sprintf("%s %v %d", q.Mode, *q.Rerank, q.TopK)]++
		mu.Unlock()
		switch {
		case *q.Rerank:
			return nil, &client.Error{Status: 400, Message: "no reranker is configured: set RERANK_URL"}
		case q.Mode == "lexical":
			return fragments("3", "3", "1", "2"), nil
		default:
			return fragments("1", "2", "3"), nil
		}
	})
	var last [2]int
	r, err := Run(t.Context(), ask, truth.Cases, Options{Modes: Modes(), K: 2, Concurrency: 2, SkipRejected: true,
		Progress: func(asked, total int) { // never called concurrently, so it needs no lock
			last = [2]int{max(last[0], asked), total}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"lexical false 20": 3, "dense false 20": 3, "hybrid false 20": 3, "hybrid true 20": 1}, modes); diff != "" {
		t.Errorf("asked: %s", diff)
	}
	if diff := cmp.Diff([]SkippedMode{{Reranked, "no reranker is configured: set RERANK_URL"}}, r.Skipped); diff != "" {
		t.Errorf("left out: %s", diff)
	}
	// Lexical search ranks the documents in the order 3, 1, 2. So document 1, which question a asks for, is second, and
	// neither of the two documents for question b is in the top two.
	want := map[string]float64{
		"documents lexical": (1 / math.Log2(3)) / 2, "documents hybrid": (1 + (1/math.Log2(3))/(1+1/math.Log2(3))) / 2,
		"passages lexical": 0.5, "passages hybrid": 0.5, // lexical: c's answer is first, a's third; hybrid: vice versa
	}
	for _, l := range r.Levels {
		if l.Questions != 2 {
			t.Errorf("%d questions are judged by %s", l.Questions, l.Name)
		}
		for _, m := range l.Modes {
			if figure, progress := want[l.Name+" "+string(m.Mode)]; progress && math.Abs(m.NDCG.Mean-figure) > 1e-12 {
				t.Errorf("nDCG of %s by %s is %v, want %v", m.Mode, l.Name, m.NDCG.Mean, figure)
			}
		}
		for _, d := range l.Differences {
			if d.Than != Hybrid || d.Mode == Hybrid {
				t.Errorf("difference %s − %s", d.Mode, d.Than)
			}
		}
	}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Documents, 2 questions", "Passages, 2 questions", "lexical − hybrid", "Skipped: reranked: no reranker", "fewer than 50 questions"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is not in\n%s", part, b.String())
		}
	}
}

func TestANamedModeMustWork(t *testing.T) {
	t.Parallel()
	refuse := searcher(func(context.Context, service.Query) ([]service.Fragment, error) {
		return nil, &client.Error{Status: 400, Message: "no reranker"}
	})
	cases := []Case{{Question: eval.Question{ID: "a", Text: "a", Answers: []string{"x"}}}}
	_, err := Run(t.Context(), refuse, cases, Options{Modes: []Mode{Reranked}, K: 10})
	if err == nil || !strings.Contains(err.Error(), "reranked: question a") {
		t.Errorf("the error is %v", err)
	}
	_, err = Run(t.Context(), refuse, cases, Options{Modes: Modes(), K: 10, SkipRejected: true})
	if err == nil || !strings.Contains(err.Error(), "rejected every mode: no reranker") {
		t.Errorf("the error is %v", err)
	}
	missing := searcher(func(context.Context, service.Query) ([]service.Fragment, error) {
		return nil, &client.Error{Status: 404, Message: "no such datastore"}
	})
	_, err = Run(t.Context(), missing, cases, Options{Modes: Modes(), K: 10, SkipRejected: true})
	if err == nil || !strings.Contains(err.Error(), "no such datastore") {
		t.Errorf("an error that does not concern the mode is %v", err)
	}
	if _, err := Run(t.Context(), refuse, nil, Options{Modes: Modes(), K: 10}); err == nil {
		t.Error("nothing to judge is no error")
	}
}

func TestCancellationStopsTheQueries(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cases := make([]Case, 100)
	for i := range cases {
		cases[i] = Case{Question: eval.Question{ID: fmt.Sprint(i), Text: "a", Answers: []string{"x"}}}
	}
	var mu sync.Mutex
	asked := 0
	ask := searcher(func(ctx context.Context, _ service.Query) ([]service.Fragment, error) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked == 5 {
			cancel()
		}
		return nil, ctx.Err()
	})
	_, err := Run(ctx, ask, cases, Options{Modes: []Mode{Hybrid}, K: 10, Concurrency: 2, SkipRejected: true})
	if !errors.Is(err, context.Canceled) || asked > 10 {
		t.Errorf("after %d questions: %v", asked, err)
	}
}

func TestDatasourcesAreFoundByAnyOfTheirNames(t *testing.T) {
	t.Parallel()
	var n Names
	for _, d := range []service.Datasource{{ID: "1", CustomID: "2", Name: "Twin"}, {ID: "2", Name: "Twin"}} {
		n.Add(d)
	}
	page := service.Datasource{ID: "3", Name: "Prices"}
	page.URL = "https://example.com/prices"
	n.Add(page)
	for name, want := range map[string][]string{"2": {"1"}, "1": {"1"}, "Twin": {"1", "2"}, "https://example.com/prices": {"3"}, "x": nil, "": nil} {
		if diff := cmp.Diff(want, n.find(name)); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

func TestJudgementsOfUnknownDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	questions := []eval.Question{{ID: "a", Text: "a"}}
	_, err := NewTruth(questions, eval.Judgements{"a": {"elsewhere": 1}}, &Names{})
	if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `"elsewhere"`) {
		t.Errorf("the error is %v", err)
	}
	truth, err := NewTruth(questions, eval.Judgements{"b": {"elsewhere": 1}}, nil)
	if err != nil || len(truth.Cases) != 0 || len(truth.Without) != 1 {
		t.Errorf("judgements of other questions: %+v, %v", truth, err)
	}
}

func TestParseModes(t *testing.T) {
	t.Parallel()
	got, err := ParseModes("dense, hybrid,dense")
	if diff := cmp.Diff([]Mode{Dense, Hybrid}, got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	for _, text := range []string{"", "fast", "hybrid,"} {
		if _, err := ParseModes(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestOnlyJudgedRankingsAreKept(t *testing.T) {
	t.Parallel()
	found := []service.Fragment{{DatasourceID: "1", ChunkID: "1a", Text: "no"}, {DatasourceID: "1", ChunkID: "1b", Text: "the gate"}, {DatasourceID: "2", ChunkID: "2a", Text: "gate"}, {DatasourceID: "3", ChunkID: "3a"}}
	c := Case{Question: eval.Question{Answers: []string{"gate"}}, Documents: eval.Grades{"d": 1}, Of: map[string]string{"2": "d"}}
	if diff := cmp.Diff([]string{"\x001", "d"}, c.rank(found, 2).documents); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"\x001a", answered}, c.rank(found, 2).passages); diff != "" {
		t.Error(diff)
	}
	if o := (Case{}).rank(found, 2); o.documents != nil || o.passages != nil {
		t.Errorf("of a case that is not judged %v is held", o)
	}
}
