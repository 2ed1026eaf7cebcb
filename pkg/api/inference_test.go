package api_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/retrieve"
)

// letterModels maps ids to embedding models.
type letterModels map[string]*letters

func (m letterModels) Embedder(id string) (embed.Embedder, error) {
	if e := m[id]; e != nil {
		return e, nil
	}
	return nil, errors.New("no such model")
}

// letters is an embedding model with four dimensions: the numbers of a's, b's and c's in the text, and a constant 1.
type letters struct {
	id      string
	unknown bool  // whether the dimensions are unknown until the first call
	err     error // returned by Embed

	mu    sync.Mutex
	calls []letterCall
}

type letterCall struct {
	Texts   []string
	Purpose embed.Purpose
}

func (e *letters) Model() embed.Model {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unknown && len(e.calls) == 0 {
		return embed.Model{ID: e.id}
	}
	return embed.Model{ID: e.id, Dimensions: 4}
}

func (e *letters) Embed(_ context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, letterCall{texts, purpose})
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := []float32{1, 0, 0, 0}
		squares := 1.0
		for j, letter := range []string{"a", "b", "c"} {
			v[j+1] = float32(strings.Count(text, letter))
			squares += float64(v[j+1] * v[j+1])
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(squares))
		}
		vectors[i] = v
	}
	return vectors, e.err
}

func newInference(t *testing.T, adjust ...func(*api.Options, *api.Deps)) (*service, letterModels) {
	t.Helper()
	models := letterModels{}
	for _, id := range []string{"local:letters@12ab", "openai:text-embedding-3-small@4+99ff"} {
		models[id] = &letters{id: id}
	}
	s := newService(t, append([]func(*api.Options, *api.Deps){func(o *api.Options, d *api.Deps) {
		o.EmbeddingModels, d.Embedders = []string{"local:letters@12ab", "openai:text-embedding-3-small@4+99ff"}, models
	}}, adjust...)...)
	return s, models
}

// embedding is a response from POST /v1/embeddings.
type embedding struct {
	Object string
	Data   []struct {
		Object    string
		Index     int
		Embedding json.RawMessage
	}
	Model string
	Usage map[string]int
}

func (s *service) embed(body object) embedding {
	s.Helper()
	var e embedding
	must(s.T, json.Unmarshal(s.call("POST", "/v1/embeddings", body).want(200).body, &e))
	return e
}

func TestTextsAreEmbedded(t *testing.T) {
	t.Parallel()
	s, models := newInference(t)
	got := s.embed(object{"model": "local:letters@12ab", "input": []string{"aa bb", "c"}})
	if got.Object != "list" || got.Model != "local:letters@12ab" || len(got.Data) != 2 || got.Data[1].Index != 1 || got.Data[1].Object != "embedding" {
		t.Errorf("response %+v", got)
	}
	var vector []float32
	must(t, json.Unmarshal(got.Data[0].Embedding, &vector))
	if diff := cmp.Diff([]float32{0.33333334, 0.6666667, 0.6666667, 0}, vector); diff != "" {
		t.Errorf("vector (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"prompt_tokens": 3, "total_tokens": 3}, got.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]letterCall{{[]string{"aa bb", "c"}, embed.Passage}}, models["local:letters@12ab"].calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	used := s.call("GET", "/usage", nil).want(200).body
	if !strings.Contains(string(used), `"metric":"embed_tokens","used":3`) && !strings.Contains(string(used), `"used":3,"metric":"embed_tokens"`) {
		t.Errorf("usage %s", used)
	}
}

func TestVectorsCanBeBase64(t *testing.T) {
	t.Parallel()
	s, _ := newInference(t)
	got := s.embed(object{"input": "b", "encoding_format": "base64"})
	var text string
	must(t, json.Unmarshal(got.Data[0].Embedding, &text))
	raw, err := base64.StdEncoding.DecodeString(text)
	must(t, err)
	if len(raw) != 16 || math.Float32frombits(binary.LittleEndian.Uint32(raw[8:])) != float32(1/float32(math.Sqrt2)) {
		t.Errorf("vector %v", raw)
	}
}

// TestTokensAreText sends "The pump" as tokens, as LangChain does.
func TestTokensAreText(t *testing.T) {
	t.Parallel()
	s, models := newInference(t)
	s.embed(object{"input": []int{791, 14155}})
	s.embed(object{"input": []any{[]int{791, 14155}, "pump"}})
	want := []letterCall{{[]string{"The pump"}, embed.Passage}, {[]string{"The pump", "pump"}, embed.Passage}}
	if diff := cmp.Diff(want, models["local:letters@12ab"].calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestQueriesAreEmbeddedInPieces(t *testing.T) {
	t.Parallel()
	s, models := newInference(t)
	long := strings.Repeat("a", 2000)
	got := s.embed(object{"input": []string{"b", long, "c"}, "input_type": "query"})
	if len(got.Data) != 3 || got.Data[2].Index != 2 {
		t.Errorf("response %+v", got)
	}
	want := []letterCall{{[]string{"b", long, "c"}, embed.Query}}
	if diff := cmp.Diff(want, models["local:letters@12ab"].calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	s.embed(object{"input": []string{long, long}, "input_type": "search_query"})
	if calls := models["local:letters@12ab"].calls; len(calls) != 3 || len(calls[1].Texts) != 1 {
		t.Errorf("%d calls", len(calls))
	}
}

func TestModelsHaveShortNames(t *testing.T) {
	t.Parallel()
	s, _ := newInference(t)
	for name, id := range map[string]string{
		"": "local:letters@12ab", "letters": "local:letters@12ab", "text-embedding-3-small": "openai:text-embedding-3-small@4+99ff",
	} {
		if got := s.embed(object{"model": name, "input": "a"}).Model; got != id {
			t.Errorf("%q is %s", name, got)
		}
	}
	e := s.call("POST", "/v1/embeddings", object{"model": "text-embedding-ada-002", "input": "a"}).openAIError(404)
	if e.Code != "model_not_found" || !strings.Contains(e.Message, `"local:letters@12ab", "openai:text-embedding-3-small@4+99ff"`) {
		t.Errorf("error %+v", e)
	}
}

func TestOnlySomeModelsShortenVectors(t *testing.T) {
	t.Parallel()
	s, _ := newInference(t)
	got := s.embed(object{"model": "text-embedding-3-small", "input": "aa", "dimensions": 2})
	var vector []float32
	must(t, json.Unmarshal(got.Data[0].Embedding, &vector))
	if diff := cmp.Diff([]float32{0.4472136, 0.8944272}, vector); diff != "" {
		t.Errorf("vector (-want +got):\n%s", diff)
	}
	s.embed(object{"model": "letters", "input": "aa", "dimensions": 4})
	for name, dimensions := range map[string]int{"letters": 2, "text-embedding-3-small": 5} {
		e := s.call("POST", "/v1/embeddings", object{"model": name, "input": "a", "dimensions": dimensions}).openAIError(400)
		if e.Param != "dimensions" || !strings.Contains(e.Message, "have 4 dimensions") {
			t.Errorf("%s: error %+v", name, e)
		}
	}
}

func TestDimensionsAreCheckedOnceTheyAreKnown(t *testing.T) {
	t.Parallel()
	s, models := newInference(t)
	models["local:letters@12ab"].unknown = true
	for range 2 {
		if e := s.call("POST", "/v1/embeddings", object{"input": "a", "dimensions": 3}).openAIError(400); e.Param != "dimensions" {
			t.Errorf("error %+v", e)
		}
	}
	if n := len(models["local:letters@12ab"].calls); n != 1 {
		t.Errorf("%d calls, want one to learn the dimensions", n)
	}
}

func TestInvalidEmbeddingRequestsAreRejected(t *testing.T) {
	t.Parallel()
	s, models := newInference(t)
	for field, body := range map[string]object{
		"input":           {},
		"input[1]":        {"input": []any{"a", 5}},
		"input[0]":        {"input": []any{" ", "a"}},
		"input[0][1]":     {"input": []any{[]any{1, "a"}}},
		"encoding_format": {"input": "a", "encoding_format": "int8"},
		"dimensions":      {"input": "a", "dimensions": 0},
		"input_type":      {"input": "a", "input_type": "clustering"},
		"model":           {"input": "a", "model": 5},
	} {
		if e := s.call("POST", "/v1/embeddings", body).openAIError(400); e.Param != field || e.Message == "" {
			t.Errorf("%s: error %+v", field, e)
		}
	}
	for _, input := range []any{"", []any{}, 5, object{}, true, []any{1.5}, []int{100_300}, make([]string, 2049), []any{[]any{}}} {
		if e := s.call("POST", "/v1/embeddings", object{"input": input}).openAIError(400); !strings.HasPrefix(e.Param, "input") {
			t.Errorf("%v: error %+v", input, e)
		}
	}
	s.call("POST", "/v1/embeddings", "{").openAIError(400)
	s.call("POST", "/v1/embeddings", "[]").openAIError(400)
	s.as("").call("POST", "/v1/embeddings", object{"input": "a"}).openAIError(401)
	agent := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeQuery}, AgentID: s.newAgent()}))
	agent.call("POST", "/v1/embeddings", object{"input": "a"}).openAIError(403)
	agent.call("POST", "/v1/rerank", object{"query": "a", "documents": []string{"a"}}).openAIError(403)
	for id, m := range models {
		if len(m.calls) > 0 {
			t.Errorf("%s was asked for %v", id, m.calls)
		}
	}
}

func TestAModelThatFailsIsUnavailable(t *testing.T) {
	t.Parallel()
	s, models := newInference(t)
	models["local:letters@12ab"].err = &embed.Error{Kind: embed.Unavailable, Model: "letters", Message: "down"}
	a := s.call("POST", "/v1/embeddings", object{"input": "a"})
	if e := a.openAIError(503); !strings.Contains(e.Message, "letters") || a.header.Get("Retry-After") == "" {
		t.Errorf("error %+v, header %v", e, a.header)
	}
}

func TestModelsOfTheProcessAreListed(t *testing.T) {
	t.Parallel()
	s, _ := newInference(t, func(_ *api.Options, d *api.Deps) { d.Reranker = shortest{} })
	agent := s.newAgent()
	ids := func(key *service) (ids []string) {
		for _, m := range key.call("GET", "/v1/models", nil).want(200).object().list("data") {
			ids = append(ids, m.(map[string]any)["id"].(string))
		}
		return ids
	}
	if diff := cmp.Diff([]string{agent, "local:letters@12ab", "openai:text-embedding-3-small@4+99ff", "shortest"}, ids(s)); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	for _, name := range []string{"local:letters@12ab", "letters", "shortest"} {
		if m := s.call("GET", "/v1/models/"+name, nil).want(200).object(); m.text("object") != "model" || m.text("description") == "" {
			t.Errorf("model %v", m)
		}
	}
	s.call("GET", "/v1/models/ada", nil).openAIError(404)
	key := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeQuery}, AgentID: agent}))
	if diff := cmp.Diff([]string{agent}, ids(key)); diff != "" {
		t.Errorf("models for one agent (-want +got):\n%s", diff)
	}
	key.call("GET", "/v1/models/letters", nil).openAIError(403)
}

// shortest is a reranker that prefers short passages.
type shortest struct{ err error }

func (shortest) Model() string { return "shortest" }

func (r shortest) Rerank(_ context.Context, _ string, passages []string, _ time.Time) ([]retrieve.Reranked, error) {
	order := make([]retrieve.Reranked, len(passages))
	for i, p := range passages {
		order[i] = retrieve.Reranked{Index: i, Score: 1 / float64(len(p))}
	}
	for i := range order {
		for j := i; j > 0 && order[j].Score > order[j-1].Score; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	return order, r.err
}

// ranking is a response from a rerank endpoint.
type ranking struct {
	ID, Model string
	Results   []struct {
		Index    int
		Score    float64 `json:"relevance_score"`
		Document map[string]any
	}
	Usage map[string]int
	Meta  struct {
		Version  struct{ Version string } `json:"api_version"`
		Warnings []string
	}
}

func (s *service) rerank(path string, body object) ranking {
	s.Helper()
	var r ranking
	must(s.T, json.Unmarshal(s.call("POST", path, body).want(200).body, &r))
	return r
}

func (r ranking) order() (order []int) {
	for _, result := range r.Results {
		order = append(order, result.Index)
	}
	return order
}

func TestTheRerankerRanksDocuments(t *testing.T) {
	t.Parallel()
	s, _ := newInference(t, func(_ *api.Options, d *api.Deps) { d.Reranker = shortest{} })
	documents := []any{"long text", "a", map[string]any{"text": "mid", "page": 3}}
	got := s.rerank("/v1/rerank", object{"model": "shortest", "query": "q", "documents": documents})
	if diff := cmp.Diff([]int{1, 2, 0}, got.order()); diff != "" || got.Model != "shortest" || got.ID == "" || len(got.Meta.Warnings) > 0 || got.Meta.Version.Version != "1" {
		t.Errorf("ranking %+v", got)
	}
	if diff := cmp.Diff(map[string]any{"text": "mid", "page": 3.0}, got.Results[1].Document); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if got.Results[0].Score != 1 || got.Usage["total_tokens"] == 0 {
		t.Errorf("ranking %+v", got)
	}
	two := s.rerank("/v2/rerank", object{"query": "q", "documents": documents, "top_n": 2})
	if diff := cmp.Diff([]int{1, 2}, two.order()); diff != "" || two.Results[0].Document != nil || two.Meta.Version.Version != "2" {
		t.Errorf("ranking %+v", two)
	}
	fields := s.rerank("/v1/rerank", object{
		"query": "q", "rank_fields": []string{"title", "body"}, "return_documents": false,
		"documents": []any{map[string]any{"title": "t", "body": "much longer"}, map[string]any{"title": "t"}},
	})
	if diff := cmp.Diff([]int{1, 0}, fields.order()); diff != "" || fields.Results[0].Document != nil {
		t.Errorf("ranking %+v", fields)
	}
}

// TestEmbeddingModelsRankWithoutAReranker checks that the response names the model that ranked and its method.
func TestEmbeddingModelsRankWithoutAReranker(t *testing.T) {
	t.Parallel()
	s, models := newInference(t)
	got := s.rerank("/v1/rerank", object{"query": "aaa", "documents": []string{"ccc", "aa", "aab"}})
	if diff := cmp.Diff([]int{1, 2, 0}, got.order()); diff != "" || got.Model != "local:letters@12ab" {
		t.Errorf("ranking %+v", got)
	}
	if len(got.Meta.Warnings) != 1 || !strings.Contains(got.Meta.Warnings[0], "cosine") {
		t.Errorf("warnings %q", got.Meta.Warnings)
	}
	want := []letterCall{{[]string{"aaa"}, embed.Query}, {[]string{"ccc", "aa", "aab"}, embed.Passage}}
	if diff := cmp.Diff(want, models["local:letters@12ab"].calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	a := s.call("POST", "/v2/rerank", object{"model": "rerank-v3.5", "query": "a", "documents": []string{"a"}})
	if e := a.openAIError(404); !strings.Contains(e.Message, "local:letters@12ab") {
		t.Errorf("error %+v", e)
	}
	if o := a.object(); o.text("message") == "" || o.text("message") != o.text("detail") {
		t.Errorf("body %s", a.body)
	}
}

func TestInvalidRerankRequestsAreRejected(t *testing.T) {
	t.Parallel()
	s, _ := newInference(t)
	for field, body := range map[string]object{
		"query":             {"documents": []string{"a"}},
		"documents":         {"query": "q", "documents": []string{}},
		"documents[1]":      {"query": "q", "documents": []any{"a", " "}},
		"documents[0]":      {"query": "q", "documents": []any{map[string]any{"image": "a"}}},
		"documents[0].text": {"query": "q", "documents": []any{map[string]any{"text": 5}}},
		"top_n":             {"query": "q", "documents": []string{"a"}, "top_n": 0},
	} {
		for _, path := range []string{"/v1/rerank", "/v2/rerank"} {
			if e := s.call("POST", path, body).openAIError(400); e.Param != field {
				t.Errorf("%s: error %+v", field, e)
			}
		}
	}
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, documents := range []any{many, "a", []any{5}} {
		if e := s.call("POST", "/v1/rerank", object{"query": "q", "documents": documents}).openAIError(400); !strings.HasPrefix(e.Param, "documents") {
			t.Errorf("error %+v", e)
		}
	}
}

func TestARerankerThatFailsIsUnavailable(t *testing.T) {
	t.Parallel()
	s, _ := newInference(t, func(_ *api.Options, d *api.Deps) { d.Reranker = shortest{errors.New("down")} })
	if e := s.call("POST", "/v1/rerank", object{"query": "q", "documents": []string{"a"}}).openAIError(503); !strings.Contains(e.Message, "reranker") {
		t.Errorf("error %+v", e)
	}
}

// blockedModel is an embedding model that blocks until the test releases it.
type blockedModel struct {
	letters
	entered chan string // receives the first text from each call
	release chan struct{}
}

func (e *blockedModel) Embed(ctx context.Context, texts []string, purpose embed.Purpose) ([][]float32, error) {
	e.entered <- texts[0]
	<-e.release
	return e.letters.Embed(ctx, texts, purpose)
}

// oneModel returns the same model for every id.
type oneModel struct{ model embed.Embedder }

func (m oneModel) Embedder(string) (embed.Embedder, error) { return m.model, nil }

// TestAWorkspaceLeavesSlotsToOthers sends more requests from one workspace than there are slots.
func TestAWorkspaceLeavesSlotsToOthers(t *testing.T) {
	t.Parallel()
	blocked := &blockedModel{letters: letters{id: model}, entered: make(chan string), release: make(chan struct{})}
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Embedders = oneModel{blocked} })
	other := s.stranger()
	var group sync.WaitGroup
	send := func(s *service, text string) {
		group.Go(func() {
			if a := s.call("POST", "/v1/embeddings", object{"input": text}); a.status != http.StatusOK {
				t.Errorf("%s: status %d: %s", text, a.status, a.body)
			}
		})
	}
	const mine = 5
	for range mine {
		send(s, "mine")
	}
	for range 2 {
		<-blocked.entered
	}
	send(other, "theirs")
	if text := <-blocked.entered; text != "theirs" {
		t.Error("one workspace has more than half of the slots")
	}
	close(blocked.release)
	for range mine - 2 {
		<-blocked.entered
	}
	group.Wait()
}
