package api_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice/sluice/pkg/retrieve"
)

func TestOneResponseNamesEveryFault(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a := s.call("POST", "/agents/"+s.newAgent()+"/query", `{
		"conversationId": "`+strings.Repeat("c", 101)+`", "temperature": 1.4, "presencePenalty": -2.5, "frequencyPenalty": 3, "topP": "high", "maxTokens": 1.5, "streaming": "yes",
		"modelName": "gpt-9", "promptType": "poem", "filters": {"custom_ids": ["a", 7], "datasource_ids": "x", "metadata": {"k": {"a": 1}, "l": null, "m": [], "n": ["a", 1, null, [true]], "o": ["a", 2, false]}}}`)
	for field, words := range map[string]string{
		"query":                  "is required",
		"conversationId":         "has 101 characters; the limit is 100",
		"temperature":            "1.4 is above the maximum of 1",
		"presencePenalty":        "-2.5 is below the minimum of -2",
		"frequencyPenalty":       "3 is above the maximum of 2",
		"topP":                   `is "high"; it must be a number`,
		"maxTokens":              "is 1.5; it must be a whole number",
		"streaming":              `is "yes"; it must be true or false`,
		"modelName":              `is "gpt-9"; it must be one of llm_3_5_turbo, llm_3_5_turbo_16k, llm_4`,
		"promptType":             `is "poem"; it must be one of raw, customer_support`,
		"filters.custom_ids[1]":  "is 7; it must be a string",
		"filters.datasource_ids": `is "x"; it must be an array`,
		"filters.metadata.k":     "is an object; it must be a string, a number, true or false, or an array of them",
		"filters.metadata.l":     "is null; it must be a string, a number, true or false, or an array of them",
		"filters.metadata.m":     "is an empty array; send the values to match, or leave the field out",
		"filters.metadata.n[2]":  "is null; it must be a string, a number, true or false",
		"filters.metadata.n[3]":  "is an array; it must be a string, a number, true or false",
	} {
		if got := a.fault(field); got != words {
			t.Errorf("%s: %q, want %q", field, got, words)
		}
	}
	if n := len(a.problem(400).Errors); n != 17 {
		t.Errorf("%d faults, want 17: %s", n, a.body)
	}
}

func TestBodiesThatAreNotJSON(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for name, c := range map[string]struct{ body, field, words string }{
		"nothing":                     {"", "body", "is empty"},
		"blanks":                      {" \n", "body", "is empty"},
		"cut off":                     {`{"name": "a`, "body", "is not valid JSON at line 1, column"},
		"NaN":                         {"{\n  \"name\": NaN}", "body", "is not valid JSON at line 2, column 11: invalid character 'N'"},
		"two values":                  {`{"name":"a"}{}`, "body", "is not valid JSON at line 1, column 13"},
		"null":                        {"null", "body", "is null"},
		"a string":                    {`"a"`, "body", `is "a"; it must be an object`},
		"Latin-1":                     {"{\"name\": \"caf\xe9\"}", "name", "is not valid UTF-8"},
		"a key in Latin-1":            {"{\"caf\xe9\": 1, \"name\": \"a\"}", "body", "is not valid UTF-8"},
		"UTF-16":                      {"\xff\xfe{\x00}\x00", "body", "is not valid UTF-8 at line 1, column 1"},
		"a key twice":                 {`{"name": "a", "name": "b"}`, "name", "appears twice"},
		"a key twice, deep":           {`{"name": "a", "x": [{"y": 1, "y": 2}]}`, "x[0].y", "appears twice"},
		"a number beyond all bounds":  {`{"name": "a", "temperature": 1e999}`, "temperature", "is 1e999, which is too large"},
		"NUL in a text":               {`{"name": "a\u0000b"}`, "name", "contains a NUL character"},
		"too deep":                    {`{"name": "a", "x": ` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}", "x" + strings.Repeat("[0]", 19) + "[0…", "is nested deeper than 64 levels"},
		"far too deep":                {strings.Repeat("[", 1_000_000), "body", "is not valid JSON"},
		"a blank name":                {`{"name": " \t"}`, "name", "is empty"},
		"an empty name":               {`{"name": ""}`, "name", "is empty"},
		"a null name":                 {`{"name": null}`, "name", "is required"},
		"a name in another case":      {`{"Name": "a"}`, "name", "is required"},
		"too long a name":             {`{"name": "` + strings.Repeat("n", 201) + `"}`, "name", "has 201 characters; the limit is 200"},
		"too long a name of emoji":    {`{"name": "` + strings.Repeat("😀", 201) + `"}`, "name", "has 201 characters; the limit is 200"},
		"a null in a list":            {`{"name": "a", "datastoreIds": [null]}`, "datastoreIds[0]", "is null; it must be a string"},
		"a null in a list of objects": {`{"name": "a", "tools": [null]}`, "tools[0]", "is null; it must be an object"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			if got := s.call("POST", "/agents", c.body).fault(c.field); !strings.HasPrefix(got, c.words) {
				t.Errorf("%q, want %q…", got, c.words)
			}
		})
	}
}

func TestSizesOfChunksAreChecked(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	for name, c := range map[string]struct{ body, field, words string }{
		"a target that is too small":      {`{"name": "a", "chunking": {"targetTokens": 31}}`, "chunking.targetTokens", "31 is below the minimum of 32"},
		"a most that is too large":        {`{"name": "a", "chunking": {"maxTokens": 2049}}`, "chunking.maxTokens", "2049 is above the maximum of 2048"},
		"a target that is above the most": {`{"name": "a", "chunking": {"targetTokens": 300, "maxTokens": 200}}`, "chunking.maxTokens", "is 200, which is less than chunking.targetTokens (300); set both"},
		"a size that is no number":        {`{"name": "a", "chunking": {"targetTokens": "all"}}`, "chunking.targetTokens", `is "all"; it must be a whole number`},
	} {
		for method, path := range map[string]string{"POST": "/datastores", "PATCH": "/datastores/" + store} {
			if got := s.call(method, path, c.body).fault(c.field); got != c.words {
				t.Errorf("%s, %s: %q, want %q", name, method, got, c.words)
			}
		}
	}
	for name, c := range map[string]struct {
		chunking     object
		target, most float64
	}{
		"defaults":                    {object{}, 128, 200},
		"the most follows the target": {object{"targetTokens": 256}, 256, 400},
		"the target is not above it":  {object{"maxTokens": 100}, 100, 100},
		"both":                        {object{"targetTokens": 256, "maxTokens": 512}, 256, 512},
	} {
		got := s.call("GET", "/datastores/"+s.newDatastore(object{"chunking": c.chunking}), nil).want(200).object()["chunking"].(map[string]any)
		if got["targetTokens"] != c.target || got["maxTokens"] != c.most {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTolerantBodies(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for name, c := range map[string]struct{ body, contentType string }{
		"unknown fields":                 {`{"name": "a", "size": {"x": [1, null]}}`, "application/json"},
		"no Content-Type":                {`{"name": "a"}`, ""},
		"another Content-Type":           {`{"name": "a"}`, "text/plain"},
		"a form's Content-Type":          {`{"name": "a"}`, "application/x-www-form-urlencoded"},
		"a byte order mark":              {"\ufeff{\"name\": \"a\"}", "application/json"},
		"null for what is not given":     {`{"name": "a", "description": null, "modelName": null, "datastoreIds": null, "tools": null}`, "application/json"},
		"a whole number for a fraction":  {`{"name": "a", "temperature": 1}`, "application/json"},
		"numbers as some languages show": {`{"name": "a", "temperature": 0.50e0}`, "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.call("POST", "/agents", c.body, "Content-Type", c.contentType).want(201)
		})
	}
	datastore := s.newDatastore()
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		if r.TopK != 7 {
			t.Errorf("topK is %d, want 7", r.TopK)
		}
		return retrieve.Result{}, nil
	}
	a := s.call("POST", "/datastores/"+datastore+"/query/", `{"query": "q", "topK": 7.0}`).want(200)
	if string(a.body) != "[]\n" {
		t.Errorf("no fragments are %s", a.body)
	}
}

func TestSizeLimitsAreNamed(t *testing.T) {
	t.Parallel()
	s := newService(t, limits)
	agent, datastore := s.newAgent(), s.newDatastore()
	if got := s.call("POST", "/agents/"+agent+"/query", object{"query": strings.Repeat("q", 21)}).fault("query"); got != "has 21 characters; the limit is 20" {
		t.Errorf("query: %q", got)
	}
	documents := []object{{"text": "a"}, {"text": "b"}, {"text": "c"}, {"text": "d"}}
	if got := s.call("POST", "/datastores/upsert/"+datastore, object{"documents": documents}).fault("documents"); got != "has 4 items; the limit is 3" {
		t.Errorf("documents: %q", got)
	}
	site := object{"datastoreId": datastore, "type": "web_site", "config": object{"source_url": "https://example.com", "max_pages": 6}}
	if got := s.call("POST", "/datasources", site).fault("config.max_pages"); got != "6 is above the maximum of 5" {
		t.Errorf("max_pages: %q", got)
	}
	id := s.newSite(datastore, object{})
	if got := s.call("PATCH", "/datasources/"+id, object{"config": object{"max_pages": 6}}).fault("config.max_pages"); got != "6 is above the maximum of 5" {
		t.Errorf("max_pages of a patch: %q", got)
	}
	big := object{"name": "a", "systemPrompt": strings.Repeat("p", 1000)}
	if p := s.call("POST", "/agents", big).problem(413); !strings.Contains(p.Detail, "1000 bytes") || p.Error != "TOO_LARGE" {
		t.Errorf("413: %+v", p)
	}
	hidden := strings.NewReader(`{"name": "` + strings.Repeat("n", 2000) + `"}`)
	s.call("POST", "/agents", struct{ *strings.Reader }{hidden}).problem(413) // without a Content-Length
	metadata := object{"documents": []object{{"text": "a", "metadata": object{"k": strings.Repeat("v", 17<<10)}}}}
	if got := newService(t).stranger().call("POST", "/datastores/upsert/"+datastore, metadata).fault("documents[0].metadata"); !strings.HasSuffix(got, "the limit is 16 KiB") {
		t.Errorf("metadata: %q", got)
	}
}

func TestDatasourcesOfTheWebNeedAnAddress(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	for name, c := range map[string]struct {
		kind   string
		config object
		field  string
		words  string
	}{
		"a page without one":         {"web_page", object{}, "config.source_url", "is required for a web_page"},
		"a site without any":         {"web_site", object{"max_pages": 3}, "config.source_url", "is required for a web_site, unless"},
		"a text without text":        {"text", object{"text": "  "}, "config.text", "is required for a text"},
		"a relative address":         {"web_page", object{"source_url": "/a"}, "config.source_url", `is "/a"; it must begin with http:// or https://`},
		"another scheme":             {"web_page", object{"source_url": "file:///etc/passwd"}, "config.source_url", "it must begin with"},
		"no host":                    {"web_page", object{"source_url": "http:///a"}, "config.source_url", "has no host"},
		"an address with a password": {"web_page", object{"source_url": "http://u:p@example.com"}, "config.source_url", "must not contain a user name"},
		"a sitemap that is none":     {"web_site", object{"sitemap": "sitemap.xml"}, "config.sitemap", "it must begin with"},
		"no address at all":          {"web_page", object{"source_url": "http://[::1"}, "config.source_url", "which is not a valid address"},
		"a number":                   {"web_page", object{"source_url": 7}, "config.source_url", "is 7; it must be a string"},
		"a misspelt field":           {"web_site", object{"source_url": "https://example.com", "exlude": []string{"/a/"}}, "config.exlude", "is unknown; did you mean config.exclude?"},
		"a page with patterns":       {"web_page", object{"source_url": "https://example.com", "exclude": []string{"/a/"}}, "config.exclude", "applies to a web_site"},
		"a page with a limit":        {"web_page", object{"source_url": "https://example.com", "max_pages": 3}, "config.max_pages", "applies to a web_site"},
		"a page with a depth":        {"web_page", object{"source_url": "https://example.com", "max_depth": 3}, "config.max_depth", "applies to a web_site"},
		"a page with a sitemap":      {"web_page", object{"source_url": "https://example.com", "sitemap": "https://example.com/s.xml"}, "config.sitemap", "applies to a web_site"},
		"too much of patterns": {"web_site", object{"source_url": "https://example.com", "include": slices.Repeat([]string{"/" + strings.Repeat("<", 499)}, 100)}, "config.include",
			"makes the site's patterns 299801 bytes long as JSON; the limit is 108 KiB"},
		"a file as JSON": {"file", object{}, "file", "is required; send a file as multipart/form-data"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			a := s.call("POST", "/datasources", object{"datastoreId": datastore, "type": c.kind, "config": c.config})
			if got := a.fault(c.field); !strings.Contains(got, c.words) {
				t.Errorf("%q does not say %q", got, c.words)
			}
		})
	}
	page := object{"datastoreId": datastore, "type": "web_page", "colour": "red"}
	page["config"] = object{"source_url": "https://example.com", "colour": "red", "exlude": nil, "include": []string{"/"}}
	both := s.call("POST", "/datasources", page)
	both.fault("config.colour")
	both.fault("config.exlude")
	if p := both.problem(400); len(p.Errors) != 3 {
		t.Errorf("the faults are %+v", p.Errors)
	}
	a := s.call("POST", "/datasources", object{"type": "web_page"})
	a.fault("datastoreId")
	a.fault("config.source_url")
}

func TestQueryStringsAreChecked(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for query, words := range map[string]string{
		"limit=0":           "0 is below the minimum of 1",
		"limit=many":        `is "many"; it must be a whole number`,
		"limit=99999999999": "99999999999 is above the maximum of 200",
		"limit=1&limit=2":   "was sent more than once",
		"limit=1.5":         `is "1.5"; it must be a whole number`,
	} {
		if got := s.call("GET", "/agents?"+query, nil).fault("limit"); !strings.HasPrefix(got, words) {
			t.Errorf("%s: %q, want %q", query, got, words)
		}
	}
	for _, query := range []string{"limit=", "cursor=&limit=5", "unknown=1", "status="} {
		s.call("GET", "/datasources?"+query, nil).want(200)
	}
	s.call("GET", "/datasources?search=%00", nil).fault("search")
	s.call("GET", "/datasources?search=%ff", nil).fault("search")
}

func TestListsArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var want []string
	for n := range 5 {
		want = append([]string{s.newDatastore(object{"name": fmt.Sprint(n)})}, want...)
	}
	var got []string
	for cursor := ""; ; {
		o := s.call("GET", "/datastores?limit=2&cursor="+cursor, nil).want(200).object()
		for _, d := range o.list("data") {
			got = append(got, object(d.(map[string]any)).id())
		}
		if o["nextCursor"] == nil {
			break
		}
		cursor = o.text("nextCursor")
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, path := range []string{"/nothing", "/api/nothing", "/agents/a/b/c", "/api", "/agents/%2e%2e/x/y"} {
		if p := s.call("GET", path, nil).problem(404); p.Error != "NOT_FOUND" {
			t.Errorf("%s: %+v", path, p)
		}
	}
	for path, allowed := range map[string]string{"/agents": "GET, POST, HEAD", "/api/agents/" + unusedID + "/query": "POST"} {
		for _, method := range []string{"PUT", "OPTIONS"} {
			a := s.call(method, path, nil)
			if p := a.problem(405); p.Error != "METHOD_NOT_ALLOWED" || a.header.Get("Allow") != allowed {
				t.Errorf("%s %s: %+v, Allow %q, want %q", method, path, p, a.header.Get("Allow"), allowed)
			}
		}
	}
	s.call("GET", "/agents/", nil).want(200)
	if a := s.call("HEAD", "/healthz", nil).want(200); len(a.body) != 0 {
		t.Errorf("HEAD has a body: %s", a.body)
	}
	if a := s.call("GET", "/", nil).want(200); !strings.Contains(string(a.body), `<main id="main"`) {
		t.Errorf("the first page does not lead to the documentation: %s", a.body)
	}
}

func TestMetadataOfMoreValuesThanAreIndexedIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	// Metadata with one-digit values under many short keys stays within the size limit but has too many values to
	// index.
	metadata := func(keys int) object {
		m := object{}
		for i := range keys {
			m[strconv.FormatInt(int64(i), 36)] = []any{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		}
		return m
	}
	post := func(keys int) *response {
		return s.call("POST", "/datastores/upsert/"+datastore, object{"documents": []object{{"text": "one", "metadata": metadata(keys)}}})
	}
	post(300).want(200)
	if got := post(301).fault("documents[0].metadata"); got != "has more than 3000 different filterable values; combine some of them into one string" {
		t.Error(got)
	}
	post(500).fault("documents[0].metadata")
}

// TestAnEmptyPatchChangesNothing sends an empty patch to everything that can be patched. The response must be the
// unchanged resource with the same modification time.
func TestAnEmptyPatchChangesNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	for what, path := range map[string]string{
		"an agent": "/agents/" + s.newAgent(), "a datastore": "/datastores/" + store,
		"a text": "/datasources/" + s.newText(store, "The trial lasts 30 days."), "a site": "/datasources/" + s.newSite(store, object{}),
	} {
		was := s.call("GET", path, nil).want(200).object()
		delete(was, "datasources") // only a GET returns them
		s.clock.advance(72 * time.Hour)
		for _, body := range []object{{}, {"name": nil}} {
			if diff := cmp.Diff(was, s.call("PATCH", path, body).want(200).object()); diff != "" {
				t.Errorf("%s and %v (-before +after):\n%s", what, body, diff)
			}
		}
		is := s.call("GET", path, nil).want(200).object()
		delete(is, "datasources")
		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("%s is changed (-before +after):\n%s", what, diff)
		}
	}
	for _, path := range []string{"/agents/", "/datastores/", "/datasources/"} {
		s.call("PATCH", path+unusedID, object{}).want(404)
	}
}
