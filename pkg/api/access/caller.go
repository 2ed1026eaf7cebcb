// Package access finds out who sends a request, bounds how often they may, and remembers what keys were used for: keys,
// rate limits, the origins of web pages, and the audit. It knows no operation; pkg/api and the packages below it may
// import it.
package access

import (
	"context"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/domain"
)

// Caller is the client that sends a request: the bearer of a key, or a client without one, of something public.
type Caller struct {
	Key       domain.APIKey
	Anonymous bool
	Remote    string // the address that the request came from
}

// Workspace is the caller's, "" for an anonymous one.
func (c Caller) Workspace() string { return c.Key.WorkspaceID }

// MayRead reports whether the caller may read everything in a workspace.
func (c Caller) MayRead(workspace string) bool {
	return !c.Anonymous && c.Workspace() == workspace && c.Key.Can(domain.ScopeRead)
}

// Account returns the account for the caller's use of something in the workspace. A caller of another workspace uses
// something public, without a key of this one.
func (c Caller) Account(workspace string) domain.Account {
	a := domain.Account{WorkspaceID: workspace}
	if c.Workspace() == workspace {
		a.KeyID = c.Key.ID
	}
	return a
}

type contextKey struct{}

// WithCaller returns the context of a request by the caller.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, caller)
}

// CallerOf returns the request's own context, which unlike Gin's may outlive the handler, and who sent the request.
func CallerOf(ctx context.Context) (context.Context, Caller) {
	if c, ok := ctx.(*gin.Context); ok {
		ctx = c.Request.Context()
	}
	caller, _ := ctx.Value(contextKey{}).(Caller)
	return ctx, caller
}

// Bearer takes the token out of an Authorization header, "" when it carries none. The scheme's name may be in any case
// (RFC 9110, section 11.1); another scheme is an error.
func Bearer(header string) (string, error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	if scheme != "" && !strings.EqualFold(scheme, "Bearer") {
		return "", domain.Errorf(domain.CodeUnauthorized, "the header Authorization must have the form Bearer <key>")
	}
	token = strings.TrimSpace(token)
	if len(token) > 1 && (token[0] == '"' || token[0] == '\'') {
		return "", domain.Errorf(domain.CodeUnauthorized, "the API key in the header Authorization is in quotes (%c); send it without them", token[0])
	}
	return token, nil
}
