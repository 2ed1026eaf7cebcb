package retrieve

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

// listing returns a fixture with two pages and a list of links, which matches best. If `lists` is true, that list is
// marked as a list of links.
func listing(lists bool) *fixture {
	w := newFixture(chunk("index", 0, 9, 0, "zebrafinch, 12; zebrafinch song, 14"), chunk("answer", 0, 7, 0, "The zebrafinch sings at dawn."), chunk("other", 0, 1, 0, "Of other birds."))
	if lists {
		d := w.active["index"]
		d.Document = &domain.DocumentInfo{LinkList: true}
		w.active["index"] = d
	}
	return w
}

func fromWhich(res Result) (ids []string) {
	for _, f := range res.Fragments {
		ids = append(ids, f.DatasourceID)
	}
	return ids
}

func TestListsOfLinksRankBelowThePagesWithTheAnswer(t *testing.T) {
	t.Parallel()
	plain, res := retrieved(t, listing(false)), retrieved(t, listing(true))
	if diff := cmp.Diff([]string{"index", "answer", "other"}, fromWhich(plain)); diff != "" {
		t.Errorf("without a list (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"answer", "index", "other"}, fromWhich(res)); diff != "" {
		t.Errorf("with a list (-want +got):\n%s", diff)
	}
	e := res.Explanation.Fragments[1]
	if math.Abs(e.LinkList-(1-linkListShare)*(e.Fused+e.Neighbours)) > 1e-9 || e.LinkList == 0 || e.Rank != 2 || e.FusedRank != 1 {
		t.Errorf("the explanation says %+v", e)
	}
	for i, f := range res.Explanation.Fragments {
		if i != 1 && f.LinkList != 0 {
			t.Errorf("of %s, which is no list, %g was taken", f.ChunkID, f.LinkList)
		}
	}
	for i, f := range plain.Fragments[1:] {
		if got := res.Fragments[2*i]; got.ChunkID == f.ChunkID && got.Score != f.Score {
			t.Errorf("the score of %s has become %g, it was %g", f.ChunkID, got.Score, f.Score)
		}
	}
}

func TestADenseModeDoesNotLowerLinkLists(t *testing.T) {
	t.Parallel()
	w := listing(true)
	res := retrieved(t, w, func(r *Request) { r.Mode = domain.SearchDense })
	for _, f := range res.Explanation.Fragments {
		if f.LinkList != 0 {
			t.Errorf("%g was taken of %s", f.LinkList, f.ChunkID)
		}
	}
}

// fixedReranker maps passage texts to fixed scores.
type fixedReranker map[string]float64

func (fixedReranker) Model() string { return "fixed" }

func (r fixedReranker) Rerank(_ context.Context, _ string, passages []string, _ time.Time) ([]Reranked, error) {
	out := make([]Reranked, 0, len(passages))
	for _, score := range []float64{0.9, 0.8, 0.1} {
		for i, p := range passages {
			if r[p] == score {
				out = append(out, Reranked{Index: i, Score: score})
			}
		}
	}
	return out, nil
}

func TestLinkListsRankLowerAfterReranking(t *testing.T) {
	t.Parallel()
	w := listing(true)
	r := w.retriever(Options{})
	r.deps.Reranker = fixedReranker{"zebrafinch, 12; zebrafinch song, 14": 0.9, "The zebrafinch sings at dawn.": 0.8, "Of other birds.": 0.1}
	res, err := r.Retrieve(t.Context(), ask(explained))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"answer", "index", "other"}, fromWhich(res)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if e := res.Explanation.Fragments[1]; e.Reranked != 0.9 || e.RerankedRank != 2 || res.Fragments[1].Score != 0.9*linkListShare {
		t.Errorf("the list has the score %g, and %+v", res.Fragments[1].Score, e)
	}
}
