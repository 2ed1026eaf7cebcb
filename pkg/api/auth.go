package api

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/domain"
)

// caller is who sends a request: the bearer of a key, or anybody at all where something public is queried.
type caller struct {
	key       domain.APIKey
	anonymous bool
	remote    string // the address that the request came from
}

// workspace is the caller's, "" for an anonymous one.
func (c caller) workspace() string { return c.key.WorkspaceID }

// mayRead reports whether the caller may read everything in a workspace.
func (c caller) mayRead(workspace string) bool {
	return !c.anonymous && c.workspace() == workspace && c.key.Can(domain.ScopeRead)
}

type contextKey int

const (
	callerKey contextKey = iota
	requestIDKey
	pacedKey
	sentKey
	headKey
	claimKey
)

// callerOf returns the request's own context, which unlike Gin's may outlive the handler, and who sent the request.
func callerOf(ctx context.Context) (context.Context, caller) {
	if c, ok := ctx.(*gin.Context); ok {
		ctx = c.Request.Context()
	}
	who, _ := ctx.Value(callerKey).(caller)
	return ctx, who
}

// authenticate lets pass who may call the operation.
func (s *server) authenticate(c *gin.Context) {
	op := operationOf(c)
	if op == nil || op.scope == "" {
		return
	}
	who, err := s.identify(c, op)
	who.remote = c.Request.RemoteAddr
	switch {
	case isRefusal(err):
		s.audit.refuse(c.Request.Context(), who)
	case err == nil && !who.anonymous:
		s.audit.use(c.Request.Context(), who)
	}
	if err != nil {
		who = caller{anonymous: true, remote: who.remote} // who guesses keys is slowed down by address
	}
	if limited := s.limits.allow(who); limited != nil {
		err = limited
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), callerKey, who))
}

// identify returns who calls. A key that there is, and that may not call the operation, is told with the error.
func (s *server) identify(c *gin.Context, op *operation) (caller, error) {
	secret, err := bearer(c.GetHeader("Authorization"))
	if err != nil {
		return caller{}, err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.opts.KeyTimeout)
	defer cancel()
	if secret == "" {
		return caller{anonymous: true}, s.isPublic(ctx, c.Param("id"), op)
	}
	key, err := s.keys.lookup(ctx, secret)
	if err != nil {
		return caller{}, err
	}
	if !mayCall(key, op) {
		return caller{key: key}, forbidden("the key %q lacks the scope %s", key.Name, op.scope)
	}
	return caller{key: key}, nil
}

// isPublic answers domain.CodeUnauthorized unless the route leads to something that may be queried without a key. It is
// found out before the body is read: whoever has no key is told so first, and cannot make the service read for nothing.
func (s *server) isPublic(ctx context.Context, id string, op *operation) error {
	if !op.public || !domain.ValidID(id) {
		return errNoKey()
	}
	var err error
	if op.scope == domain.ScopeQuery {
		_, err = s.Agents.PublicAgent(ctx, id)
	} else {
		_, err = s.Datastores.PublicDatastore(ctx, id)
	}
	if domain.CodeOf(err) == domain.CodeNotFound {
		return errNoKey()
	}
	return err
}

// mayCall reports whether the key's scopes cover the operation. To read includes to query; which agent a key with the
// scope query may query is for the handler to check.
func mayCall(key domain.APIKey, op *operation) bool {
	return key.Can(op.scope) || op.scope == domain.ScopeQuery && key.Can(domain.ScopeRead)
}

// errForbidden is why a valid key is not enough. The interface answers 403 to that and to a missing key alike; OpenAI's
// clients and those of the Model Context Protocol tell the two apart.
var errForbidden = errors.New("the key is valid, and may not")

func forbidden(format string, args ...any) error {
	return &domain.Error{Code: domain.CodeUnauthorized, Message: fmt.Sprintf(format, args...), Err: errForbidden}
}

func errNoKey() error {
	return domain.Errorf(domain.CodeUnauthorized, "no API key; send the header Authorization: Bearer <key>")
}

// bearer takes the token out of an Authorization header, "" when it carries none. The scheme's name may be in any case
// (RFC 9110, section 11.1); another scheme is an error.
func bearer(header string) (string, error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(header), " ")
	if scheme != "" && !strings.EqualFold(scheme, "Bearer") {
		return "", domain.Errorf(domain.CodeUnauthorized, "the header Authorization is not of the form Bearer <key>")
	}
	token = strings.TrimSpace(token)
	if len(token) > 1 && (token[0] == '"' || token[0] == '\'') {
		return "", domain.Errorf(domain.CodeUnauthorized, "the API key in the header Authorization is written in quotes (%c): send it without them", token[0])
	}
	return token, nil
}
