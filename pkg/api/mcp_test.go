package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// bearer is an HTTP transport that adds a key to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (s *service) mcp(path string, options *sdk.ClientOptions) *sdk.ClientSession {
	s.Helper()
	session, err := s.connectMCP(path, options)
	must(s.T, err)
	return session
}

func (s *service) connectMCP(path string, options *sdk.ClientOptions) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(s.Context(), &sdk.StreamableClientTransport{
		Endpoint: s.url + path, HTTPClient: &http.Client{Transport: bearer(s.key)}, MaxRetries: -1,
	}, nil)
	if err == nil {
		s.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// tool calls a tool and decodes the result into `into`. If the call fails, it returns the error message.
func (s *service) tool(session *sdk.ClientSession, name string, arguments object, into any) (failed string) {
	s.Helper()
	res, err := session.CallTool(s.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	must(s.T, err)
	text := res.Content[0].(*sdk.TextContent).Text
	if res.IsError {
		return text
	}
	structured, err := json.Marshal(res.StructuredContent)
	must(s.T, err)
	must(s.T, json.Unmarshal(structured, into))
	return ""
}

func TestTheSDKsClientUsesTools(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/mcp", "/api/mcp"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			var asked retrieve.Request
			s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
				asked = r
				f := fragment
				f.ChunkID = domain.ChunkKey(s.datasource, 1, 2)
				return retrieve.Result{Fragments: []domain.Fragment{f}}, nil
			}
			session := s.mcp(path, nil)

			list, err := session.ListTools(t.Context(), nil)
			must(t, err)
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff([]string{"ask", "fetch", "search"}, names); diff != "" {
				t.Error(diff)
			}

			var found struct {
				Results []struct{ ID, Title, URL, Text string }
			}
			if e := s.tool(session, "search", object{"query": "trial", "topK": 3, "filters": object{"metadata": object{"year": 2026}}}, &found); e != "" {
				t.Fatal(e)
			}
			if len(found.Results) != 1 || found.Results[0].Title != "handbook.pdf" || found.Results[0].URL != "sluice://datasources/ds" || found.Results[0].Text != fragment.Text {
				t.Errorf("found %+v", found)
			}
			if asked.Query != "trial" || asked.TopK != 3 || len(asked.Datastores) != 1 || asked.Datastores[0].ID != s.datastore || asked.Filters.Metadata["year"] != 2026.0 {
				t.Errorf("asked %+v", asked)
			}

			var doc struct {
				ID, Title, Text, URL string
				Metadata             map[string]string
			}
			if e := s.tool(session, "fetch", object{"id": found.Results[0].ID}, &doc); e != "" {
				t.Fatal(e)
			}
			if doc.ID != found.Results[0].ID || !strings.Contains(doc.Text, "chunk 0") || !strings.Contains(doc.Text, "chunk 2") || doc.Metadata["type"] != "text" || doc.Metadata["next"] != "" {
				t.Errorf("fetched %+v", doc)
			}

			var answer struct {
				Answer, Agent, ConversationID string
				Sources                       []struct {
					Citation int
					Title    string
				}
			}
			if e := s.tool(session, "ask", object{"question": "How long?"}, &answer); e != "" {
				t.Fatal(e)
			}
			if answer.Answer != "The trial lasts 30 days [1]." || answer.Agent != s.agent || answer.ConversationID == "" || len(answer.Sources) != 1 || answer.Sources[0].Citation != 1 {
				t.Errorf("answered %+v", answer)
			}
		})
	}
}

func TestFaultsInArgumentsAreReportedAsInBodies(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	session := s.mcp("/mcp", nil)
	const none = "0198c0de-0000-7000-8000-00000000dead"
	for name, c := range map[string]struct {
		tool      string
		arguments object
		want      string
	}{
		"nothing":                 {"search", nil, "query: is required"},
		"an empty query":          {"search", object{"query": ""}, "query: is empty; it must contain text"},
		"a blank query":           {"search", object{"query": " "}, "query: is empty; it must contain text"},
		"another type":            {"search", object{"query": 3}, "query: is 3; it must be a string"},
		"a number as a text":      {"search", object{"query": "a", "topK": "5"}, `topK: is "5"; it must be a whole number`},
		"a fraction":              {"search", object{"query": "a", "topK": 1.5}, "topK: is 1.5; it must be a whole number"},
		"too many":                {"search", object{"query": "a", "topK": 500}, "topK: 500 is above the maximum of 100"},
		"one for a list":          {"search", object{"query": "a", "datastores": none}, `datastores: is "` + none + `"; it must be an array`},
		"several faults":          {"search", object{"topK": 0, "limit": 3}, "query: is required\ntopK: 0 is below the minimum of 1\nlimit: is unknown; it must be one of datastores, filters, query, topK"},
		"another way of writing":  {"search", object{"query": "a", "top_k": 3}, "top_k: is unknown; did you mean topK?"},
		"a filter with a slip":    {"search", object{"query": "a", "filters": object{"custom_id": "x"}}, "filters.custom_id: is unknown; did you mean filters.custom_ids?"},
		"a filter by an object":   {"search", object{"query": "a", "filters": object{"metadata": object{"a": object{}}}}, "filters.metadata.a: is an object; it must be a string, a number, true or false, or an array of them"},
		"no such datastore":       {"search", object{"query": "a", "datastores": []string{none}}, `there is no datastore with id "` + none + `"; omit datastores to search all of them`},
		"nothing to fetch":        {"fetch", object{}, "id: is required"},
		"a question, not a query": {"ask", object{"query": "a"}, "question: is required\nquery: is unknown; it must be one of agent, conversationId, question, rectangles"},
		"no such agent":           {"ask", object{"question": "a", "agent": none}, `there is no agent with id "` + none + `"; omit agent to list the agents`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.in(t).tool(session, c.tool, c.arguments, nil); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestNullArgumentsCountAsAbsent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var got struct{ Answer string }
	if e := s.tool(s.mcp("/mcp", nil), "ask", object{"question": "How long?", "agent": nil, "conversationId": nil}, &got); e != "" || got.Answer == "" {
		t.Errorf("got %q, %+v", e, got)
	}
}

func TestAskTakesTheIDOfAConversationInUpperCase(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	session := s.mcp("/mcp", nil)
	var first, second struct{ ConversationID string }
	if e := s.tool(session, "ask", object{"question": "How long?", "agent": s.agent}, &first); e != "" {
		t.Fatal(e)
	}
	e := s.tool(session, "ask", object{"question": "How long?", "agent": s.agent, "conversationId": strings.ToUpper(first.ConversationID)}, &second)
	if e != "" || second.ConversationID != first.ConversationID {
		t.Errorf("%q, in %q, want %q", e, second.ConversationID, first.ConversationID)
	}
}

func TestAskStreamsTheAnswerAsProgress(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pieces := make(chan string, 10)
	session := s.mcp("/mcp", &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { pieces <- r.Params.Message }})
	params := &sdk.CallToolParams{Name: "ask", Arguments: object{"question": "How long?"}}
	params.SetProgressToken("p")
	_, err := session.CallTool(t.Context(), params)
	must(t, err)
	if got := <-pieces + <-pieces + <-pieces; got != "The trial lasts 30 days [1]." {
		t.Errorf("the pieces are %q", got)
	}
}

func TestAPanicOfAToolIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) { panic("gone wrong") }
	session := s.mcp("/mcp", nil)
	_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "search", Arguments: object{"query": "q"}})
	if err == nil || strings.Contains(err.Error(), "gone wrong") || !strings.Contains(s.log.String(), "gone wrong") {
		t.Errorf("the client gets %v, the log has %s", err, s.log)
	}
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestAnInternalErrorOfAToolIsNotDisclosed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) {
		return retrieve.Result{}, errors.New("secret path")
	}
	session := s.mcp("/mcp", nil)
	if got := s.tool(session, "search", object{"query": "q"}, nil); strings.Contains(got, "secret") || !strings.Contains(got, "log has the cause") {
		t.Errorf("the client gets %q", got)
	}
}

func TestDatasourcesAreResources(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	long := s.newText(s.datastore, "long")
	s.synch(long, 2, 400)
	s.chunks.read = func(_ context.Context, d domain.Datasource, from, limit int) ([]domain.Chunk, error) {
		var out []domain.Chunk
		for n := from; n < int(d.Chunks) && len(out) < limit; n++ {
			out = append(out, domain.Chunk{Ordinal: n, Text: strings.Repeat("x", 600), Offset: 602 * n})
		}
		return out, nil
	}
	session := s.mcp("/mcp", nil)
	var uris []string
	for r, err := range session.Resources(t.Context(), nil) {
		must(t, err)
		uris = append(uris, r.URI)
	}
	if diff := cmp.Diff([]string{"sluice://datasources/" + long, "sluice://datasources/" + s.datasource}, uris); diff != "" {
		t.Errorf("the resources (a site has no text of its own): %s", diff)
	}
	templates, err := session.ListResourceTemplates(t.Context(), nil)
	must(t, err)
	if len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "sluice://datasources/{id}{?from}" {
		t.Errorf("the templates are %+v", templates)
	}
	parts, size := 0, 0
	for uri := "sluice://datasources/" + long; uri != ""; parts++ {
		got, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		must(t, err)
		if n := len(got.Contents[0].Text); n > 110_000 {
			t.Errorf("a part has %d bytes", n)
		}
		size += strings.Count(got.Contents[0].Text, "x")
		uri, _ = got.Contents[0].Meta["next"].(string)
	}
	if parts != 3 || size != 400*600 {
		t.Errorf("%d parts hold %d of 240,000 characters", parts, size)
	}
	for _, uri := range []string{"sluice://datasources/" + unusedID, "sluice://datasources/../keys", "file:///etc/passwd", "sluice://datasources/" + long + "?from=-1"} {
		if _, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "sluice://datasources/" + s.site}); err == nil || !strings.Contains(err.Error(), "is a web site") {
		t.Errorf("a site: %v", err)
	}
}

func TestToolsReportErrors(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	second := s.newAgent(object{"name": "Second"})
	session := s.mcp("/mcp", nil)
	for name, test := range map[string]struct {
		tool      string
		arguments object
		says      string
	}{
		"no query":                       {"search", object{}, "query"},
		"an empty query":                 {"search", object{"query": " "}, "query: is empty"},
		"a query that is too long":       {"search", object{"query": strings.Repeat("q", 8001)}, "the limit is 8000"},
		"too many results":               {"search", object{"query": "q", "topK": 101}, "topK"},
		"an argument that is not known":  {"search", object{"query": "q", "limit": 3}, "limit"},
		"a datastore that is not there":  {"search", object{"query": "q", "datastores": []string{unusedID}}, "no datastore with id"},
		"a filter that cannot be":        {"search", object{"query": "q", "filters": object{"metadata": object{"a": nil}}}, "filters.metadata.a"},
		"an id that is none":             {"fetch", object{"id": "../../x"}, "is not the id of a document"},
		"an id that is not there":        {"fetch", object{"id": unusedID}, "no datasource with id"},
		"a part that is not there":       {"fetch", object{"id": s.datasource + "#7"}, "search again"},
		"a site":                         {"fetch", object{"id": s.site}, "is a web site"},
		"one of several agents, unnamed": {"ask", object{"question": "q"}, second + ` ("Second")`},
		"an agent that is not there":     {"ask", object{"question": "q", "agent": unusedID}, "no agent with id"},
		"a conversation's bad id":        {"ask", object{"question": "q", "agent": second, "conversationId": "x"}, "conversationId: is"},
		"another agent's conversation":   {"ask", object{"question": "q", "agent": second, "conversationId": s.conversation}, "no conversation with id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := s.in(t).tool(session, test.tool, test.arguments, nil); !strings.Contains(got, test.says) {
				t.Errorf("it says %q", got)
			}
		})
	}
}

func TestMCPEnforcesKeysScopesAndLimits(t *testing.T) {
	t.Parallel()
	s := &scene{service: newService(t)}
	s.limit(domain.Limits{domain.MetricQueries: 1})
	s.agent, s.datastore = s.newAgent(), s.newDatastore()
	for name, key := range map[string]string{"no key": "", "a wrong key": "sk_wrong"} {
		a := s.as(key).call("POST", "/mcp", object{})
		if a.want(401); a.header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(string(a.body), `"jsonrpc":"2.0"`) {
			t.Errorf("%s: %v %s", name, a.header, a.body)
		}
	}
	asker := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeQuery}, AgentID: s.agent}))
	session := asker.mcp("/mcp", nil)
	tools, err := session.ListTools(t.Context(), nil)
	must(t, err)
	if len(tools.Tools) != 1 || tools.Tools[0].Name != "ask" {
		t.Errorf("a key that may query one agent sees %+v", tools.Tools)
	}
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "search", Arguments: object{"query": "q"}}); err == nil {
		t.Error("the tool search is available")
	}
	if e := asker.tool(session, "ask", object{"question": "q"}, new(object)); e != "" {
		t.Error(e)
	}
	if e := asker.tool(session, "ask", object{"question": "q"}, nil); !strings.Contains(e, "reached its limit of 1 agent queries") {
		t.Errorf("beyond the quota: %q", e)
	}
	stranger := s.stranger()
	other := stranger.mcp("/mcp", nil)
	if e := stranger.tool(other, "ask", object{"question": "q", "agent": s.agent}, nil); !strings.Contains(e, "no agent with id") {
		t.Errorf("a stranger: %q", e)
	}
	if e := stranger.tool(other, "search", object{"query": "q", "datastores": []string{s.datastore}}, nil); !strings.Contains(e, "no datastore with id") {
		t.Errorf("a stranger: %q", e)
	}
}

func TestMCPMessagesAreBounded(t *testing.T) {
	t.Parallel()
	s := newService(t)
	call := func(body string, headers ...string) *response {
		return s.call("POST", "/mcp", body, append([]string{"Accept", "application/json, text/event-stream"}, headers...)...)
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	call(ping).want(200)
	for name, test := range map[string]struct {
		answer *response
		status int
		says   string
	}{
		"a large message":         {call(`{"a":"` + strings.Repeat("a", 1<<20) + `"}`), 413, "1 MiB"},
		"a deep message":          {call(`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`), 400, "nested deeper"},
		"what is no JSON":         {call(`{`), 400, "not valid JSON"},
		"a batch":                 {call("[" + ping + "," + ping + "]"), 400, "batch"},
		"GET":                     {s.call("GET", "/mcp", nil), 405, "not allowed"},
		"DELETE":                  {s.call("DELETE", "/api/mcp", nil), 405, "not allowed"},
		"another origin":          {call(ping, "Origin", "https://evil.example"), 403, "origin"},
		"an origin that is none":  {call(ping, "Origin", "null"), 403, "origin"},
		"the newest subscription": {call(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{}}}`, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"), 404, "method not found"},
	} {
		test.answer.T = t
		if test.answer.want(test.status); !strings.Contains(string(test.answer.body), test.says) {
			t.Errorf("%s: %s", name, test.answer.body)
		}
	}
	call(ping, "Origin", s.url).want(200)
}

func TestForeignHostNamesAreRefusedOnLoopback(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hosts  []string
		host   string
		origin string
		status int
	}{
		"localhost":                 {nil, "localhost:8080", "", 200},
		"IPv6":                      {nil, "[::1]:8080", "", 200},
		"a foreign name":            {nil, "rebound.example", "", 403},
		"a name that is listed":     {[]string{"sluice.example"}, "Sluice.example:443", "https://sluice.example:443", 200},
		"an origin that is listed":  {[]string{"app.example"}, "localhost", "https://app.example", 200},
		"an origin beside the list": {[]string{"app.example"}, "localhost", "https://app.example.evil", 403},
		"any":                       {[]string{"*"}, "rebound.example", "https://other.example", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, func(o *api.Options, _ *api.Deps) { o.MCPHosts = test.hosts })
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			must(t, err)
			req.Host = test.host
			req.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}, "Accept": {"*/*"}}
			if test.origin != "" {
				req.Header.Set("Origin", test.origin)
			}
			res, err := http.DefaultClient.Do(req)
			must(t, err)
			defer res.Body.Close()
			if res.StatusCode != test.status {
				t.Errorf("status %d, want %d", res.StatusCode, test.status)
			}
		})
	}
}

func TestADisconnectCancelsATool(t *testing.T) {
	t.Parallel()
	for name, versions := range map[string]string{"an older version of the protocol": "2025-06-18", "the newest": "2026-07-28"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			agent := s.newAgent()
			began, stopped := make(chan struct{}), make(chan struct{})
			s.answerer.answer = func(ctx context.Context, _ answer.Request, _ func(string) error) (answer.Answer, error) {
				defer close(stopped)
				close(began)
				<-ctx.Done()
				return answer.Answer{}, ctx.Err()
			}
			meta := ""
			if versions == "2026-07-28" {
				meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
			}
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"question":"q","agent":"` + agent + `"}` + meta + `}}`
			ctx, leave := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(body))
			must(t, err)
			req.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Mcp-Protocol-Version": {versions}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"ask"}}
			left := make(chan error, 1)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err == nil {
					res.Body.Close()
				}
				left <- err
			}()
			<-began
			leave()
			<-stopped
			<-left
		})
	}
}

func TestACallBeyondTheRateLimitFails(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.RatePerSecond = 5 })
	s.retriever.retrieve = func(context.Context, retrieve.Request) (retrieve.Result, error) { return retrieve.Result{}, nil }
	session := s.mcp("/mcp", nil)
	var words string
	for range 20 { // the rate limit's clock does not advance
		if words = s.tool(session, "search", object{"query": "a"}, &struct{}{}); words != "" {
			break
		}
	}
	if words != "more than 5 requests per second; slow down; try again in 1 s" {
		t.Errorf("got %q", words)
	}
	s.clock.advance(time.Minute)
	if e := s.tool(session, "search", object{"query": "a"}, &struct{}{}); e != "" {
		t.Errorf("afterwards: %s", e)
	}
	for range 20 {
		a := s.call("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if a.status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("other messages are not held by the rate")
}
