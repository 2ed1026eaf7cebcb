package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Markers for recognising the owner's text, the intruder's text, and text that belongs to nobody. All have the same
// length.
const (
	ownersMark    = "ownersmark"
	intrudersMark = "othersmark"
	unusedMark    = "nobodymark"
)

// newTenant creates a resource of every kind in the service's workspace.
func newTenant(s *service, mark string) *scene {
	s.Helper()
	about := func(kind string) string { return kind + " of " + mark }
	t := &scene{service: s}
	t.datastore = s.newDatastore(object{"name": about("the handbook"), "description": about("all")})
	t.agent = s.newAgent(object{"name": about("the support"), "description": about("who answers"), "systemPrompt": about("the rules"),
		"userPrompt": about("the manner") + " {query} {context}", "datastoreIds": []string{t.datastore}})
	t.datasource = s.newText(t.datastore, about("the trial"), object{"name": about("the note"), "custom_id": mark + "-note", "metadata": object{"author": about("the author")}})
	s.synch(t.datasource, 1, 3)
	s.call("PUT", "/datastores/"+t.datastore+"/search-settings", object{"synonyms": []string{mark + ", word of " + mark}, "stopWords": []string{mark},
		"pins": []object{{"query": mark, "documents": []object{{"datasourceId": t.datasource}}, "block": []object{{"customId": mark + "-note"}}}}}).want(200)
	t.site = s.newSite(t.datastore, object{"source_url": "https://" + mark + ".example/"})
	s.upload(part{name: "datastoreId", text: t.datastore}, part{name: "custom_id", text: mark + "-file"}, part{"file", mark + ".txt", about("the file")}).want(201)
	t.conversation = domain.NewID()
	_, err := s.catalog.EnsureConversation(s.Context(), domain.Conversation{ID: t.conversation, WorkspaceID: s.ws, AgentID: t.agent, VisitorID: mark + "-visitor", Title: about("the question")})
	must(s.T, err)
	_, err = s.catalog.EnsureConversation(s.Context(), domain.Conversation{
		ID: domain.CallerConversationID(s.ws, t.agent, "", mark+"-talk"), CallerID: mark + "-talk", WorkspaceID: s.ws, AgentID: t.agent, VisitorID: mark + "-visitor", Title: about("the talk"),
	})
	must(s.T, err)
	source := fragment
	source.Text, source.DatasourceID = about("the fragment"), t.datasource
	must(s.T, s.catalog.AppendMessages(s.Context(), t.conversation,
		domain.Message{ID: domain.NewID(), Role: domain.RoleUser, Text: about("the question")},
		domain.Message{ID: domain.NewID(), Role: domain.RoleAssistant, Text: about("the answer"), Sources: []domain.Fragment{source}}))
	t.key = s.call("POST", "/keys", object{"name": about("the key"), "limits": object{"queries": 1000}}, "Idempotency-Key", mark+"-once").want(201).object().id()
	return t
}

// neighbours returns two tenants on one service. The service's test doubles answer with the names of the requested
// resources.
func neighbours(t *testing.T) (owner, intruder *scene) {
	s := newService(t)
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		var found []domain.Fragment
		for _, d := range r.Datastores {
			f := fragment
			f.Text, f.DatastoreID = "found in "+d.Name, d.ID
			found = append(found, f)
		}
		return retrieve.Result{Fragments: found}, nil
	}
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		return tokens("I am ", r.Agent.Name)(ctx, r, emit)
	}
	s.chunks.read = func(_ context.Context, d domain.Datasource, from, limit int) ([]domain.Chunk, error) {
		return []domain.Chunk{{Ordinal: from, Text: "cut from " + d.Name}}, nil
	}
	return newTenant(s, ownersMark), newTenant(s.stranger(), intrudersMark)
}

// foreignValue pairs another tenant's value with an unused value in the same format.
type foreignValue struct{ theirs, unused string }

// references caches the responses to requests with unused values, for comparison with others. The key is the place plus
// the value with its ids masked. Most places respond in the same way to every unused id, so one cached response usually
// serves for many comparisons. `difference` sends another request only if the cached response differs.
type references map[string]string

// difference compares `shown`, the response to v.theirs, with the response to v.unused. It returns "" if they are
// equal; otherwise it returns the response to v.unused.
func (r references) difference(place, shown string, v foreignValue, send func(v string) *response) string {
	key := place + " " + uuidPattern.ReplaceAllString(v.unused, "§")
	if text, known := r[key]; known && text == shown {
		return ""
	}
	text := withoutVaryingText(send(v.unused), v.unused)
	if r[key] = text; text == shown {
		return ""
	}
	return text
}

// readAll returns everything the tenant can read, by operation.
func (s *scene) readAll(doc *openapi3.T) map[string]string {
	s.Helper()
	all := map[string]string{}
	operations(s.T, doc, func(method, path string, _ *openapi3.PathItem, op *openapi3.Operation) {
		_, known := endpoints[op.OperationID]
		// GET operations with a required parameter are queries, which would count as usage.
		query := slices.ContainsFunc(op.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.In == "query" && p.Value.Required })
		if known && method == http.MethodGet && !query {
			all[op.OperationID] = string(s.call(method, s.fill(path), nil).want(200).body)
		}
	})
	return all
}

// namePattern matches the names of fields that identify a resource.
var namePattern = regexp.MustCompile(`(?i)(^|_|[a-z])ids?$`)

// foreigners collects all values that identify the tenant's resources from everything the tenant can read. That way,
// new kinds of resources are included automatically.
func (s *scene) foreigners(doc *openapi3.T) []foreignValue {
	s.Helper()
	found := map[string]bool{domain.ChunkKey(s.datasource, 1, 0): true, ownersMark + "-once": true}
	for operation, text := range s.readAll(doc) {
		var value any
		if json.Unmarshal([]byte(text), &value) == nil {
			collect(found, "", value)
		} else if operation != "WatchDatastore" && operation != "GetOriginal" && operation != "GetPicture" && operation != "GetText" {
			s.Errorf("%s shows no JSON: %s", operation, text)
		}
	}
	delete(found, fragment.ChunkID) // belongs to the answerer's test double
	delete(found, fragment.DatasourceID)
	delete(found, model) // belongs to the service and is shared by all tenants
	for _, id := range []string{s.agent, s.datastore, s.datasource, s.site, s.conversation, s.key, ownersMark + "-note", ownersMark + "-file", ownersMark + "-visitor", ownersMark + "-talk"} {
		if !found[id] {
			s.Errorf("nothing that the owner can read shows %s", id)
		}
	}
	var all []foreignValue
	for _, v := range slices.Sorted(maps.Keys(found)) {
		all = append(all, foreignValue{v, uuidPattern.ReplaceAllStringFunc(strings.ReplaceAll(v, ownersMark, unusedMark), unusedIDLike)})
	}
	return all
}

// unusedIDLike returns a new id with as many words as `like`, because the number of words in a query is limited.
func unusedIDLike(like string) string {
	for {
		if id := domain.NewID(); analysis.Words(id, len(id)) == analysis.Words(like, len(like)) {
			return id
		}
	}
}

func collect(found map[string]bool, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			collect(found, name, field)
		}
	case []any:
		for _, item := range v {
			collect(found, name, item)
		}
	case string:
		if v != "" && (namePattern.MatchString(name) || domain.ValidID(v)) {
			found[v] = true
		}
	}
}

var (
	uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// varyingText matches text that varies from response to response.
	varyingText = regexp.MustCompile(uuidPattern.String() + `|sk_[0-9a-f]+|"version":\d+|"hint":"[0-9a-f]{4}"|2026-05-04T12:00:00[.0-9]*Z|is not valid JSON[^"]*|` + unusedMark + `[-a-z]*`)
)

// withoutVaryingText returns the response without v, the value that was sent, or any text that varies from response to
// response.
func withoutVaryingText(a *response, v string) string {
	text := strings.ReplaceAll(string(a.body), v, "§")
	text = varyingText.ReplaceAllString(text, "§")
	return fmt.Sprintf("%d %s %s", a.status, a.header.Get("Content-Type"), text)
}

// leaks returns some of the owner's text that is in the response but was not in the request, or "" if there is none.
func leaks(a *response, sent string, owners []foreignValue) string {
	text := strings.ReplaceAll(fmt.Sprint(a.header)+string(a.body), sent, "")
	if strings.Contains(text, ownersMark) {
		return "the owner's mark"
	}
	for _, v := range owners {
		if !strings.Contains(sent, v.theirs) && strings.Contains(text, v.theirs) {
			return v.theirs
		}
	}
	return ""
}

// chosen lists the places for a conversation's id. Callers may choose a new conversation's id. An unused id therefore
// creates a conversation, whereas another tenant's id is rejected as not found. Only a caller who has already guessed
// the id can exploit the difference.
var chosen = map[string]bool{"QueryAgent, body conversationId": true, "QueryAgentAlias, body conversationId": true, "CreateChatCompletion, body conversationId": true}

// credential is a kind of caller. The key may be "".
type credential struct {
	scopes []domain.Scope // the key's permissions in the intruder's workspace
	key    func(owner, intruder *scene) string
}

// credentials holds each kind of caller that an intruder can be.
var credentials = func() map[string]credential {
	all := []domain.Scope{domain.ScopeWrite, domain.ScopeRead, domain.ScopeQuery}
	key := func(of *scene, k domain.APIKey) string {
		k.WorkspaceID = of.ws
		return of.newKey(k)
	}
	expired := func(of *scene) string {
		past := of.clock.Now().Add(-time.Hour)
		return key(of, domain.APIKey{Scopes: all[:1], ExpiresAt: &past})
	}
	revoked := func(of *scene) string {
		made := of.call("POST", "/keys", object{"name": "revoked"}).want(201).object()
		of.as(made.text("key")).call("GET", "/agents", nil).want(200)
		of.call("DELETE", "/keys/"+made.id(), nil).want(200)
		return made.text("key")
	}
	return map[string]credential{
		"a key that may write": {all, func(_, i *scene) string { return i.service.key }},
		"a key that may read":  {all[1:], func(_, i *scene) string { return key(i, domain.APIKey{Scopes: all[1:2]}) }},
		"a key of one agent":   {all[2:], func(_, i *scene) string { return key(i, domain.APIKey{Scopes: all[2:], AgentID: i.agent}) }},
		"a key with a limit": {all[1:], func(_, i *scene) string {
			return key(i, domain.APIKey{Scopes: all[1:2], Limits: domain.Limits{domain.MetricQueries: 1_000_000}})
		}},
		"an expired key":             {nil, func(_, i *scene) string { return expired(i) }},
		"the owner's expired key":    {nil, func(o, _ *scene) string { return expired(o) }},
		"a revoked key":              {nil, func(_, i *scene) string { return revoked(i) }},
		"the owner's revoked key":    {nil, func(o, _ *scene) string { return revoked(o) }},
		"a key that there never was": {nil, func(_, _ *scene) string { return domain.NewKey() }},
		"the hash of a key":          {nil, func(o, _ *scene) string { return domain.HashKey(o.service.key) }},
		"the id of a key":            {nil, func(o, _ *scene) string { return o.key }},
		"no key":                     {nil, func(_, _ *scene) string { return "" }},
	}
}()

// TestNoKeyReachesAnotherWorkspace puts each value that identifies one of the owner's resources into every place in
// every operation, using every key but the owner's. The response must equal the one for an unused value and contain
// none of the owner's data, and all of the owner's resources must remain unchanged.
func TestNoKeyReachesAnotherWorkspace(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	for name, credential := range credentials {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner, intruder := neighbours(t)
			caller := intruder.as(credential.key(owner, intruder))
			before := owner.readAll(doc)
			values, places, unused := owner.foreigners(doc), intruder.places(doc), references{}
			for _, p := range places {
				may := slices.Contains(credential.scopes, p.scope)
				if !may && !p.inPath() && p.where != "as it is" {
					continue // without permission, a caller is rejected before anything is read
				}
				for i, v := range values {
					if testing.Short() && i%4 > 0 && !p.inPath() { // all values would take too long under the race detector
						continue
					}
					intrude(t, caller, unused, p, v, values, p.inPath() || !may, chosen[p.String()] && v.theirs == owner.conversation)
					if p.where == "as it is" {
						break
					}
				}
			}
			for operation, after := range owner.readAll(doc) {
				if before[operation] != after {
					t.Errorf("the owner is shown by %s\n%s, and was before\n%s", operation, after, before[operation])
				}
			}
			t.Logf("%d places, %d values", len(places), len(values))
		})
	}
}

// intrude sends the owner's value and compares the response with the one for an unused value. mustRefuse means that the
// owner's value must be rejected. differs means that the two responses may differ.
func intrude(t *testing.T, caller *service, unused references, p place, v foreignValue, all []foreignValue, mustRefuse, differs bool) {
	t.Helper()
	send := func(v string) *response { return caller.send(p.request(v)) }
	theirs := send(v.theirs)
	refused := theirs.status == 403 || theirs.status == 404 || theirs.status == 401 && strings.HasPrefix(p.base, "/v1/")
	if (mustRefuse || differs) && !refused {
		t.Errorf("%s with %s is answered %d", p, v.theirs, theirs.status)
	}
	compare(t, p.String(), theirs, v, all, differs, unused, send)
}

// compare checks `theirs`, the response to the owner's value v.theirs. It must contain none of the owner's data. Unless
// `differs` is set, it must also equal the response to v.unused, which compare requests by calling `send`.
func compare(t *testing.T, what string, theirs *response, v foreignValue, all []foreignValue, differs bool, unused references, send func(v string) *response) {
	t.Helper()
	if leak := leaks(theirs, v.theirs, all); leak != "" {
		t.Errorf("%s with %s shows %s: %s", what, v.theirs, leak, theirs.body)
	}
	shown := withoutVaryingText(theirs, v.theirs)
	if nobodys := unused.difference(what, shown, v, send); nobodys != "" && !differs {
		t.Errorf("%s with %s is answered\n%s, but with what nobody has\n%s", what, v.theirs, shown, nobodys)
	}
}

func (s *service) send(c call) *response {
	s.Helper()
	return s.call(c.method, c.path, c.body, c.headers...)
}

// TestNoToolReachesAnotherWorkspace does what TestNoKeyReachesAnotherWorkspace does, but for MCP tools and resources.
// It finds their arguments in the descriptions that the server publishes.
func TestNoToolReachesAnotherWorkspace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	doc := openAPI(t)
	owner, intruder := neighbours(t)
	good := map[string]object{"search": {"query": "trial"}, "fetch": {"id": intruder.datasource}, "ask": {"question": "How long?"}}
	values, unused := owner.foreigners(doc), references{}
	try := func(what string, v foreignValue, differs bool, send func(v string) *response) {
		compare(t, what, send(v.theirs), v, values, differs, unused, send)
	}
	for name, credential := range credentials {
		caller := intruder.as(credential.key(owner, intruder))
		if credential.scopes == nil {
			if _, err := caller.connectMCP("/mcp", nil); err == nil {
				t.Errorf("%s opens a session", name)
			}
			continue
		}
		session := caller.mcp("/mcp", nil)
		list, err := session.ListTools(t.Context(), nil)
		must(t, err)
		for _, tool := range list.Tools {
			if good[tool.Name] == nil {
				t.Fatalf("the tool %s cannot be tried: nobody knows good arguments", tool.Name)
			}
			for _, way := range textPlaces(toolSchema(t, tool), nil) {
				call := func(v string) *response {
					arguments, _ := put(t, good[tool.Name], way, v).(map[string]any)
					res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: arguments})
					return rpcAnswer(t, res, err)
				}
				where := tool.Name + " " + responseFunc(way)
				for _, v := range values {
					try(name+": "+where, v, where == "ask conversationId" && v.theirs == owner.conversation, call)
				}
			}
		}
		for _, v := range values {
			try(name+": a resource", v, false, func(v string) *response {
				res, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "sluice://datasources/" + v})
				return rpcAnswer(t, res, err)
			})
			try(name+": the resources", v, false, func(v string) *response {
				res, err := session.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: v})
				return rpcAnswer(t, res, err)
			})
		}
	}
}

func toolSchema(t *testing.T, tool *sdk.Tool) *openapi3.Schema {
	t.Helper()
	encoded, err := json.Marshal(tool.InputSchema)
	must(t, err)
	// JSON Schema writes a nullable value as a list of types, which OpenAPI 3.0 does not allow.
	encoded = regexp.MustCompile(`\["null","(\w+)"\]`).ReplaceAll(encoded, []byte(`"$1"`))
	var schema openapi3.Schema
	must(t, json.Unmarshal(encoded, &schema))
	return &schema
}

func rpcAnswer(t *testing.T, result any, err error) *response {
	t.Helper()
	if err != nil {
		return &response{T: t, status: 404, body: []byte(err.Error())}
	}
	encoded, err := json.Marshal(result)
	must(t, err)
	return &response{T: t, status: 200, body: encoded}
}

// TestResponseTimesDoNotDiscloseOtherWorkspaces alternates between another workspace's values and unused ones. The
// service does the same work for both, so their median times should differ only by noise. The test fails if a
// difference persists over several rounds.
func TestResponseTimesDoNotDiscloseOtherWorkspaces(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures times")
	}
	doc := openAPI(t)
	owner, intruder := neighbours(t)
	own := map[string]string{"agents": owner.agent, "datastores": owner.datastore, "datasources": owner.datasource, "conversations": owner.conversation, "keys": owner.key, "v1": owner.agent}
	const (
		rounds, pairs = 6, 40
		factor        = 1.5
		noise         = 300 * time.Microsecond
	)
	for _, p := range intruder.places(doc) {
		if !p.inPath() {
			continue
		}
		theirs, known := own[strings.Split(p.base, "/")[1]]
		if !known {
			t.Errorf("%s: the owner has none of %s", p, p.base)
			continue
		}
		var last string
		for range rounds {
			var taken [2][]time.Duration
			for n := range 2 * pairs {
				id := theirs
				if n%2 == 1 {
					id = domain.NewID()
				}
				began := time.Now()
				intruder.send(p.request(id))
				taken[n%2] = append(taken[n%2], time.Since(began))
			}
			a, b := median(taken[0]), median(taken[1])
			if last = fmt.Sprintf("%v of what somebody else has, %v of what nobody has", a, b); float64(max(a, b)) < factor*float64(min(a, b))+float64(noise) {
				last = ""
				break
			}
		}
		if last != "" {
			t.Errorf("%s takes %s", p, last)
		}
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
