package api_test

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/retrieve"
)

func TestAQueryWithAnUnknownFieldIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) { return retrieve.Result{}, nil }
	datastore, agent := s.newDatastore(), s.newAgent()
	const allFilters = "is unknown; it must be one of custom_ids, datasource_ids, filter, filters, key, metadata, type, value"
	filters := map[string]struct{ body, field, words string }{
		"filter for filters":             {`"filter": {"custom_ids": ["a"]}`, "filter", "is unknown; did you mean filters?"},
		"filters with a capital":         {`"Filters": {"custom_ids": ["a"]}`, "Filters", "is unknown; did you mean filters?"},
		"ids beside the filters":         {`"custom_ids": ["a"]`, "custom_ids", "is unknown; did you mean filters.custom_ids?"},
		"ids as other fields are named":  {`"filters": {"datasourceIds": ["a"]}`, "filters.datasourceIds", "is unknown; did you mean filters.datasource_ids?"},
		"one id":                         {`"filters": {"custom_id": "a"}`, "filters.custom_id", "is unknown; did you mean filters.custom_ids?"},
		"metadata among the filters":     {`"filters": {"team": "docs"}`, "filters.team", allFilters},
		"another service's filter":       {`"filters": {"$and": []}`, "filters.$and", allFilters},
		"a misspelt field that is null":  {`"filter": null`, "filter", "is unknown; did you mean filters?"},
		"filters of something else":      {`"filters": {"datastore_ids": ["a"]}`, "filters.datastore_ids", allFilters},
		"a query in another case, twice": {`"Query": "a"`, "Query", "is unknown; did you mean query?"},
	}
	for name, c := range filters {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			for _, path := range []string{"/datastores/" + datastore + "/query", "/datastores/query/" + datastore, "/agents/" + agent + "/query", "/agents/query/" + agent} {
				a := s.call("POST", path, `{"query": "a", `+c.body+`}`)
				if got := a.fault(c.field); got != c.words {
					t.Errorf("%s: got %q, want %q", path, got, c.words)
				}
				if n := len(a.problem(400).Errors); n != 1 {
					t.Errorf("%s: %d faults: %s", path, n, a.body)
				}
			}
		})
	}
	for field, words := range map[string]string{
		"topk": "is unknown; did you mean topK?", "top_k": "is unknown; did you mean topK?", "k": "is unknown; it must be one of boosts, encoding_format, facets, fields, filters, highlights, maxPerDatasource, minScore, mode, offset, queries, query, rectangles, rerank, topK, vector",
		"where": "is unknown; it must be one of boosts, encoding_format, facets, fields, filters, highlights, maxPerDatasource, minScore, mode, offset, queries, query, rectangles, rerank, topK, vector",
	} {
		if got := s.call("POST", "/datastores/"+datastore+"/query", `{"query": "a", "`+field+`": 3}`).fault(field); got != words {
			t.Errorf("%s: got %q, want %q", field, got, words)
		}
	}
}

func TestFieldsOfOtherServicesAreIgnoredInAnAgentQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.call("POST", "/agents/"+s.newAgent()+"/query", `{"query": "a", "channel": "website", "isDraft": false, "attachments": [], "context": ""}`).want(200)
}

func TestAnAgentQueryWithFieldsOfAnotherQueryIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for field, way := range map[string]string{
		`"topK": 3`: "accepts topK", `"top_k": 3`: "accepts topK", `"mode": "lexical"`: "accepts mode", `"rerank": false`: "accepts rerank",
		`"maxPerDatasource": 1`: "POST /datastores/{id}/query", `"explain": true`: "?explain=true", `"model": "llm_4"`: "did you mean modelName?",
		`"messages": []`: "conversationId", `"history": []`: "conversationId", `"datastoreIds": ["a"]`: "filters.datasource_ids",
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(field, `"`), `"`)
		got := s.call("POST", "/agents/"+s.newAgent()+"/query", `{"query": "a", `+field+`}`).fault(name)
		if !strings.HasPrefix(got, "is unknown; ") || !strings.Contains(got, way) {
			t.Errorf("%s: got %q, want %q", field, got, way)
		}
	}
}

func TestABodyWithoutKnownFieldsIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, path := range []string{"/agents/" + s.newAgent(), "/datastores/" + s.newDatastore()} {
		if got := s.call("PATCH", path, `{"nme": "x"}`).fault("nme"); got != "is unknown; did you mean name?" {
			t.Errorf("%s: got %q", path, got)
		}
		colour := s.call("PATCH", path, `{"colour": "x"}`)
		if strings.HasPrefix(path, "/agents/") { // agents store unknown fields
			colour.want(200)
		} else if got := colour.fault("colour"); !strings.HasPrefix(got, "is unknown; the body has no known fields; the known fields are ") || !strings.Contains(got, "name") {
			t.Errorf("%s: got %q", path, got)
		}
		s.call("PATCH", path, `{"name": "x", "colour": "y"}`).want(200)
		s.call("PATCH", path, `{}`).want(200)
	}
}

func TestMisspeltFieldsAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent, datastore := s.newAgent(), s.newDatastore()
	for name, c := range map[string]struct{ method, path, body, field, words string }{
		"a key that would never expire":   {"POST", "/keys", `{"name": "a", "expires": "2027-01-01T00:00:00Z"}`, "expires", "is unknown; did you mean expiresAt?"},
		"a key that could write":          {"POST", "/keys", `{"name": "a", "scope": ["read"]}`, "scope", "is unknown; did you mean scopes?"},
		"a key with what no key has":      {"POST", "/keys", `{"name": "a", "role": "reader"}`, "role", "is unknown; it must be one of agentId, expiresAt, limits, name, scopes"},
		"a resync that would not fetch":   {"POST", "/datastores/" + datastore + "/resync", `{"Mode": "refresh"}`, "Mode", "is unknown; did you mean mode?"},
		"a slip":                          {"PATCH", "/agents/" + agent, `{"temprature": 0}`, "temprature", "is unknown; did you mean temperature?"},
		"another way of writing":          {"PATCH", "/agents/" + agent, `{"datastore_ids": ["a"]}`, "datastore_ids", "is unknown; did you mean datastoreIds?"},
		"an agent that would stay public": {"PATCH", "/agents/" + agent, `{"visiblity": "private"}`, "visiblity", "is unknown; did you mean visibility?"},
		"chunking beside chunking":        {"PATCH", "/datastores/" + datastore, `{"maxTokens": 100}`, "maxTokens", "is unknown; did you mean chunking.maxTokens?"},
		"chunking with a slip":            {"PATCH", "/datastores/" + datastore, `{"chunking": {"maxToken": 100}}`, "chunking.maxToken", "is unknown; did you mean chunking.maxTokens?"},
		"an identity in other letters":    {"POST", "/datastores/upsert/" + datastore, `{"documents": [{"text": "a", "customId": "1"}]}`, "documents[0].customId", "is unknown; did you mean documents[0].custom_id?"},
		"an identity in a config":         {"POST", "/datastores/upsert/" + datastore, `{"documents": [{"text": "a", "config": {"custom_id": "1"}}]}`, "documents[0].config", "is unknown; send custom_id next to text, and everything else in metadata"},
		"metadata with a slip":            {"POST", "/datastores/upsert/" + datastore, `{"documents": [{"text": "b", "metdata": {}}]}`, "documents[0].metdata", "is unknown; did you mean documents[0].metadata?"},
		"a parameter":                     {"GET", "/datasources?datastoreID=" + datastore, "", "datastoreID", "is unknown; did you mean datastoreId?"},
		"a parameter with a slip":         {"POST", "/datastores/" + datastore + "/query?explian=true", `{"query": "a"}`, "explian", "is unknown; did you mean explain?"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			var body any
			if c.body != "" {
				body = c.body
			}
			if got := s.call(c.method, c.path, body).fault(c.field); got != c.words {
				t.Errorf("got %q, want %q", got, c.words)
			}
		})
	}
	s.call("GET", "/datasources?_=1&utm_source=x&page=2", nil).want(200)
}

func TestAListIsFilteredByCustomID(t *testing.T) {
	t.Parallel()
	s := newService(t)
	mine, other := s.newDatastore(), s.newDatastore()
	id := s.newText(mine, "a", object{"custom_id": "m&1"})
	s.newText(mine, "b", object{"custom_id": "m&10"})
	elsewhere := s.newText(other, "c", object{"custom_id": "m&1"})
	for query, want := range map[string][]string{
		"customId=m%261": {elsewhere, id}, "custom_id=m%261": {elsewhere, id}, "customId=m%261&datastoreId=" + mine: {id}, "customId=M%261": {}, "customId=m": {},
	} {
		got := []string{}
		for _, d := range s.call("GET", "/datasources?"+query, nil).want(200).object().list("data") {
			got = append(got, object(d.(map[string]any)).id())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v", query, got, want)
		}
	}
	for query, field := range map[string]string{"customId=a&custom_id=b": "customId", "customid=a": "customid", "name=a": "name"} {
		if fault := s.call("GET", "/datasources?"+query, nil).fault(field); fault == "" {
			t.Errorf("%s: no reason", query)
		}
	}
	if got := s.call("GET", "/agents?name=a", nil).fault("name"); got != "is not a filter for this list; the parameters are limit, cursor" {
		t.Errorf("got %q", got)
	}
	if all := s.stranger().call("GET", "/datasources?customId=m%261", nil).want(200).object().list("data"); len(all) != 0 {
		t.Errorf("a stranger sees %v", all)
	}
}

func TestResponsesCanBeSentBackUnchanged(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, path := range []string{"/agents/" + s.newAgent(), "/datastores/" + s.newDatastore()} {
		s.call("PATCH", path, s.call("GET", path, nil).want(200).object()).want(200)
	}
}

func TestMisspeltPartsOfAFormAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for part, words := range map[string]string{
		"customId": "is unknown; did you mean custom_id?", "filename": "is unknown; did you mean fileName?", "note": "",
	} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		_ = form.WriteField("datastoreId", s.newDatastore())
		_ = form.WriteField(part, "x")
		w, err := form.CreateFormFile("file", "a.txt")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte("text"))
		_ = form.Close()
		a := s.call("POST", "/datasources", body.String(), "Content-Type", form.FormDataContentType())
		if words == "" {
			a.want(201)
		} else if got := a.fault(part); got != words {
			t.Errorf("%s: got %q, want %q", part, got, words)
		}
	}
}

func TestTooManyFieldsAreRefused(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	s := newService(t)
	body := []byte(`{"query": "a"`)
	for i := range 100_000 {
		body = fmt.Appendf(body, `, "querx%d": 1`, i)
	}
	if got := s.call("POST", "/agents/"+s.newAgent()+"/query", string(append(body, '}'))).fault("body"); got != "has 100001 fields; the limit is 1000" {
		t.Errorf("got %q", got)
	}
}
