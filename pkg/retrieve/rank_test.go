package retrieve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// rerankFunc is a reranker that calls a function with the passages.
type rerankFunc func(ctx context.Context, passages []string) ([]Reranked, error)

func (j rerankFunc) Model() string { return "cross" }

func (j rerankFunc) Rerank(ctx context.Context, query string, passages []string, _ time.Time) ([]Reranked, error) {
	return j(ctx, passages)
}

// backwards reverses the passages' order.
func backwards(_ context.Context, passages []string) ([]Reranked, error) {
	var out []Reranked
	for i := range passages {
		out = append(out, Reranked{Index: len(passages) - 1 - i, Score: 0.9 - float64(i)/100})
	}
	return out, nil
}

func (w *fixture) judged(t *testing.T, j rerankFunc, mod ...func(*Request)) (Result, error) {
	t.Helper()
	r := New(Deps{Indexes: w, Embedders: w, Catalog: w, Reranker: j}, Options{})
	return r.Retrieve(t.Context(), ask(append([]func(*Request){explained}, mod...)...))
}

func TestTheRerankerDecidesTheOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 9, 0.5), hit("b", 0, 5, 0.5), hit("c", 0, 1, 0.5))
	res, err := w.judged(t, backwards)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c", "b", "a"}, ids(res.Fragments)); diff != "" {
		t.Fatal(diff)
	}
	if res.Fragments[0].Score != 0.9 || res.Fragments[2].Score != 0.88 {
		t.Errorf("scores %+v", res.Fragments)
	}
	if f := res.Explanation.Fragments[0]; f.Rank != 3 || f.RerankedRank != 1 || f.Reranked != 0.9 {
		t.Errorf("%+v", f)
	}
	if r := res.Explanation.Rerank; r.Model != "cross" || r.Candidates != 3 || r.Error != "" {
		t.Errorf("%+v", r)
	}
}

func TestTheRerankerGetsTheBestDistinctPassages(t *testing.T) {
	t.Parallel()
	var hits []index.Hit
	for i := range 120 {
		h := chunk(fmt.Sprint("d", i/2), 0, 9-float64(i)/100, 0, fmt.Sprint("passage number ", i/2))
		h.Context = "Title"
		h.DatasourceID = fmt.Sprint("d", i)
		hits = append(hits, h)
	}
	var asked []string
	res, err := newFixture(hits...).judged(t, func(ctx context.Context, passages []string) ([]Reranked, error) {
		asked = passages
		return backwards(ctx, passages)
	}, func(r *Request) { r.TopK = 60 })
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != MaxReranked || asked[0] != "Title\npassage number 0" || asked[49] != "Title\npassage number 49" {
		t.Errorf("%d passages: %q", len(asked), asked)
	}
	if len(res.Fragments) != 60 || res.Fragments[0].Text != "passage number 49" || res.Fragments[49].Text != "passage number 0" || res.Fragments[50].Text != "passage number 50" {
		t.Errorf("%d fragments", len(res.Fragments))
	}
	for i, f := range res.Fragments[1:] {
		if f.Score < 0 || f.Score > res.Fragments[i].Score {
			t.Errorf("the score %v comes after %v", f.Score, res.Fragments[i].Score)
		}
	}
	if d := res.Explanation.Dropped; d.Duplicates != 59 || d.Below != 1 {
		t.Errorf("%d duplicates, %d below", d.Duplicates, d.Below)
	}
}

func TestARerankerThatFails(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, j := range map[string]rerankFunc{
		"is away":               func(context.Context, []string) ([]Reranked, error) { return nil, errors.New("refused") },
		"scores nothing":        func(context.Context, []string) ([]Reranked, error) { return nil, nil },
		"names a passage twice": func(context.Context, []string) ([]Reranked, error) { return []Reranked{{0, 0.5}, {0, 0.4}}, nil },
		"names one that is not": func(context.Context, []string) ([]Reranked, error) { return []Reranked{{0, 0.5}, {2, 0.4}}, nil },
		"scores beyond 1":       func(context.Context, []string) ([]Reranked, error) { return []Reranked{{0, 1.5}, {1, 0.4}}, nil },
		"has scores that rise":  func(context.Context, []string) ([]Reranked, error) { return []Reranked{{1, 0.4}, {0, 0.5}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(hit("a", 0, 9, 0), hit("b", 0, 5, 0))
			res, err := w.judged(t, j)
			if err != nil || cmp.Diff([]string{"a", "b"}, ids(res.Fragments)) != "" {
				t.Errorf("%v, %v", res.Fragments, err)
			}
			if e := res.Explanation; e.Rerank.Error == "" || e.Rerank.Candidates != 0 || len(e.Notes) != 1 || !strings.Contains(res.Degraded, "not reranked") {
				t.Errorf("the failure is not reported: %+v", e)
			}
			if _, err := w.judged(t, j, func(r *Request) { r.Rerank = &yes }); domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "the reranker is unavailable") {
				t.Errorf("asked for expressly: %v", err)
			}
			res, err = w.judged(t, j, func(r *Request) { r.Rerank = &no })
			if err != nil || res.Degraded != "" || res.Explanation.Rerank.Model != "" {
				t.Errorf("not asked for: %+v, %v", res, err)
			}
		})
	}
}

func TestRerankingWhereThereIsNoReranker(t *testing.T) {
	t.Parallel()
	yes := true
	w := newFixture(hit("a", 0, 9, 0))
	_, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) { r.Rerank = &yes }))
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "rerank: is true, but no reranker is configured; set RERANK_URL or RERANK_MODEL, or omit the field") {
		t.Error(err)
	}
}

func TestACallerCancelsDuringReranking(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 9, 0))
	ctx, leave := context.WithCancel(t.Context())
	r := New(Deps{Indexes: w, Embedders: w, Catalog: w, Reranker: rerankFunc(func(ctx context.Context, _ []string) ([]Reranked, error) {
		leave()
		<-ctx.Done()
		return nil, ctx.Err()
	})}, Options{})
	if _, err := r.Retrieve(ctx, ask()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRerankingIsSkippedWithoutTime(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 9, 0))
	r := New(Deps{Indexes: w, Embedders: w, Catalog: w, Reranker: rerankFunc(func(ctx context.Context, _ []string) ([]Reranked, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})}, Options{Timeout: 50 * time.Millisecond})
	res, err := r.Retrieve(t.Context(), ask())
	if err != nil || len(res.Fragments) != 1 || !strings.Contains(res.Degraded, "not reranked") {
		t.Errorf("%+v, %v", res, err)
	}
	yes := true
	if _, err := r.Retrieve(t.Context(), ask(func(r *Request) { r.Rerank = &yes })); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("asked for expressly: %v", err)
	}
}

func TestCandidatesWithoutAScoreKeepTheirOrderBelowTheOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("a", 0, 9, 0.5), hit("b", 0, 5, 0.5), hit("c", 0, 3, 0.5), hit("d", 0, 1, 0.5))
	var until time.Time
	r := New(Deps{Indexes: w, Embedders: w, Catalog: w, Reranker: untilFunc(func(by time.Time) []Reranked {
		until = by
		return []Reranked{{Index: 1, Score: 0.8}, {Index: 0, Score: 0.2}} // c and d are not scored
	})}, Options{RerankBudget: time.Hour})
	res, err := r.Retrieve(t.Context(), ask(explained))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a", "c", "d"}, ids(res.Fragments)); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSortedFunc(res.Fragments, func(a, b domain.Fragment) int { return int(1e9 * (b.Score - a.Score)) }) {
		t.Errorf("scores %+v", res.Fragments)
	}
	if e := res.Explanation.Rerank; e.Candidates != 2 || e.Unscored != 2 || e.Took < 0 || e.Error != "" {
		t.Errorf("%+v", e)
	}
	if left := time.Until(until); left <= 0 || left > time.Hour {
		t.Errorf("the time is up in %v", left)
	}
}

// untilFunc is a reranker that calls a function with the time limit.
type untilFunc func(until time.Time) []Reranked

func (untilFunc) Model() string { return "cross" }

func (f untilFunc) Rerank(_ context.Context, _ string, _ []string, until time.Time) ([]Reranked, error) {
	return f(until), nil
}
