package api_test

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

// scene is a service with the resources that the requests below need.
type scene struct {
	*service
	agent, datastore, datasource, site, conversation, key string
}

func newScene(t *testing.T, adjust ...func(*api.Options, *api.Deps)) *scene {
	t.Helper()
	s := &scene{service: newService(t, adjust...)}
	s.datastore = s.newDatastore()
	s.agent = s.newAgent(object{"datastoreIds": []string{s.datastore}})
	s.datasource = s.newText(s.datastore, "The trial lasts 30 days.")
	s.synch(s.datasource, 1, 3)
	s.call("PUT", "/datastores/"+s.datastore+"/search-settings", object{"synonyms": []string{"trial, test"}}).want(200)
	s.site = s.newSite(s.datastore, object{})
	s.conversation = domain.NewID()
	_, err := s.catalog.EnsureConversation(t.Context(), domain.Conversation{ID: s.conversation, WorkspaceID: s.ws, AgentID: s.agent, VisitorID: "v"})
	must(t, err)
	must(t, s.catalog.AppendMessages(t.Context(), s.conversation,
		domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: "How long?"},
		domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: "30 days [1].", Sources: []domain.Fragment{fragment}}))
	s.key = s.call("POST", "/keys", object{"name": "website"}).want(201).object().id()
	return s
}

// request is one call. Names in braces, such as {agent}, stand for the scene's ids.
type request struct {
	path string // "" means the operation's path
	body any
}

type badRequest struct {
	name string
	request
	noKey    bool
	goodBody bool // use the body from the endpoint's good request
	status   int
	field    string // the error must name this field
}

// endpoint holds an operation's valid and invalid calls.
type endpoint struct {
	good   request
	status int                             // expected status of the good call; 0 means 200
	check  func(t *testing.T, a *response) // checks the response to the good call
	bad    []badRequest
}

const unusedID = "0198c0de-0000-7000-8000-0000000000ff" // a valid id that belongs to no resource

func noKey() badRequest {
	return badRequest{name: "without a key", noKey: true, goodBody: true, status: 403}
}

func missing(path string) badRequest {
	return badRequest{name: "an id that is not there", request: request{path: path}, goodBody: true, status: 404}
}

func hasFields(fields ...string) func(*testing.T, *response) {
	return func(t *testing.T, a *response) {
		t.Helper()
		o := a.object()
		for _, f := range fields {
			if _, there := o[f]; !there {
				t.Errorf("the answer lacks %q: %s", f, a.body)
			}
		}
	}
}

var (
	agentFields      = []string{"id", "name", "description", "modelName", "temperature", "visibility", "systemPrompt", "userPrompt", "promptType", "promptTemplate", "datastoreIds", "tools"}
	datastoreFields  = []string{"id", "name", "description", "type", "visibility"}
	datasourceFields = []string{"id", "type", "name", "status", "groupId", "createdAt", "updatedAt", "config"}
	badTemperature   = badRequest{name: "a temperature above the bound", request: request{body: object{"name": "a", "query": "q", "temperature": 1.5}}, status: 400, field: "temperature"}
	noQuery          = badRequest{name: "no query", request: request{body: object{}}, status: 400, field: "query"}
	badLimit         = func(path string) badRequest {
		return badRequest{name: "a limit above the bound", request: request{path: path + "?limit=201"}, status: 400, field: "limit"}
	}
	noObject = badRequest{name: "a body that is no object", request: request{body: "[]"}, status: 400, field: "body"}
)

// formBody is a multipart form with the boundary x.
type formBody string

const uploaded formBody = "--x\r\nContent-Disposition: form-data; name=\"datastoreId\"\r\n\r\n{datastore}\r\n" +
	"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nThe trial lasts 30 days.\r\n--x--\r\n"

// endpoints maps operation ids to calls.
var endpoints = map[string]endpoint{
	"ListAgents":      {check: hasFields("data", "nextCursor"), bad: []badRequest{noKey(), badLimit("/agents")}},
	"CreateAgent":     {good: request{body: object{"name": "Sales"}}, status: 201, check: hasFields(agentFields...), bad: []badRequest{noKey(), badTemperature, {name: "no name", request: request{body: object{}}, status: 400, field: "name"}}},
	"GetAgent":        {check: hasFields(agentFields...), bad: []badRequest{noKey(), missing("/agents/" + unusedID), missing("/agents/nonsense")}},
	"UpdateAgent":     {good: request{body: object{"name": "Sales"}}, check: hasFields(agentFields...), bad: []badRequest{noKey(), badTemperature, noObject, missing("/agents/" + unusedID)}},
	"DeleteAgent":     {good: request{body: object{}}, check: hasFields(agentFields...), bad: []badRequest{noKey(), noObject, missing("/agents/" + unusedID)}},
	"QueryAgent":      {good: request{body: object{"query": "How long?"}}, check: hasFields("answer", "conversationId", "visitorId", "sources"), bad: []badRequest{noKey(), noQuery, badTemperature, missing("/agents/" + unusedID + "/query")}},
	"QueryAgentAlias": {good: request{body: object{"query": "How long?"}}, check: hasFields("answer", "conversationId", "visitorId", "sources"), bad: []badRequest{noKey(), noQuery, missing("/agents/query/" + unusedID)}},

	"ListDatastores":  {check: hasFields("data", "nextCursor"), bad: []badRequest{noKey(), badLimit("/datastores")}},
	"CreateDatastore": {good: request{body: object{"name": "Docs"}}, status: 201, check: hasFields(datastoreFields...), bad: []badRequest{noKey(), {name: "an engine that is not there", request: request{body: object{"name": "Docs", "type": "milvus"}}, status: 400, field: "type"}}},
	"GetDatastore":    {check: hasFields(datastoreFields...), bad: []badRequest{noKey(), missing("/datastores/" + unusedID)}},
	"UpdateDatastore": {good: request{body: object{"description": "All of it", "type": "embedded", "ocrLanguages": []string{"deu", "eng"}}}, check: hasFields(append(datastoreFields, "ocrLanguages")...), bad: []badRequest{noKey(), {name: "a language that is none", request: request{body: object{"ocrLanguages": []string{"de"}}}, status: 400, field: "ocrLanguages[0]"}, {name: "an unknown engine", request: request{body: object{"type": "x"}}, status: 400, field: "type"}, missing("/datastores/" + unusedID)}},
	"DeleteDatastore": {good: request{body: object{}}, check: hasFields(datastoreFields...), bad: []badRequest{noKey(), noObject, missing("/datastores/" + unusedID)}},
	"QueryDatastore": {good: request{body: object{"query": "trial"}}, check: func(t *testing.T, a *response) {
		for _, f := range []string{`"text"`, `"score"`, `"source"`, `"datasource_id"`, `"datasource_name"`} {
			if !strings.HasPrefix(string(a.body), "[") || !strings.Contains(string(a.body), f) {
				t.Errorf("not an array of fragments with %s: %s", f, a.body)
			}
		}
	}, bad: []badRequest{noKey(), noQuery, missing("/datastores/" + unusedID + "/query"), {name: "a topK above the bound", request: request{body: object{"query": "q", "topK": 101}}, status: 400, field: "topK"}}},
	"QueryDatastoreResults": {good: request{body: object{"query": "trial"}}, check: func(t *testing.T, a *response) {
		results := a.object().list("results")
		if len(results) != 1 {
			t.Fatalf("%d results", len(results))
		}
		for _, key := range []string{"text", "source", "score"} {
			if _, there := results[0].(map[string]any)[key]; !there {
				t.Errorf("a result lacks %s: %s", key, a.body)
			}
		}
	}, bad: []badRequest{noKey(), noQuery, missing("/datastores/query/" + unusedID)}},
	"WatchDatastore": {check: func(t *testing.T, a *response) {
		if got := a.header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
			t.Errorf("Content-Type is %q", got)
		}
	}, bad: []badRequest{noKey(), missing("/datastores/" + unusedID + "/events")}},
	"ResyncDatastore": {good: request{body: object{"mode": "reindex"}}, check: hasFields("queued"), bad: []badRequest{noKey(), {name: "an unknown mode", request: request{body: object{"mode": "x"}}, status: 400, field: "mode"}, missing("/datastores/" + unusedID + "/resync")}},
	"CountFacets":     {good: request{path: "/datastores/{datastore}/facets?keys=team"}, check: hasFields("documents", "facets"), bad: []badRequest{noKey(), missing("/datastores/" + unusedID + "/facets?keys=team"), {name: "no keys", request: request{path: "/datastores/{datastore}/facets"}, status: 400, field: "keys"}}},
	"GetSearchSettings": {check: hasFields("version", "createdAt", "synonyms", "stopWords", "keepWords", "boosts", "pins", "warnings"), bad: []badRequest{noKey(), missing("/datastores/" + unusedID + "/search-settings"),
		{name: "a version that is not kept", request: request{path: "/datastores/{datastore}/search-settings?version=7"}, status: 404}, {name: "a version below 1", request: request{path: "/datastores/{datastore}/search-settings?version=0"}, status: 400, field: "version"}}},
	"UpdateSearchSettings": {good: request{body: object{"synonyms": []string{"a => b"}, "pins": []object{{"query": "q", "documents": []object{{"datasourceId": "{datasource}"}}}}}}, check: hasFields("version", "synonyms", "warnings"), bad: []badRequest{noKey(), missing("/datastores/" + unusedID + "/search-settings"),
		{name: "a rule of one word", request: request{body: object{"synonyms": []string{"a, b", "c"}}}, status: 400, field: "synonyms[1]"}}},
	"ListSearchSettingsVersions": {check: hasFields("data"), bad: []badRequest{noKey(), missing("/datastores/" + unusedID + "/search-settings/versions")}},
	"RestoreSearchSettings": {good: request{body: object{"version": 1}}, check: hasFields("version", "synonyms"), bad: []badRequest{noKey(), missing("/datastores/" + unusedID + "/search-settings/restore"),
		{name: "no version", request: request{body: object{}}, status: 400, field: "version"}, {name: "a version that is not kept", request: request{body: object{"version": 7}}, status: 404}}},
	"CountDatasources": {check: func(t *testing.T, a *response) {
		if o := a.object(); o["total"] != 2.0 || o["synched"] != 1.0 || o["error"] != 0.0 {
			t.Errorf("a text that is searchable and a site are counted as %s", a.body)
		}
	}, bad: []badRequest{noKey(), missing("/datastores/" + unusedID + "/counts")}},
	"UpsertDocuments": {good: request{body: object{"documents": []any{object{"text": "a"}}}}, check: hasFields("ids", "results"), bad: []badRequest{noKey(), {name: "documents without text", request: request{body: object{"documents": []any{object{"text": " "}, object{"name": "b"}}}}, status: 400, field: "documents[1].text"}, missing("/datastores/upsert/" + unusedID)}},
	"UpdateDocument":  {good: request{body: object{"id": "{datasource}", "text": "new"}}, check: hasFields("id"), bad: []badRequest{noKey(), {name: "no id", request: request{body: object{"text": "new"}}, status: 400, field: "id"}, {name: "a datasource that is not there", request: request{body: object{"id": unusedID, "text": "new"}}, status: 404}, missing("/datastores/update/" + unusedID)}},

	"ListDatasources": {good: request{path: "/datasources?datastoreId={datastore}&status=synched&type=text&search=trial"}, check: func(t *testing.T, a *response) {
		if n := len(a.object().list("data")); n != 1 {
			t.Errorf("%d datasources, want 1: %s", n, a.body)
		}
	}, bad: []badRequest{noKey(), badLimit("/datasources"), {name: "an unknown status", request: request{path: "/datasources?status=x"}, status: 400, field: "status"}, {name: "a broken cursor", request: request{path: "/datasources?cursor=x"}, status: 400, field: "cursor"}}},
	"CreateDatasource": {good: request{body: object{"datastoreId": "{datastore}", "type": "web_page", "name": "Pricing", "config": object{"source_url": "https://example.com/"}}}, status: 201, check: hasFields(datasourceFields...), bad: []badRequest{noKey(), {name: "an address that is none", request: request{body: object{"datastoreId": "{datastore}", "type": "web_page", "config": object{"source_url": "ftp://x"}}}, status: 400, field: "config.source_url"}, {name: "a datastore that is not there", request: request{body: object{"datastoreId": unusedID, "type": "web_page", "config": object{"source_url": "https://example.com"}}}, status: 404}}},
	"GetDatasource":    {check: hasFields(datasourceFields...), bad: []badRequest{noKey(), missing("/datasources/" + unusedID)}},
	"UploadDatasource": {good: request{body: uploaded}, status: 201, check: hasFields(datasourceFields...), bad: []badRequest{noKey(), {name: "no file", request: request{body: formBody("--x\r\nContent-Disposition: form-data; name=\"datastoreId\"\r\n\r\n{datastore}\r\n--x--\r\n")}, status: 400, field: "file"}, {name: "no form", request: request{body: object{"datastoreId": "{datastore}", "type": "file"}}, status: 400, field: "Content-Type"}}},
	"DeleteDatasource": {good: request{body: object{}}, check: hasFields(datasourceFields...), bad: []badRequest{noKey(), noObject, missing("/datasources/" + unusedID)}},
	"ListChunks": {good: request{path: "/datasources/{datasource}/chunks?limit=2"}, check: func(t *testing.T, a *response) {
		if o := a.object(); len(o.list("data")) != 2 || o.text("nextCursor") == "" {
			t.Errorf("not a first page of two: %s", a.body)
		}
	}, bad: []badRequest{noKey(), missing("/datasources/" + unusedID + "/chunks"), {name: "a broken cursor", request: request{path: "/datasources/{datasource}/chunks?cursor=x"}, status: 400, field: "cursor"}}},
	"GetText": {check: func(t *testing.T, a *response) {
		if !strings.HasPrefix(string(a.body), "chunk 0\n\n chunk 1\n\n ") {
			t.Errorf("the text is %q", a.body)
		}
	}, bad: []badRequest{noKey(), missing("/datasources/" + unusedID + "/text"), {name: "a site, which has none", request: request{path: "/datasources/{site}/text"}, status: 404}}},
	"UpdateDatasource": {good: request{path: "/datasources/{site}", body: object{"config": object{"refresh": "24h"}}}, check: hasFields(datasourceFields...), bad: []badRequest{noKey(), {name: "a refresh that is none", request: request{path: "/datasources/{site}", body: object{"config": object{"refresh": "often"}}}, status: 400, field: "config.refresh"}, {name: "an id that is not there", request: request{path: "/datasources/" + unusedID, body: object{"config": object{}}}, status: 404}}},
	"GetOriginal": {check: func(t *testing.T, a *response) {
		if string(a.body) != "The trial lasts 30 days." {
			t.Errorf("the original is %q", a.body)
		}
	}, bad: []badRequest{noKey(), missing("/datasources/" + unusedID + "/original"), {name: "a site, which has none", request: request{path: "/datasources/{site}/original"}, status: 404}}},
	"ReplaceOriginal": {good: request{path: "/datasources/{file}/original", body: uploaded}, check: hasFields(datasourceFields...), bad: []badRequest{noKey(), missing("/datasources/" + unusedID + "/original"),
		{name: "a text", request: request{path: "/datasources/{datasource}/original", body: uploaded}, status: 409}, {name: "no form", request: request{path: "/datasources/{file}/original", body: object{}}, status: 400, field: "Content-Type"},
		{name: "no file", request: request{path: "/datasources/{file}/original", body: formBody("--x\r\nContent-Disposition: form-data; name=\"fileName\"\r\n\r\na\r\n--x--\r\n")}, status: 400, field: "file"}}},
	"GetPicture": {check: func(t *testing.T, a *response) {
		if string(a.body) != "picture" {
			t.Errorf("the picture is %q", a.body)
		}
	}, bad: []badRequest{noKey(), missing("/datasources/" + unusedID + "/picture"), {name: "a site, which has no pages", request: request{path: "/datasources/{site}/picture"}, status: 404},
		{name: "no page", request: request{path: "/datasources/{datasource}/picture?page=x"}, status: 400, field: "page"}}},
	"PlanSite": {good: request{body: object{"config": object{"source_url": "https://example.com/"}}}, check: hasFields("root", "follow", "sitemaps", "cut", "problems", "addresses", "decisions", "reasons", "delay"), bad: []badRequest{noKey(),
		{name: "no address", request: request{body: object{"config": object{}}}, status: 400, field: "config.source_url"},
		{name: "an address that is none", request: request{body: object{"config": object{"source_url": "ftp://x"}}}, status: 400, field: "config.source_url"},
		{name: "a field that a plan has no use for", request: request{body: object{"config": object{"source_url": "https://example.com/", "refresh": "24h"}}}, status: 400, field: "config.refresh"}}},
	"SynchDatasource": {good: request{path: "/datasources/{site}/synch"}, check: hasFields(datasourceFields...), bad: []badRequest{noKey(), noObject, missing("/datasources/" + unusedID + "/synch")}},
	"DeleteDatasources": {good: request{body: object{"ids": []string{unusedID}}}, check: func(t *testing.T, a *response) {
		if o := a.object(); len(o.list("deleted")) != 0 || len(o.list("notFound")) != 1 {
			t.Errorf("an object that does not exist was deleted: %s", a.body)
		}
	}, bad: []badRequest{noKey(), noObject, {name: "no ids", request: request{body: object{"ids": []string{}}}, status: 400, field: "ids"}}},
	"StopDatasource":   {good: request{path: "/datasources/{site}/stop", body: object{}}, check: hasFields(datasourceFields...), bad: []badRequest{noKey(), noObject, {name: "what is not fetched", request: request{body: object{}}, status: 409}, missing("/datasources/" + unusedID + "/stop")}},
	"ResyncDatasource": {check: hasFields("queued"), bad: []badRequest{noKey(), {name: "an unknown mode", request: request{body: object{"mode": "x"}}, status: 400, field: "mode"}, missing("/datasources/" + unusedID + "/resync")}},

	"ListConversations": {check: hasFields("data", "nextCursor"), bad: []badRequest{noKey(), badLimit("/conversations")}},
	"GetConversation": {check: func(t *testing.T, a *response) {
		if n := len(a.object().list("messages")); n != 2 {
			t.Errorf("%d messages, want question and answer: %s", n, a.body)
		}
	}, bad: []badRequest{noKey(), missing("/conversations/" + unusedID)}},
	"DeleteConversation": {good: request{body: object{}}, check: hasFields("id", "agentId", "visitorId", "title"), bad: []badRequest{noKey(), noObject, missing("/conversations/" + unusedID)}},
	"ExportConversations": {check: func(t *testing.T, a *response) {
		if !strings.HasPrefix(string(a.body), "[") || !strings.Contains(string(a.body), `"messages":[{`) {
			t.Errorf("not an array of conversations: %s", a.body)
		}
	}, bad: []badRequest{noKey(), {name: "an unknown format", request: request{path: "/conversations/export?format=xml"}, status: 400, field: "format"}}},
	"GetMe":         {check: hasFields("id", "name", "key"), bad: []badRequest{noKey()}},
	"ListKeys":      {check: hasFields("data"), bad: []badRequest{noKey()}},
	"GetCurrentKey": {check: hasFields("id", "scopes", "agentId"), bad: []badRequest{noKey()}},
	"CreateKey":     {good: request{body: object{"name": "website"}}, status: 201, check: hasFields("id", "key", "hint"), bad: []badRequest{noKey(), {name: "no name", request: request{body: object{}}, status: 400, field: "name"}}},
	"RevokeKey":     {good: request{path: "/keys/{key}"}, check: hasFields("id"), bad: []badRequest{noKey(), missing("/keys/" + unusedID)}},
	"SetKeyLimits":  {good: request{path: "/keys/{key}/limits", body: object{"queries": 10}}, check: hasFields("id", "limits"), bad: []badRequest{noKey(), {name: "a limit below 0", request: request{path: "/keys/{key}/limits", body: object{"queries": -1}}, status: 400, field: "queries"}, {name: "a limit that keys do not have", request: request{path: "/keys/{key}/limits", body: object{"stored_bytes": 1}}, status: 400, field: "stored_bytes"}, {name: "a key that is not there", request: request{path: "/keys/" + unusedID + "/limits", body: object{}}, status: 404}}},
	"GetLimits":     {check: hasFields("queries", "tokens", "stored_chunks", "stored_bytes"), bad: []badRequest{noKey()}},
	"SetLimits":     {good: request{body: object{"queries": 10}}, check: hasFields("queries", "tokens", "stored_chunks", "stored_bytes"), bad: []badRequest{noKey(), noObject, {name: "a misspelt limit", request: request{body: object{"querys": 1}}, status: 400, field: "querys"}}},
	"GetUsage":      {check: hasFields("month", "usage"), bad: []badRequest{noKey(), {name: "a month that is none", request: request{path: "/usage?month=2026-13"}, status: 400, field: "month"}}},

	"GetHealth":    {check: hasFields("status")},
	"GetReadiness": {check: hasFields("status", "checks")},
	"GetMetrics": {check: func(t *testing.T, a *response) {
		if !strings.Contains(string(a.body), `sluice_http_requests_total{method="POST",route="/agents",status="201"} 1`) {
			t.Errorf("the request that made the agent was not counted:\n%s", a.body)
		}
	}},
	"CreateChatCompletion": {good: request{body: object{"model": "{agent}", "messages": []any{object{"role": "user", "content": "How long?"}}}},
		check: hasFields("id", "object", "created", "model", "choices", "usage", "sources"), bad: []badRequest{
			{name: "without a key", noKey: true, goodBody: true, status: 401},
			{name: "no messages", request: request{body: object{"model": "{agent}"}}, status: 400, field: "messages"},
			{name: "a model that is not there", request: request{body: object{"model": unusedID, "messages": []any{object{"role": "user", "content": "q"}}}}, status: 404, field: "model"},
		}},
	"ListModels": {check: hasFields("object", "data"), bad: []badRequest{{name: "without a key", noKey: true, goodBody: true, status: 401}}},
	"GetModel": {check: hasFields("id", "object", "created", "owned_by"), bad: []badRequest{
		{name: "without a key", noKey: true, goodBody: true, status: 401},
		{name: "an id that is not there", request: request{path: "/v1/models/" + unusedID}, status: 404, field: "model"},
	}},
	"GetOpenAPI": {check: hasFields("openapi", "paths")},
	"GetDocs": {check: func(t *testing.T, a *response) {
		if !strings.Contains(string(a.body), `href="/docs/api"`) || a.header.Get("Content-Security-Policy") == "" {
			t.Errorf("not the page: %.100s", a.body)
		}
	}},
}

func TestTheDocumentationIsServedUnderBothBases(t *testing.T) {
	t.Parallel()
	s := newService(t).as("")
	for path, status := range map[string]int{"/docs": 200, "/docs/api": 200, "/docs/quickstart": 200, "/docs/icon.svg": 200, "/docs/nothing": 404} {
		for _, base := range []string{"", "/api"} {
			s.call("GET", base+path, nil).want(status)
		}
	}
}

// TestEveryEndpointOfTheDocument makes valid and invalid calls to each operation under both base paths. It fails for
// operations that have no entry in endpoints.
func TestEveryEndpointOfTheDocument(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("openapi.yaml")
	must(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	must(t, err)
	if err := doc.Validate(t.Context()); err != nil {
		t.Errorf("the document is not valid: %v", err)
	}
	seen := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			seen[op.OperationID] = true
			e, ok := endpoints[op.OperationID]
			if !ok {
				t.Errorf("%s %s (%s) has no test", method, path, op.OperationID)
				continue
			}
			if len(e.bad) == 0 && op.Responses.Status(400) != nil {
				t.Errorf("%s is not tested with bad input", op.OperationID)
			}
			for _, base := range []string{"", "/api"} {
				t.Run(op.OperationID+" under "+base+"/", func(t *testing.T) {
					t.Parallel()
					callEndpoint(t, method, base, path, e)
				})
			}
		}
	}
	for id := range endpoints {
		if !seen[id] {
			t.Errorf("the table has %s, the document has not", id)
		}
	}
}

func callEndpoint(t *testing.T, method, base, path string, e endpoint) {
	s := newScene(t)
	for _, b := range e.bad { // first, because the good call may delete the resources they need
		caller := s.service
		if b.noKey {
			caller = s.as("")
		}
		body := b.body
		if b.goodBody {
			body = e.good.body
		}
		a := caller.call(method, base+s.fill(orElse(b.path, path)), s.fillBody(body))
		if strings.HasPrefix(path, "/v1/") {
			if got := a.openAIError(b.status); b.field != "" && got.Param != b.field {
				t.Errorf("%s: the error names %q, not %q: %s", b.name, got.Param, b.field, a.body)
			}
			continue
		}
		p := a.problem(b.status)
		if b.field != "" && !names(p.Errors, b.field) {
			t.Errorf("%s: no fault names %q: %+v", b.name, b.field, p)
		}
	}
	a := s.call(method, base+s.fill(orElse(e.good.path, path)), s.fillBody(e.good.body))
	a.want(max(e.status, 200))
	e.check(t, a)
	checkTexts(t, path, a)
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func names(faults []domain.FieldError, field string) bool {
	for _, f := range faults {
		if f.Field == field && f.Message != "" {
			return true
		}
	}
	return false
}

func (s *scene) fill(path string) string {
	ids := map[string]string{
		"{agent}": s.agent, "{datastore}": s.datastore, "{datastoreId}": s.datastore, "{datasource}": s.datasource, "{site}": s.site,
		"{conversation}": s.conversation, "{key}": s.key,
	}
	if strings.Contains(path, "{file}") { // not in every scene, because many tests count its datasources
		ids["{file}"] = s.upload(part{name: "datastoreId", text: s.datastore}, part{"file", "a.txt", "The trial lasts 14 days."}).want(201).object().id()
	}
	for kind, id := range map[string]string{"/agents": s.agent, "/datastores": s.datastore, "/datasources": s.datasource, "/conversations": s.conversation, "/keys": s.key, "/v1/models": s.agent} {
		if strings.HasPrefix(path, kind+"/") {
			ids["{id}"] = id
		}
	}
	for name, id := range ids {
		path = strings.ReplaceAll(path, name, id)
	}
	return path
}

func (s *scene) fillBody(body any) any {
	if form, isForm := body.(formBody); isForm {
		return formBody(s.fill(string(form)))
	}
	o, ok := body.(object)
	if !ok {
		return body
	}
	out := object{}
	for k, v := range o {
		if text, ok := v.(string); ok {
			v = s.fill(text)
		}
		out[k] = v
	}
	return out
}

// TestTheDocumentIsConsistent checks that the properties the document gives each operation are consistent.
func TestTheDocumentIsConsistent(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	for path, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			free := op.Security != nil && slices.ContainsFunc(*op.Security, func(s openapi3.SecurityRequirement) bool { return len(s) == 0 })
			if public := op.Extensions["x-public"] == true; public != free {
				t.Errorf("%s is public: %v, and may be called without a key: %v", op.OperationID, public, free)
			}
			var want []int
			if op.Extensions["x-scope"] != "none" {
				want = append(want, 403, 429, 500)
			}
			if strings.Contains(path, "{") {
				want = append(want, 404)
			}
			if op.RequestBody != nil {
				want = append(want, 400, 413, 415)
			}
			for _, p := range op.Parameters {
				switch {
				case p.Value.In == openapi3.ParameterInQuery:
					want = append(want, 400)
				case p.Value.Name == "Idempotency-Key":
					want = append(want, 409)
				}
			}
			for _, status := range want {
				if op.Responses.Status(status) == nil {
					t.Errorf("%s lacks the status %d", op.OperationID, status)
				}
			}
		}
	}
}

// TestLimitsOfTheServerAreInTheDocument checks that the published document contains the server's limits.
func TestLimitsOfTheServerAreInTheDocument(t *testing.T) {
	t.Parallel()
	s := newService(t, limits)
	doc, err := openapi3.NewLoader().LoadFromData(s.call("GET", "/openapi.json", nil).want(200).body)
	must(t, err)
	var got []string
	for schema, property := range map[string]string{"AgentQuery": "query", "DatastoreQuery": "query"} {
		got = append(got, fmt.Sprint(*doc.Components.Schemas[schema].Value.Properties[property].Value.MaxLength))
	}
	got = append(got, fmt.Sprint(*doc.Components.Schemas["UpsertRequest"].Value.Properties["documents"].Value.MaxItems))
	sort.Strings(got)
	if want := "[20 20 3]"; fmt.Sprint(got) != want {
		t.Errorf("limits %v, want %s", got, want)
	}
}
