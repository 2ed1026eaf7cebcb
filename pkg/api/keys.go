package api

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// KeyStore stores API keys by their secret's hash.
type KeyStore interface {
	WorkspaceName(ctx context.Context, id string) (string, error)
	CreateKey(ctx context.Context, k domain.APIKey) (domain.APIKey, error)
	Keys(ctx context.Context, ws string) ([]domain.APIKey, error)
	RevokeKey(ctx context.Context, ws, id string) (domain.APIKey, error)
}

// ListKeys implements StrictServerInterface.
func (s *server) ListKeys(ctx context.Context, _ ListKeysRequestObject) (ListKeysResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	keys, err := s.Keys.Keys(ctx, caller.Workspace())
	return ListKeys200JSONResponse{Data: lists.Map(keys, renderKey)}, err
}

// GetCurrentKey implements StrictServerInterface.
func (s *server) GetCurrentKey(ctx context.Context, _ GetCurrentKeyRequestObject) (GetCurrentKeyResponseObject, error) {
	_, caller := access.CallerOf(ctx)
	return GetCurrentKey200JSONResponse(renderKey(caller.Key)), nil
}

// GetMe implements StrictServerInterface.
func (s *server) GetMe(ctx context.Context, _ GetMeRequestObject) (GetMeResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	name, err := s.Keys.WorkspaceName(ctx, caller.Workspace())
	return GetMe200JSONResponse{Id: caller.Workspace(), Name: name, Key: renderKey(caller.Key)}, err
}

// CreateKey implements StrictServerInterface.
func (s *server) CreateKey(ctx context.Context, r CreateKeyRequestObject) (CreateKeyResponseObject, error) {
	request := ctx
	ctx, caller := access.CallerOf(ctx)
	if err := checkMayManageKeys(caller); err != nil {
		return nil, err
	}
	secret := s.NewKey()
	key := domain.APIKey{
		ID: idempotency.ID(ctx, s.NewID, "key"), WorkspaceID: caller.Workspace(), Name: *trimmed(&r.Body.Name), Hash: domain.HashKey(secret),
		Hint: secret[len(secret)-4:], Scopes: []domain.Scope{domain.ScopeWrite}, AgentID: orZero(r.Body.AgentId),
		ExpiresAt: r.Body.ExpiresAt, Limits: keyLimits(r.Body.Limits),
	}
	if r.Body.Scopes != nil {
		key.Scopes = lists.Map(*r.Body.Scopes, func(v Scope) domain.Scope { return domain.Scope(v) })
	}
	if err := s.checkKey(ctx, key); err != nil {
		return nil, err
	}
	if err := s.replaceUnseenKey(ctx, key); err != nil {
		return nil, err
	}
	key, err := s.Keys.CreateKey(ctx, key)
	if err != nil {
		return nil, err
	}
	setCreated(request, key.ID)
	k := renderKey(key)
	return CreateKey201JSONResponse{
		Id: k.Id, Name: k.Name, Hint: k.Hint, Scopes: k.Scopes, AgentId: k.AgentId, CreatedAt: k.CreatedAt,
		LastUsedAt: k.LastUsedAt, ExpiresAt: k.ExpiresAt, Limits: k.Limits, Key: secret,
	}, nil
}

// replaceUnseenKey revokes the key that an earlier run of the request created, because the client may not have received
// its secret, which can't be read again. The new key gets the same id.
func (s *server) replaceUnseenKey(ctx context.Context, key domain.APIKey) error {
	if !idempotency.IsRepeated(ctx) {
		return nil
	}
	_, err := s.Keys.RevokeKey(ctx, key.WorkspaceID, key.ID)
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	return nil
}

// checkKey rejects an expiry in the past and a nonexistent agent.
func (s *server) checkKey(ctx context.Context, key domain.APIKey) error {
	var faults []domain.FieldError
	if key.ExpiresAt != nil && !key.ExpiresAt.After(s.Now()) {
		faults = append(faults, domain.FieldError{Field: "expiresAt", Message: fmt.Sprintf("is %s, which is in the past; send a future time, or leave it out for no expiry", key.ExpiresAt.UTC().Format(time.RFC3339))})
	}
	if key.AgentID != "" {
		err := checkID("agent", key.AgentID)
		if err == nil {
			_, err = s.Agents.Agent(ctx, key.WorkspaceID, key.AgentID)
		}
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
			faults = append(faults, domain.FieldError{Field: "agentId", Message: fmt.Sprintf("is %s, which is not an agent in this workspace", jsonbody.Describe(key.AgentID))})
		case err != nil:
			return err
		}
	}
	return problem.Invalid(faults)
}

// RevokeKey implements StrictServerInterface.
func (s *server) RevokeKey(ctx context.Context, r RevokeKeyRequestObject) (RevokeKeyResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("key", r.Id); err != nil {
		return nil, err
	}
	if caller.Key.ID != r.Id {
		if err := checkMayManageKeys(caller); err != nil {
			return nil, err
		}
	}
	key, err := s.Keys.RevokeKey(ctx, caller.Workspace(), r.Id)
	return RevokeKey200JSONResponse(renderKey(key)), err
}

// GetLimits implements StrictServerInterface.
func (s *server) GetLimits(ctx context.Context, _ GetLimitsRequestObject) (GetLimitsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	limits, err := s.Accounts.Limits(ctx, domain.Account{WorkspaceID: caller.Workspace()})
	return GetLimits200JSONResponse(renderLimits(limits)), err
}

// SetLimits implements StrictServerInterface.
func (s *server) SetLimits(ctx context.Context, r SetLimitsRequestObject) (SetLimitsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkMayManageKeys(caller); err != nil {
		return nil, err
	}
	b := r.Body
	limits := domain.Limits{
		domain.MetricQueries: orZero(b.Queries), domain.MetricTokens: orZero(b.Tokens),
		domain.MetricStoredChunks: orZero(b.StoredChunks), domain.MetricStoredBytes: orZero(b.StoredBytes),
	}
	if err := s.Accounts.SetLimits(ctx, domain.Account{WorkspaceID: caller.Workspace()}, limits); err != nil {
		return nil, err
	}
	return SetLimits200JSONResponse(renderLimits(limits)), nil
}

// SetKeyLimits implements StrictServerInterface.
func (s *server) SetKeyLimits(ctx context.Context, r SetKeyLimitsRequestObject) (SetKeyLimitsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkMayManageKeys(caller); err != nil {
		return nil, err
	}
	if err := checkID("key", r.Id); err != nil {
		return nil, err
	}
	if err := s.Accounts.SetLimits(ctx, domain.Account{WorkspaceID: caller.Workspace(), KeyID: r.Id}, keyLimits(r.Body)); err != nil {
		return nil, err
	}
	keys, err := s.Keys.Keys(ctx, caller.Workspace())
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.ID == r.Id {
			return SetKeyLimits200JSONResponse(renderKey(k)), nil
		}
	}
	return nil, domain.NotFound("key", r.Id) // the key has just been revoked
}

// keyLimits converts the limits in a body. A nil body means no limits, so the result is nil.
func keyLimits(b *KeyLimitsUpdate) domain.Limits {
	if b == nil {
		return nil
	}
	return domain.Limits{
		domain.MetricQueries: orZero(b.Queries), domain.MetricTokens: orZero(b.Tokens), domain.LimitRequests: orZero(b.RequestsPerSecond),
	}
}

// checkMayManageKeys rejects a caller whose own key has limits, because it could remove them or revoke other keys.
func checkMayManageKeys(caller access.Caller) error {
	if caller.Key.Limits.Limited() {
		return domain.Errorf(domain.CodeUnauthorized, "the key %q has limits, so it is not allowed to set limits, create keys or revoke other keys; use a key without limits", caller.Key.Name)
	}
	return nil
}

func renderLimits(l domain.Limits) Limits {
	return Limits{
		Queries: optional(l[domain.MetricQueries]), Tokens: optional(l[domain.MetricTokens]),
		StoredChunks: optional(l[domain.MetricStoredChunks]), StoredBytes: optional(l[domain.MetricStoredBytes]),
	}
}

func renderKeyLimits(l domain.Limits) *KeyLimits {
	return &KeyLimits{
		Queries: optional(l[domain.MetricQueries]), Tokens: optional(l[domain.MetricTokens]), RequestsPerSecond: optional(l[domain.LimitRequests]),
	}
}
