package api

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

// GetLimits implements StrictServerInterface.
func (s *server) GetLimits(ctx context.Context, _ GetLimitsRequestObject) (GetLimitsResponseObject, error) {
	ctx, who := callerOf(ctx)
	limits, err := s.Accounts.Limits(ctx, domain.Account{WorkspaceID: who.workspace()})
	if err != nil {
		return nil, err
	}
	return GetLimits200JSONResponse(renderLimits(limits)), nil
}

// SetLimits implements StrictServerInterface.
func (s *server) SetLimits(ctx context.Context, r SetLimitsRequestObject) (SetLimitsResponseObject, error) {
	ctx, who := callerOf(ctx)
	if err := mayLimit(who); err != nil {
		return nil, err
	}
	b := r.Body
	limits := domain.Limits{
		domain.MetricQueries: value(b.Queries), domain.MetricTokens: value(b.Tokens),
		domain.MetricStoredChunks: value(b.StoredChunks), domain.MetricStoredBytes: value(b.StoredBytes),
	}
	if err := s.Accounts.SetLimits(ctx, domain.Account{WorkspaceID: who.workspace()}, limits); err != nil {
		return nil, err
	}
	return SetLimits200JSONResponse(renderLimits(limits)), nil
}

// SetKeyLimits implements StrictServerInterface.
func (s *server) SetKeyLimits(ctx context.Context, r SetKeyLimitsRequestObject) (SetKeyLimitsResponseObject, error) {
	ctx, who := callerOf(ctx)
	if err := mayLimit(who); err != nil {
		return nil, err
	}
	if err := known("key", r.Id); err != nil {
		return nil, err
	}
	if err := s.Accounts.SetLimits(ctx, domain.Account{WorkspaceID: who.workspace(), KeyID: r.Id}, keyLimits(r.Body)); err != nil {
		return nil, err
	}
	keys, err := s.Keys.Keys(ctx, who.workspace())
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.ID == r.Id {
			return SetKeyLimits200JSONResponse(renderKey(k)), nil
		}
	}
	return nil, domain.NotFound("key", r.Id) // revoked this moment
}

// keyLimits are the limits that a body carries, none for nil.
func keyLimits(b *KeyLimitsUpdate) domain.Limits {
	if b == nil {
		return nil
	}
	return domain.Limits{
		domain.MetricQueries: value(b.Queries), domain.MetricTokens: value(b.Tokens), domain.LimitRequests: value(b.RequestsPerSecond),
	}
}

// mayLimit refuses a caller whose key is limited: it could free itself.
func mayLimit(who caller) error {
	if who.key.Limits.Limited() {
		return domain.Errorf(domain.CodeUnauthorized, "the key %q is limited, and so may neither set limits nor make keys", who.key.Name)
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
