package access

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// agentQueryPath matches agent query paths and captures the agent's id.
var agentQueryPath = lazyregexp.New(`^(?:/api)?/agents/(?:query/([^/]+)|([^/]+)/query)$`)

// Methods and headers that pages from other origins may send, and response headers they may read (ExposedHeaders).
const (
	corsMethods    = "GET, HEAD, POST, PUT, PATCH, DELETE"
	corsHeaders    = "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, X-Request-Id"
	ExposedHeaders = "Content-Disposition, ETag, Idempotent-Replayed, Mcp-Session-Id, Retry-After, Sluice-Ignored-Parameters, X-Request-Id"
	corsMaxAge     = "600" // how long browsers cache the preflight response, in seconds
)

// AgentFinder finds public agents, so that CORS can check their allowedOrigins.
type AgentFinder interface {
	// PublicAgent returns a public agent from any workspace, or domain.CodeNotFound if no public agent has the id.
	PublicAgent(ctx context.Context, id string) (domain.Agent, error)
}

// CORS decides which web pages from other origins may call the service.
type CORS struct {
	Origins    []string // origins that may call every endpoint, as returned by domain.ParseOrigin
	RateLimits *RateLimits
	Agents     AgentFinder
}

// Check checks the origin of a request that a browser sends on behalf of a web page. Pages from the configured origins
// may call every endpoint with a key. Pages from a public agent's allowedOrigins may query that agent. Other pages can
// neither read responses nor query a public agent without a key. Requests without an Origin header pass, because they
// do not come from a web page.
func (p *CORS) Check(c *gin.Context) error {
	agentID := ""
	if m := agentQueryPath().FindStringSubmatch(c.Request.URL.Path); m != nil {
		agentID = m[1] + m[2]
	}
	if agentID != "" || len(p.Origins) > 0 {
		c.Writer.Header().Add("Vary", "Origin")
	}
	origin := c.GetHeader("Origin")
	if origin == "" || isOwnOrigin(origin, c.Request.Host) {
		return nil
	}
	asks := c.GetHeader("Access-Control-Request-Method")
	isPreflight := c.Request.Method == http.MethodOptions && asks != ""
	if isPreflight {
		c.Writer.Header().Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
		if err := p.RateLimits.Allow(Caller{Anonymous: true, Remote: c.Request.RemoteAddr}); err != nil {
			return err
		}
	}
	allowed, methods, headers := domain.AllowsOrigin(p.Origins, origin), corsMethods, corsHeaders
	if !allowed && agentID != "" {
		agent, err := p.publicAgent(c.Request.Context(), agentID)
		public := err == nil
		switch {
		case err != nil && domain.CodeOf(err) != domain.CodeNotFound:
			return err
		case public && domain.AllowsOrigin(agent.AllowedOrigins, origin):
			allowed, methods, headers = true, http.MethodPost, "Content-Type"
		case public && (isPreflight || c.GetHeader("Authorization") == ""):
			return originError(origin, agent)
		}
	}
	if isPreflight && !allowed {
		return problem.Forbidden("pages from the origin %s are not allowed to call this service; ask the operator to add the origin to SLUICE_CORS_ORIGINS, "+
			"or make the request from a server", jsonbody.Describe(origin))
	}
	if !allowed {
		return nil // the browser hides the response from the page
	}
	h := c.Writer.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	if !isPreflight {
		h.Set("Access-Control-Expose-Headers", ExposedHeaders)
		return nil
	}
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", headers)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	c.AbortWithStatus(http.StatusNoContent)
	return nil
}

func (p *CORS) publicAgent(ctx context.Context, id string) (domain.Agent, error) {
	if !domain.ValidID(id) {
		return domain.Agent{}, domain.NotFound("agent", id)
	}
	return p.Agents.PublicAgent(ctx, id)
}

// originError returns the error for an origin that may not query the agent. Its message says how to allow the origin.
func originError(origin string, agent domain.Agent) error {
	return &domain.Error{
		Code: domain.CodeUnauthorized, Err: problem.ErrForbidden,
		Message: fmt.Sprintf("pages from the origin %s are not allowed to query this agent; add the origin to its allowedOrigins (PATCH /agents/%s, or in the console), "+
			"or make the request from a server with the header Authorization: Bearer <key>", jsonbody.Describe(origin), agent.ID),
		Fields: []domain.FieldError{{
			Field: "Origin", Message: fmt.Sprintf("is %s, which is not in the agent's allowedOrigins", jsonbody.Describe(origin)),
		}},
	}
}

// isOwnOrigin reports whether the page comes from this service. It compares only hosts, because behind a TLS proxy the
// service doesn't know the scheme that browsers use.
func isOwnOrigin(origin, host string) bool {
	from, err := url.Parse(origin)
	return err == nil && from.Host != "" && strings.EqualFold(from.Host, host)
}
