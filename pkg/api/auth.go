package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/document"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

// authenticate rejects callers that may not use the operation.
func (s *server) authenticate(c *gin.Context) {
	op := operationOf(c)
	if op == nil || op.Scope == "" {
		return
	}
	caller, err := s.identify(c, op)
	caller.Remote = c.Request.RemoteAddr
	switch {
	case domain.CodeOf(err) == domain.CodeUnauthorized:
		s.audit.RecordRefusal(c.Request.Context(), caller)
	case err == nil && !caller.Anonymous:
		s.audit.RecordUse(c.Request.Context(), caller)
	}
	if err != nil {
		caller = access.Caller{Anonymous: true, Remote: caller.Remote} // so that the limit per address slows down guessing
	}
	if limited := s.limits.Allow(caller); limited != nil {
		err = limited
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Request = c.Request.WithContext(access.WithCaller(c.Request.Context(), caller))
}

// identify returns the caller. If the key exists but may not be used for the operation, it returns both the caller and
// an error.
func (s *server) identify(c *gin.Context, op *document.Operation) (access.Caller, error) {
	secret, err := access.Secret(c.Request)
	if err != nil {
		return access.Caller{}, err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.options.KeyTimeout)
	defer cancel()
	if secret == "" {
		return access.Caller{Anonymous: true}, s.isPublic(ctx, c.Param("id"), op)
	}
	key, err := s.keyring.Lookup(ctx, secret)
	if err != nil {
		if domain.CodeOf(err) == domain.CodeUnauthorized {
			s.flows.Forget(secret)
		}
		return access.Caller{}, err
	}
	s.flows.LearnKey(key)
	if !coversScope(key, op) {
		return access.Caller{Key: key}, problem.Forbidden("the key %q lacks the scope %s", key.Name, op.Scope)
	}
	return access.Caller{Key: key}, nil
}

// isPublic returns domain.CodeUnauthorized unless the resource is public and may be queried without a key. It runs
// before the body is read, so other clients without a key are rejected at once.
func (s *server) isPublic(ctx context.Context, id string, op *document.Operation) error {
	if !op.Public || !domain.ValidID(id) {
		return problem.MissingKey()
	}
	var workspace string
	var err error
	if op.Scope == domain.ScopeQuery {
		var agent domain.Agent
		agent, err = s.Agents.PublicAgent(ctx, id)
		workspace = agent.WorkspaceID
	} else {
		var store domain.Datastore
		store, err = s.Datastores.PublicDatastore(ctx, id)
		workspace = store.WorkspaceID
	}
	if err == nil {
		s.flows.LearnPublic(id, workspace)
	}
	if domain.CodeOf(err) == domain.CodeNotFound {
		return problem.MissingKey()
	}
	return err
}

// coversScope reports whether the key's scopes cover the operation. Read scope includes query scope. The handler checks
// which agent a key with query scope may use.
func coversScope(key domain.APIKey, op *document.Operation) bool {
	return key.Can(op.Scope) || op.Scope == domain.ScopeQuery && key.Can(domain.ScopeRead)
}

// auditServed logs a served request if its operation is audited.
func (s *server) auditServed(c *gin.Context) {
	op := operationOf(c)
	if op == nil || !op.Audited || c.Writer.Status() == http.StatusUnauthorized || c.Writer.Status() == http.StatusForbidden {
		return
	}
	ctx, caller := access.CallerOf(c.Request.Context())
	resource := c.GetString(createdKey)
	if resource == "" {
		resource = c.Param("id")
	}
	resource = openai.BareID(resource)
	if !domain.ValidID(resource) { // the path may contain arbitrary text
		resource = ""
	}
	s.audit.Record(ctx, op.ID, caller, access.Host(c.Request.RemoteAddr), slog.String("resource", resource), slog.Int("status", c.Writer.Status()))
}

// createdKey is the context key for the created resource's id.
const createdKey = "sluice.made"

// setCreated stores the created resource's id for the audit log.
func setCreated(ctx context.Context, id string) {
	if c, ok := ctx.(*gin.Context); ok {
		c.Set(createdKey, id)
	}
}
