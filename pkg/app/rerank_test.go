package app

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/embed/transformer/tinymodel"
)

// newRerankServer starts a server that implements TEI's protocol and prefers texts containing `word`.
func newRerankServer(t *testing.T, word string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Texts []string }
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/rerank" || r.Header.Get("Authorization") != "Bearer key-of-the-reranker" {
			http.Error(w, "refused", http.StatusBadRequest)
			return
		}
		type scored struct {
			Index int     `json:"index"`
			Score float64 `json:"score"`
		}
		out := make([]scored, len(req.Texts))
		for i, text := range req.Texts {
			out[i] = scored{i, 0.3}
			if strings.Contains(text, word) {
				out[i].Score = 0.95
			}
		}
		slices.SortStableFunc(out, func(a, b scored) int { return int(100 * (b.Score - a.Score)) })
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestARerankerOrdersFragmentsAndWhatAgentsRead(t *testing.T) {
	t.Parallel()
	server := newRerankServer(t, "Whales")
	p := newProgram(t, "RERANK_URL="+server.URL, "RERANK_API_KEY=key-of-the-reranker", "RERANK_MODEL=likes-whales")
	p.start()
	store := p.newDatastore()
	p.must(p.post("/api/datastores/upsert/"+store, map[string]any{"documents": []any{
		map[string]any{"text": "Koalas sleep twenty hours a day, and sleep is what koalas like.", "name": "koala"},
		map[string]any{"text": "Whales sleep upright.", "name": "whale"},
	}}, nil))
	p.settled(store, time.Minute)
	query := "/datastores/" + store + "/query"
	first := func(body map[string]any) string {
		t.Helper()
		var got []fragment
		p.must(p.post(query, body, &got))
		if len(got) != 2 {
			t.Fatalf("%d fragments", len(got))
		}
		return got[0].Text[:6]
	}
	asked := map[string]any{"query": "How do koalas sleep?"}
	if got := first(map[string]any{"query": "How do koalas sleep?", "rerank": false}); got != "Koalas" {
		t.Errorf("without the reranker %s come first", got)
	}
	if got := first(asked); got != "Whales" {
		t.Errorf("with the reranker %s come first", got)
	}
	var agent struct{ ID string }
	p.must(p.post("/agents", map[string]any{"name": "zoo", "datastoreIds": []string{store}}, &agent))
	var said struct {
		Explanation struct {
			Rerank struct {
				Model      string
				Candidates int
			}
			Fragments []struct {
				RerankedRank int `json:"reranked_rank"`
				Rank         int
			}
		}
	}
	p.must(p.post("/agents/"+agent.ID+"/query?explain=true", asked, &said))
	if e := said.Explanation; e.Rerank.Model != "likes-whales" || e.Rerank.Candidates != 2 || len(e.Fragments) != 2 || e.Fragments[0].RerankedRank != 1 || e.Fragments[0].Rank != 2 {
		t.Errorf("%+v", e)
	}

	server.Close()
	if got := first(asked); got != "Koalas" {
		t.Errorf("without its server %s come first", got)
	}
	if err := p.post(query, map[string]any{"query": "How do koalas sleep?", "rerank": true}, nil); !refusedWith(err, http.StatusServiceUnavailable) {
		t.Errorf("asked for expressly, it answers %v", err)
	}
	metrics := p.body("/metrics")
	for _, want := range []string{`sluice_rerank_requests_total{outcome="ok"} 2`, `sluice_rerank_requests_total{outcome="failed"} 2`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if log := p.stderr.String(); !strings.Contains(log, "reranking failed") || strings.Contains(log, "key-of-the-reranker") {
		t.Errorf("the log is\n%s", log)
	}
}

// TestAModelInProcessReranks configures a reranker and checks that it appears in a query's explanation. It doesn't
// check the order of the results, which is arbitrary because the model is tiny.
func TestAModelInProcessReranks(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "RERANK_MODEL=tiny-pairs", "SLUICE_RERANK_BUDGET=1m")
	tinymodel.Model{Kind: "bert", Pairs: true}.Write(t, filepath.Join(p.dir, "models", "tiny-pairs"))
	p.start()
	store := p.newDatastore()
	p.must(p.post("/api/datastores/upsert/"+store, map[string]any{"documents": []any{
		map[string]any{"text": "Koalas sleep twenty hours a day.", "name": "koala"}, map[string]any{"text": "Whales sleep upright.", "name": "whale"},
	}}, nil))
	p.settled(store, time.Minute)
	var got struct {
		Explanation struct {
			Rerank struct {
				Model                string
				Candidates, Unscored int
				Milliseconds         float64
			}
		}
	}
	p.must(p.post("/datastores/"+store+"/query?explain=true", map[string]any{"query": "How do koalas sleep?", "rerank": true}, &got))
	if e := got.Explanation.Rerank; e.Model != "tiny-pairs" || e.Candidates != 2 || e.Unscored != 0 || e.Milliseconds <= 0 {
		t.Errorf("%+v", e)
	}
	if metrics := p.body("/metrics"); !strings.Contains(metrics, `sluice_rerank_requests_total{outcome="ok"} 1`) {
		t.Error("the metrics lack the query")
	}
}

func TestAMissingRerankerIsAnErrorThatNamesTheRemedy(t *testing.T) {
	t.Parallel()
	data, none := t.TempDir(), filepath.Join(t.TempDir(), "none")
	modelAt(t, 1, data, "models", "embedder")
	for name, want := range map[string]string{
		"ms-marco-MiniLM-L6-v2":               "run sluice models pull ms-marco-MiniLM-L6-v2",
		"cross-encoder/ms-marco-MiniLM-L6-v2": "run sluice models pull ms-marco-MiniLM-L6-v2",
		"rerank-v3.5":                         "set RERANK_URL for a model on a server",
		none:                                  none + " does not exist",
		"embedder":                            `"classifier.weight"`,
	} {
		model, err := openReranker(config.Config{DataDir: data, RerankModel: name}, time.Now, slog.New(slog.DiscardHandler))
		if model != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "RERANK_MODEL") {
			t.Errorf("%s: error %v lacks %q", name, err, want)
		}
	}
}
