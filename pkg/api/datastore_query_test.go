package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// asked stubs the retriever to record the last request it receives. It returns a pointer to that request.
func (s *service) asked() *retrieve.Request {
	var got retrieve.Request
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		got = r
		return retrieve.Result{}, nil
	}
	return &got
}

func queryPaths(id string) []string {
	var out []string
	for _, base := range []string{"", "/api"} {
		out = append(out, base+"/datastores/"+id+"/query", base+"/datastores/query/"+id)
	}
	return out
}

func TestFragmentsAreSentInOnePiece(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) {
		return retrieve.Result{Fragments: []domain.Fragment{{Text: strings.Repeat("long ", 2000)}}}, nil
	}
	a := s.call("POST", "/datastores/"+s.newDatastore()+"/query", object{"query": "trial"}).want(200)
	if got, want := a.header.Get("Content-Length"), strconv.Itoa(len(a.body)); got != want {
		t.Errorf("an answer of %s bytes says that it has %q", want, got)
	}
}

func TestTheModeOfADatastoreQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.asked()
	for _, path := range queryPaths(s.newDatastore()) {
		for sent, want := range map[any]domain.SearchMode{nil: "", "hybrid": "hybrid", "lexical": "lexical", "dense": "dense"} {
			s.call("POST", path, object{"query": "trial", "mode": sent}).want(200)
			if got.Mode != want {
				t.Errorf("%s with mode %v: asked for %q, want %q", path, sent, got.Mode, want)
			}
		}
		if fault := s.call("POST", path, object{"query": "trial", "mode": "vague"}).fault("mode"); fault != `is "vague"; it must be one of hybrid, lexical, dense` {
			t.Errorf("%s: %s", path, fault)
		}
	}
}

func TestTheChoicesOfADatastoreQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.asked()
	yes, no := true, false
	for _, path := range queryPaths(s.newDatastore()) {
		for name, c := range map[string]struct {
			body   object
			rerank *bool
			most   int
		}{
			"none":              {object{}, nil, 0},
			"nulls":             {object{"rerank": nil, "maxPerDatasource": nil}, nil, 0},
			"reranked":          {object{"rerank": true}, &yes, 0},
			"not reranked":      {object{"rerank": false}, &no, 0},
			"spread":            {object{"maxPerDatasource": 2}, nil, 2},
			"spread, reranked":  {object{"maxPerDatasource": 100.0, "rerank": true}, &yes, 100},
			"with all of modes": {object{"maxPerDatasource": 1, "rerank": false, "mode": "dense"}, &no, 1},
		} {
			s.call("POST", path, with(object{"query": "trial"}, c.body)).want(200)
			if diff := cmp.Diff(c.rerank, got.Rerank); diff != "" || got.MaxPerDatasource != c.most || got.Explain {
				t.Errorf("%s, %s: asked for %+v", path, name, got)
			}
		}
		a := s.call("POST", path, object{"query": "trial", "rerank": "yes", "maxPerDatasource": 0})
		if a.fault("rerank") != `is "yes"; it must be true or false` || a.fault("maxPerDatasource") != "0 is below the minimum of 1" {
			t.Errorf("%s: %s", path, a.body)
		}
		if fault := s.call("POST", path, object{"query": "trial", "maxPerDatasource": 101}).fault("maxPerDatasource"); fault != "101 is above the maximum of 100" {
			t.Errorf("%s: %s", path, fault)
		}
		if fault := s.call("POST", path+"?explain=1", object{"query": "trial"}).fault("explain"); fault != `is "1"; it must be true or false` {
			t.Errorf("%s: %s", path, fault)
		}
	}
}

// explanation returns an explanation with every field set.
func explanation() *domain.Explanation {
	selected := 3
	return &domain.Explanation{
		Query: "how long trial", Mode: domain.SearchHybrid, TopK: 5, MaxPerDatasource: 2,
		Filters: domain.ExplainedFilters{Datasources: &selected, Metadata: map[string]any{"lang": "en"}},
		Datastores: []domain.ExplainedDatastore{{ID: "store", Engine: domain.EngineEmbedded, Model: model, Lexical: true, Dense: true, DenseWeight: 0.35, Depth: 200, Candidates: 9,
			Evidence: &domain.ExplainedEvidence{AverageWeight: 0.3, Symbols: 0.125, RarestWord: true, Agreement: 0.1}}},
		Rerank: domain.ExplainedRerank{Model: "cross", Candidates: 9, Unscored: 3, Took: 12500 * time.Microsecond},
		Terms:  map[string]float64{"trial": 2.5}, Words: map[string][]string{"trial": {"trial", "trials"}}, Candidates: 9,
		Fragments: []domain.ExplainedFragment{{
			ChunkID: fragment.ChunkID, DatastoreID: "store", Lexical: 4, LexicalRank: 1, Dense: 0.5, Document: 0.25, Fused: 0.7, FusedRank: 1, Rank: 2,
			Reranked: 0.75, RerankedRank: 1, Terms: []string{"trial"}, Merged: []string{"c2"}, Duplicates: []string{"c3"},
		}},
		Dropped: domain.ExplainedDrops{Inactive: 1, Duplicates: 1, Merged: 1, Below: 6, Chunks: []domain.ExplainedDrop{
			{ChunkID: "c3", DatasourceID: "other", DatasourceName: "other.pdf", Page: 2, Heading: "Prices", Reason: domain.DropDuplicate, For: fragment.ChunkID, Rank: 4, Score: 0.25},
		}},
	}
}

func TestAnExplainedDatastoreQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		found := retrieve.Result{Fragments: []domain.Fragment{fragment}}
		if r.Explain {
			found.Explanation = explanation()
		}
		return found, nil
	}
	store := s.newDatastore()
	for _, base := range []string{"", "/api"} {
		path := base + "/datastores/" + store + "/query"
		if body := s.call("POST", path+"?explain=false", object{"query": "trial"}).want(200).body; body[0] != '[' {
			t.Errorf("not an array: %s", body)
		}
		a := s.call("POST", path+"?explain=true", object{"query": "trial"}).want(200)
		s.valid(a, "ExplainedFragments")
		if got := a.header.Get("Content-Type"); got != "application/vnd.sluice.explained+json" {
			t.Errorf("explained fragments are %s", got)
		}
		golden(t, "explained-fragments.json", a.indented())

		older := base + "/datastores/query/" + store
		if o := s.call("POST", older, object{"query": "trial"}).want(200).object(); o["explanation"] != nil {
			t.Errorf("explained without being asked: %v", o)
		}
		a = s.call("POST", older+"?explain=TRUE", object{"query": "trial"}).want(200)
		s.valid(a, "RetrieverResults")
		golden(t, "explained-results.json", a.indented())
	}
}

func TestAnIdempotencyKeyIsTiedToTheOptionsOfItsQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		found := retrieve.Result{Fragments: []domain.Fragment{fragment}}
		if r.Explain {
			found.Explanation = explanation()
		}
		return found, nil
	}
	for name, path := range map[string]string{"fragments": "/datastores/%s/query", "results": "/datastores/query/%s"} {
		path = strings.ReplaceAll(path, "%s", s.newDatastore())
		for key, c := range map[string]struct {
			query string
			body  object
		}{
			"not explained":         {"", object{}},
			"explained":             {"?explain=true", object{}},
			"by words":              {"", object{"mode": "lexical"}},
			"reranked":              {"", object{"rerank": true}},
			"spread":                {"", object{"maxPerDatasource": 1}},
			"explained, and spread": {"?explain=true", object{"maxPerDatasource": 1}},
		} {
			send := func(query string, body object) *response {
				return s.call("POST", path+query, with(object{"query": "trial"}, body), "Idempotency-Key", name+", "+key)
			}
			first := send(c.query, c.body).want(200)
			again := send(c.query, c.body).want(200)
			if string(again.body) != string(first.body) || again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s, %s: %s, then %s", name, key, first.body, again.body)
			}
			if then, now := first.header.Get("Content-Type"), again.header.Get("Content-Type"); now != then {
				t.Errorf("%s, %s: %s, then %s", name, key, then, now)
			}
			other := map[string]string{"": "?explain=true", "?explain=true": ""}[c.query]
			send(other, c.body).problem(409)
			send(c.query, with(c.body, object{"topK": 3})).problem(409)
		}
	}
}

func TestAnExplainedAgentQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.answerer.answer = func(_ context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		got := answer.Answer{Text: "30 days [1].", ConversationID: newConversation, VisitorID: "v-1", Sources: []domain.Fragment{fragment}}
		if emit != nil {
			must(t, emit(got.Text))
		}
		if r.Explain {
			got.Explanation = explanation()
			got.Explanation.Fragments = append(got.Explanation.Fragments, domain.ExplainedFragment{ChunkID: "unused"})
		}
		return got, nil
	}
	agent := s.newAgent(object{"visibility": "public"})
	members := map[string]*service{"explained-answer.json": s}
	members["explained-answer-visitor.json"] = s.as("")
	for file, caller := range members {
		for _, base := range []string{"", "/api"} {
			for _, path := range []string{base + "/agents/" + agent + "/query", base + "/agents/query/" + agent} {
				if o := caller.call("POST", path, object{"query": "How long?"}).want(200).object(); o["explanation"] != nil {
					t.Errorf("explained without being asked: %v", o)
				}
				a := caller.call("POST", path+"?explain=true", object{"query": "How long?"}).want(200)
				s.valid(a, "AgentAnswer")
				golden(t, file, a.indented())
				var client conversationClient
				client.take(parseStream(caller.call("POST", path+"?explain=true", object{"query": "How long?", "streaming": true}).want(200).body, 64))
				golden(t, file, (&response{T: t, body: []byte(client.response)}).indented())
			}
		}
	}
}

// valid checks the body against one of the OpenAPI document's schemas.
func (s *service) valid(a *response, schema string) {
	s.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(s.call("GET", "/openapi.json", nil).want(200).body)
	must(s.T, err)
	var value any
	must(s.T, json.Unmarshal(a.body, &value))
	if err := doc.Components.Schemas[schema].Value.VisitJSON(value); err != nil {
		s.Errorf("not what the document says of %s: %v", schema, err)
	}
}

func (a *response) indented() string {
	a.Helper()
	var out bytes.Buffer
	must(a.T, json.Indent(&out, a.body, "", "  "))
	return strings.TrimSpace(out.String()) + "\n"
}

func TestRequestsToChaindeskHostsHaveTheFormOfItsRetriever(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) {
		return retrieve.Result{Fragments: []domain.Fragment{{Text: "30 days", Source: "trial.txt", Score: 0.5}}}, nil
	}
	path := s.url + "/api/datastores/" + s.newDatastore() + "/query"
	for name, test := range map[string]struct{ host, forwarded, want string }{
		"by its name":       {"app.chaindesk.ai", "", `{"results":[{`},
		"by a proxy":        {"", "App.Chaindesk.ai:443", `{"results":[{`},
		"to this service":   {"", "", `[{`},
		"to somewhere else": {"chaindesk.ai.example", "example.com", `[{`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"query":"trial"}`))
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+s.key)
		req.Header.Set("X-Forwarded-Host", test.forwarded)
		if test.host != "" {
			req.Host = test.host
		}
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, errors.Join(err, resp.Body.Close()))
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(string(body), test.want) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

// TestQueriesThatGrowAreRefused sends every endpoint a query that becomes too long only when normalised.
func TestQueriesThatGrowAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	long := strings.Repeat("\uFDFA", 8000)
	for path, body := range map[string]object{
		"/datastores/" + s.datastore + "/query": {"query": long},
		"/agents/" + s.agent + "/query":         {"query": long},
		"/v1/chat/completions":                  {"model": s.agent, "messages": []object{{"role": "user", "content": long}}},
	} {
		a := s.call("POST", path, body)
		if a.status != 400 || !strings.Contains(string(a.body), "has more than 8000 characters (SLUICE_LIMIT_QUERY) after Unicode normalisation") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	a := s.call("POST", "/datastores/"+s.datastore+"/query", object{"query": strings.Repeat("\uFB01", 4000)})
	a.want(200)
}

// ranked returns n fragments with scores descending from 1, along with an explanation if the request asks for one.
func ranked(r retrieve.Request, n int) retrieve.Result {
	out := retrieve.Result{}
	if r.Explain {
		out.Explanation = &domain.Explanation{}
	}
	for i := range min(n, r.TopK) {
		out.Fragments = append(out.Fragments, domain.Fragment{ChunkID: strconv.Itoa(i), Score: 1 - float64(i)/100, Text: "Pumps need oil."})
		if r.Explain {
			out.Explanation.Fragments = append(out.Explanation.Fragments, domain.ExplainedFragment{ChunkID: strconv.Itoa(i)})
		}
	}
	return out
}

func TestPagesOfADatastoreQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) { return ranked(r, 60), nil }
	path := "/datastores/" + s.newDatastore() + "/query"
	for name, c := range map[string]struct {
		body object
		want string
	}{
		"the first page":               {object{"topK": 3, "offset": 0}, "0 1 2 "},
		"a later page":                 {object{"topK": 3, "offset": 30}, "30 31 32 "},
		"the last page":                {object{"topK": 10, "offset": 57}, "57 58 59 "},
		"a page after the last":        {object{"topK": 10, "offset": 99}, ""},
		"a score that few reach":       {object{"topK": 10, "minScore": 0.975}, "0 1 2 "},
		"a score that all reach":       {object{"topK": 2, "minScore": 0}, "0 1 "},
		"a page of those with a score": {object{"topK": 2, "offset": 2, "minScore": 0.96}, "2 3 "},
		"a score that no fragment has": {object{"minScore": 1.0, "offset": 1}, ""},
		"no page":                      {object{"topK": 2}, "0 1 "},
	} {
		for _, explain := range []string{"", "?explain=true"} {
			a := s.call("POST", path+explain, with(object{"query": "pump"}, c.body)).want(200)
			var found []any
			if explain != "" {
				found = a.object().list("fragments")
			} else if err := json.Unmarshal(a.body, &found); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range found {
				fragment := object(f.(map[string]any))
				got += fragment.text("chunk_id") + " "
				if explanation, ok := fragment["explanation"].(map[string]any); ok && explanation["chunk_id"] != fragment["chunk_id"] {
					t.Errorf("%s: the explanation of %v is that of %v", name, fragment["chunk_id"], explanation["chunk_id"])
				}
			}
			if got != c.want {
				t.Errorf("%s%s: %q, want %q", name, explain, got, c.want)
			}
		}
	}
}

func TestQueriesAreSearchedTogetherAndHighlighted(t *testing.T) {
	t.Parallel()
	s := newService(t, limits)
	var got retrieve.Request
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		got = r
		return ranked(r, 1), nil
	}
	path := "/datastores/" + s.newDatastore() + "/query"
	a := s.call("POST", path, object{"query": "the pump", "queries": []string{"oil", "tank"}, "highlights": true}).want(200)
	if diff := cmp.Diff([]string{"oil", "tank"}, got.Parts); diff != "" || got.Query != "the pump" || got.TopK != 5 {
		t.Errorf("asked for %q and the parts %q, the best %d", got.Query, got.Parts, got.TopK)
	}
	if !strings.Contains(string(a.body), `"highlights":[{"end":5,"start":0},{"end":14,"start":11}]`) {
		t.Errorf("the words are not marked: %s", a.body)
	}
	if a := s.call("POST", path, object{"query": "pump"}).want(200); strings.Contains(string(a.body), "highlights") {
		t.Errorf("words are marked: %s", a.body)
	}
	faulty := s.call("POST", path, object{
		"query": "pump", "queries": []any{"oil", " ", strings.Repeat("q", 21), 7}, "offset": 100, "minScore": 1.5, "highlights": "yes",
	})
	for field, words := range map[string]string{
		"queries[1]": "is empty; it must contain text",
		"queries[2]": "has 21 characters; the limit is 20",
		"queries[3]": "is 7; it must be a string",
		"offset":     "100 is above the maximum of 99",
		"minScore":   "1.5 is above the maximum of 1",
		"highlights": `is "yes"; it must be true or false`,
	} {
		if got := faulty.fault(field); got != words {
			t.Errorf("%s: %q, want %q", field, got, words)
		}
	}
	if got := s.call("POST", path, object{"query": "pump", "queries": []string{}}).fault("queries"); got != "has 0 items; the minimum is 1" {
		t.Errorf("no queries: %q", got)
	}
	if got := s.call("POST", path, object{"query": "pump", "queries": []string{"\ufdfa\ufdfa"}}).fault("queries[0]"); !strings.Contains(got, "after Unicode normalisation") {
		t.Errorf("a query that grows: %q", got)
	}
}

func TestUnselectedFieldsOfFragmentsAreEmpty(t *testing.T) {
	t.Parallel()
	s := newService(t)
	full := domain.Fragment{
		ChunkID: "c", Score: 0.5, Text: "Pumps.", Source: "a.pdf", DatasourceID: "d", DatasourceName: "A", CustomID: "x", Page: 3,
		Heading: "Oil", Offset: 7, MIMEType: "text/plain", Metadata: map[string]any{"k": "v"},
	}
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) {
		return retrieve.Result{Fragments: []domain.Fragment{full}}, nil
	}
	path := "/datastores/" + s.newDatastore() + "/query"
	query := func(more object) object {
		var found []object
		a := s.call("POST", path, with(object{"query": "pump"}, more)).want(200)
		if err := json.Unmarshal(a.body, &found); err != nil || len(found) != 1 {
			t.Fatalf("%v: %s", err, a.body)
		}
		return found[0]
	}
	all := query(object{})
	empty := object{
		"text": "", "source": "", "datasource_id": "", "datasource_name": "", "custom_id": nil, "page": nil, "heading": nil, "offset": 0.0,
		"mime_type": nil, "metadata": map[string]any{},
	}
	for field := range empty {
		want := with(object{}, empty, object{"chunk_id": "c", "score": 0.5, field: all[field]})
		if diff := cmp.Diff(want, query(object{"fields": []string{field}})); diff != "" {
			t.Errorf("only %s (-want +got):\n%s", field, diff)
		}
	}
	if got := s.call("POST", path, object{"query": "pump", "fields": []string{"text", "vector"}}).fault("fields[1]"); !strings.HasPrefix(got, `is "vector"; it must be one of text, source`) {
		t.Errorf("an unknown field: %q", got)
	}
}

func TestAVectorOfADatastoreQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.asked()
	encoded := base64.StdEncoding.EncodeToString([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xbf}) // 1 and -0.5
	for _, path := range queryPaths(s.newDatastore()) {
		for name, c := range map[string]struct {
			body object
			want []float32
		}{
			"none":                     {object{"query": "trial"}, nil},
			"null":                     {object{"query": "trial", "vector": nil}, nil},
			"numbers":                  {object{"query": "trial", "vector": []float64{1, -0.5}}, []float32{1, -0.5}},
			"numbers by name":          {object{"query": "trial", "vector": []float64{1, -0.5}, "encoding_format": "float"}, []float32{1, -0.5}},
			"base64":                   {object{"query": "trial", "vector": encoded}, []float32{1, -0.5}},
			"base64 by name":           {object{"query": "trial", "vector": encoded, "encoding_format": "base64"}, []float32{1, -0.5}},
			"a vector without a query": {object{"mode": "dense", "vector": encoded}, []float32{1, -0.5}},
		} {
			s.call("POST", path, c.body).want(200)
			if diff := cmp.Diff(c.want, got.Vector); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", path, name, diff)
			}
		}
		for name, c := range map[string]struct {
			body         object
			field, fault string
		}{
			"no query":                 {object{"topK": 1}, "query", "is required"},
			"no query, hybrid":         {object{"vector": encoded}, "query", "is required"},
			"no vector, dense":         {object{"mode": "dense"}, "query", "is required"},
			"an object":                {object{"query": "a", "vector": object{}}, "vector", "is an object; it must be an array of 1 to 16,384 numbers, or 32-bit little-endian floats in base64"},
			"texts":                    {object{"query": "a", "vector": []any{1, "b"}}, "vector", "is an array; it must be an array of 1 to 16,384 numbers, or 32-bit little-endian floats in base64"},
			"no numbers":               {object{"query": "a", "vector": []any{}}, "vector", "is an array; it must be an array of 1 to 16,384 numbers, or 32-bit little-endian floats in base64"},
			"not base64":               {object{"query": "a", "vector": "1, 2"}, "vector", "is not base64 (illegal base64 data at input byte 1); send 32-bit little-endian floats in base64, or an array of numbers"},
			"half a number":            {object{"query": "a", "vector": "AAAAAAAA"}, "vector", "decodes to 6 bytes, which is not a multiple of 4; send 32-bit little-endian floats"},
			"a string of numbers":      {object{"query": "a", "vector": encoded, "encoding_format": "float"}, "vector", "is a string, but encoding_format is float; send an array of numbers, or encoding_format base64"},
			"an array in base64":       {object{"query": "a", "vector": []any{1}, "encoding_format": "base64"}, "vector", "is an array, but encoding_format is base64; send a string, or encoding_format float"},
			"a format of no vector":    {object{"query": "a", "encoding_format": "base64"}, "encoding_format", "only works together with vector; send vector or leave this field out"},
			"a format that is unknown": {object{"query": "a", "vector": encoded, "encoding_format": "hex"}, "encoding_format", `is "hex"; it must be one of float, base64`},
		} {
			if got := s.call("POST", path, c.body).fault(c.field); got != c.fault {
				t.Errorf("%s, %s: %q, want %q", path, name, got, c.fault)
			}
		}
	}
}
