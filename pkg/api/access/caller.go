// Package access identifies and limits callers: it looks up API keys, enforces rate limits, checks web origins and
// writes the audit log. It does not depend on the API's operations; pkg/api and the packages below it may import it.
package access

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

// Caller is the sender of a request: a key holder, or an anonymous user of a public resource.
type Caller struct {
	Key       domain.APIKey
	Anonymous bool
	Remote    string // the client's address, with its port
}

// Workspace returns the workspace the caller's key belongs to, or "" for an anonymous caller.
func (c Caller) Workspace() string { return c.Key.WorkspaceID }

// MayRead reports whether the caller may read everything in a workspace.
func (c Caller) MayRead(workspace string) bool {
	return !c.Anonymous && c.Workspace() == workspace && c.Key.Can(domain.ScopeRead)
}

// Account returns the account to charge for the caller's use of a resource in the workspace. It includes the caller's
// key if that belongs to the workspace. Otherwise the resource is public, and only the workspace is charged.
func (c Caller) Account(workspace string) domain.Account {
	a := domain.Account{WorkspaceID: workspace}
	if c.Workspace() == workspace {
		a.KeyID = c.Key.ID
	}
	return a
}

type contextKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, caller)
}

// CallerOf returns the caller and the HTTP request's context. Unlike Gin's, that context may be used after the handler
// returns.
func CallerOf(ctx context.Context) (context.Context, Caller) {
	if c, ok := ctx.(*gin.Context); ok {
		ctx = c.Request.Context()
	}
	caller, _ := ctx.Value(contextKey{}).(Caller)
	return ctx, caller
}

// Secret returns the API key in a request's Authorization header, or "" if there is none. Tika clients can send only
// the user name and password in the server's address. On Tika's paths, the key may therefore also be the password or,
// if there is none, the user name.
func Secret(r *http.Request) (string, error) {
	header := r.Header.Get("Authorization")
	if name, password, ok := r.BasicAuth(); ok && problem.IsTika(r.URL.Path) {
		return strings.TrimSpace(cmp.Or(password, name)), nil
	}
	return bearer(header)
}

// bearer returns the token in an Authorization header, or "" if there is none. The scheme is case-insensitive (RFC
// 9110, section 11.1). Any scheme other than Bearer is an error.
func bearer(header string) (string, error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	if scheme != "" && !strings.EqualFold(scheme, "Bearer") {
		return "", &domain.Error{Code: domain.CodeUnauthorized, Message: "the Authorization header must have the form Bearer <key>", Err: problem.ErrNoKey}
	}
	token = strings.TrimSpace(token)
	if len(token) > 1 && (token[0] == '"' || token[0] == '\'') {
		return "", domain.Errorf(domain.CodeUnauthorized, "the API key in the Authorization header is in quotes (%c); send it without them", token[0])
	}
	return token, nil
}
