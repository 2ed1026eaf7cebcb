package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

// page sends a request as a browser does for a page from the origin. It sends no key unless `headers` contains one.
func (s *service) page(origin, method, path string, body any, headers ...string) *response {
	s.Helper()
	return s.as("").call(method, path, body, append([]string{"Origin", origin}, headers...)...)
}

// preflight sends the preflight request for a JSON POST.
func (s *service) preflight(origin, path string) *response {
	s.Helper()
	return s.page(origin, "OPTIONS", path, nil, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
}

func TestAPublicAgentIsQueriedFromItsOrigins(t *testing.T) {
	t.Parallel()
	s := newService(t)
	listed := s.newAgent(object{"visibility": "public", "allowedOrigins": []string{"https://shop.example/", "http://localhost:3000"}})
	anywhere := s.newAgent(object{"visibility": "public", "allowedOrigins": []string{"*"}})
	nowhere := s.newAgent(object{"visibility": "public"})
	hidden := s.newAgent(object{"allowedOrigins": []string{"*"}})
	for name, c := range map[string]struct {
		agent, origin string
		allowed       bool
	}{
		"an origin that is listed":             {listed, "https://shop.example", true},
		"another that is":                      {listed, "http://localhost:3000", true},
		"another scheme":                       {listed, "http://shop.example", false},
		"another port":                         {listed, "https://shop.example:8443", false},
		"a name that begins so":                {listed, "https://shop.example.evil.example", false},
		"a page without an origin":             {listed, "null", false},
		"any origin where all may":             {anywhere, "https://other.example", true},
		"a page without an origin, where all":  {anywhere, "null", true},
		"where no origin is listed":            {nowhere, "https://shop.example", false},
		"an agent that needs a key":            {hidden, "https://shop.example", false},
		"an agent that is not there":           {unusedID, "https://shop.example", false},
		"an id that nothing has":               {"%20", "https://shop.example", false},
		"an origin that is none, in its place": {listed, "shop.example", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			for _, path := range []string{"/agents/" + c.agent + "/query", "/api/agents/" + c.agent + "/query", "/agents/query/" + c.agent, "/agents/" + c.agent + "/query/"} {
				before, asked := s.preflight(c.origin, path), s.page(c.origin, "POST", path, object{"query": "q"})
				for _, a := range []*response{before, asked} {
					if !strings.Contains(strings.Join(a.header.Values("Vary"), ","), "Origin") {
						t.Errorf("%s: caches are not told that the answer is the origin's: %v", path, a.header)
					}
					if got := a.header.Get("Access-Control-Allow-Credentials"); got != "" {
						t.Errorf("%s: credentials are allowed: %s", path, got)
					}
				}
				if !c.allowed {
					before.problem(403)
					asked.problem(403)
					if before.header.Get("Access-Control-Allow-Origin")+asked.header.Get("Access-Control-Allow-Origin") != "" {
						t.Errorf("%s: the page may read the answer: %v, %v", path, before.header, asked.header)
					}
					continue
				}
				before.want(204)
				asked.want(200)
				for header, want := range map[string]string{"Access-Control-Allow-Origin": c.origin, "Access-Control-Allow-Methods": "POST", "Access-Control-Allow-Headers": "Content-Type", "Access-Control-Max-Age": "600"} {
					if got := before.header.Get(header); got != want {
						t.Errorf("%s: %s of the preflight is %q, want %q", path, header, got, want)
					}
				}
				if got := asked.header.Get("Access-Control-Allow-Origin"); got != c.origin {
					t.Errorf("%s: the page may not read the answer: %v", path, asked.header)
				}
			}
		})
	}
}

func TestARefusedOriginGetsTheRemedy(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent(object{"visibility": "public", "allowedOrigins": []string{"https://shop.example"}})
	asked := 0
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		asked++
		return tokens("a")(ctx, r, emit)
	}
	path := "/agents/" + agent + "/query"
	for _, a := range []*response{s.preflight("https://evil.example", path), s.page("https://evil.example", "POST", path, object{"query": "q"})} {
		p := a.problem(403)
		if p.Error != "UNAUTHORIZED" || !strings.Contains(p.Detail, `"https://evil.example"`) || !strings.Contains(p.Detail, "allowedOrigins") || len(p.Errors) != 1 || p.Errors[0].Field != "Origin" {
			t.Errorf("%+v", p)
		}
	}
	if asked != 0 {
		t.Error("the agent was asked")
	}
	// allowedOrigins doesn't apply to non-browser clients, to callers with a key, or to the service's own pages.
	s.as("").call("POST", path, object{"query": "q"}).want(200)
	s.call("POST", path, object{"query": "q"}, "Origin", "https://evil.example").want(200)
	if got := s.page(s.url, "POST", path, object{"query": "q"}).want(200).header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("its own page needs no permission: %s", got)
	}
	// A page from an allowed origin may query the agent, but must not call any other endpoint.
	for _, other := range []string{"/agents/" + agent, "/agents", "/datastores", "/conversations", "/nowhere"} {
		s.preflight("https://shop.example", other).problem(403)
		if got := s.page("https://shop.example", "GET", other, nil).header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s: the page may read the answer", other)
		}
	}
	s.page("https://shop.example", "OPTIONS", path, nil).problem(405) // not a preflight request
	// A page that may query the agent can also read errors.
	if got := s.page("https://shop.example", "POST", path, object{"query": ""}); got.status != 400 || got.header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("status %d, %v", got.status, got.header)
	}
}

func TestOriginsOfAnAgentAreChecked(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent(object{"allowedOrigins": []string{"HTTPS://Shop.example:443/", "https://shop.example", "http://localhost:3000"}})
	if got := strings.Join(texts(s.call("GET", "/agents/"+agent, nil).want(200).object().list("allowedOrigins")), " "); got != "https://shop.example http://localhost:3000" {
		t.Errorf("the origins are %q", got)
	}
	s.call("PATCH", "/agents/"+agent, object{"name": "Other"}).want(200)
	if got := s.call("GET", "/agents/"+agent, nil).object().list("allowedOrigins"); len(got) != 2 {
		t.Errorf("a change of something else has left %v", got)
	}
	if got := s.call("PATCH", "/agents/"+agent, object{"allowedOrigins": []string{}}).want(200).object().list("allowedOrigins"); len(got) != 0 {
		t.Errorf("no origins are %v", got)
	}
	for origin, words := range map[string]string{
		"shop.example":           "write scheme, host and optional port",
		"https://shop.example/a": "which contains more than an origin",
		"https://*.example":      "wildcards in hosts are not supported",
	} {
		if got := s.call("PATCH", "/agents/"+agent, object{"allowedOrigins": []string{"*", origin}}).fault("allowedOrigins[1]"); !strings.Contains(got, words) {
			t.Errorf("%s: %s", origin, got)
		}
	}
	s.call("POST", "/agents", object{"name": "a", "allowedOrigins": make([]string, domain.MaxOrigins+1)}).fault("allowedOrigins")
}

func texts(list []any) (out []string) {
	for _, v := range list {
		text, _ := v.(string)
		out = append(out, text)
	}
	return out
}

func TestConfiguredOriginsMayCallEveryEndpoint(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.CORSOrigins = []string{"https://app.example"} })
	before := s.page("https://app.example", "OPTIONS", "/datastores", nil, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type").want(204)
	for _, needed := range []string{"Authorization", "Content-Type", "Idempotency-Key"} {
		if !strings.Contains(before.header.Get("Access-Control-Allow-Headers"), needed) {
			t.Errorf("%s may not be sent: %v", needed, before.header)
		}
	}
	a := s.call("GET", "/datastores", nil, "Origin", "https://app.example").want(200)
	if a.header.Get("Access-Control-Allow-Origin") != "https://app.example" || a.header.Get("Vary") != "Origin" {
		t.Errorf("%v", a.header)
	}
	for _, notified := range []string{"Content-Disposition", "Idempotent-Replayed", "Retry-After", "Sluice-Ignored-Parameters", "X-Request-Id"} {
		if !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), notified) {
			t.Errorf("%s may not be read: %v", notified, a.header)
		}
	}
	p := s.preflight("https://other.example", "/datastores").problem(403)
	if !strings.Contains(p.Detail, "SLUICE_CORS_ORIGINS") || !strings.Contains(p.Detail, "https://other.example") {
		t.Errorf("%+v", p)
	}
	if got := s.call("GET", "/datastores", nil, "Origin", "https://other.example").want(200).header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("another page may read the answer: %s", got)
	}
	// Configured origins may query every public agent, whatever its allowedOrigins.
	agent := s.newAgent(object{"visibility": "public"})
	s.page("https://app.example", "POST", "/agents/"+agent+"/query", object{"query": "q"}).want(200)
}
