package api

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// UsageMeter counts usage and enforces limits.
type UsageMeter interface {
	// Count adds to the account's usage for the current month.
	Count(ctx context.Context, a domain.Account, uses map[domain.Metric]int64) error
	// CountDeferred is like Count, but stores the counts later, in a batch. Use it only for metrics without a limit.
	CountDeferred(a domain.Account, uses map[domain.Metric]int64)
	// Admit counts one agent query, or returns domain.CodeUsageLimit if a limit has been reached. Concurrent calls
	// cannot exceed the limit either.
	Admit(ctx context.Context, a domain.Account) error
	// CheckStorage returns domain.CodeUsageLimit if the workspace has reached its storage limit. The store checks again
	// when it writes.
	CheckStorage(ctx context.Context, ws string) error
}

// AccountStore stores limits and returns usage.
type AccountStore interface {
	Usage(ctx context.Context, ws string, month time.Time) (map[domain.Metric]int64, error)
	// KeyUsage returns usage by key id. Usage without a key has the id "".
	KeyUsage(ctx context.Context, ws string, month time.Time) (map[string]map[domain.Metric]int64, error)
	Stored(ctx context.Context, ws string) (chunks, bytes int64, err error)
	// Limits returns the limits set for a workspace or a key.
	Limits(ctx context.Context, a domain.Account) (domain.Limits, error)
	// LimitsInForce returns the limits that apply to a workspace.
	LimitsInForce(ctx context.Context, ws string) (domain.Limits, error)
	SetLimits(ctx context.Context, a domain.Account, limits domain.Limits) error
}

const monthFormat = "2006-01"

// usageMetrics are the metrics reported for a month, in display order.
var usageMetrics = []domain.Metric{
	domain.MetricQueries, domain.MetricTokens, domain.MetricRetrievals, domain.MetricEmbedTokens, domain.MetricPromptTokens,
	domain.MetricCompletionTokens,
}

// GetUsage implements StrictServerInterface.
func (s *server) GetUsage(ctx context.Context, r GetUsageRequestObject) (GetUsageResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	month := s.Now().UTC()
	if r.Params.Month != nil {
		var err error
		if month, err = time.Parse(monthFormat, *r.Params.Month); err != nil {
			return nil, domain.Invalid("month", "is %q; it must be a month, such as 2026-05", *r.Params.Month)
		}
	}
	used, err := s.Accounts.Usage(ctx, caller.Workspace(), month)
	if err != nil {
		return nil, err
	}
	limits, err := s.Accounts.LimitsInForce(ctx, caller.Workspace())
	if err != nil {
		return nil, err
	}
	if used[domain.MetricStoredChunks], used[domain.MetricStoredBytes], err = s.Accounts.Stored(ctx, caller.Workspace()); err != nil {
		return nil, err
	}
	out := GetUsage200JSONResponse{
		Month: month.Format(monthFormat), Usage: renderUsage(append(slices.Clone(usageMetrics), domain.MetricStoredChunks, domain.MetricStoredBytes), used, limits),
	}
	if r.Params.By != nil {
		keys, err := s.keyUsage(ctx, caller.Workspace(), month)
		if err != nil {
			return nil, err
		}
		out.Keys = &keys
	}
	return out, nil
}

// keyUsage returns the month's usage per key. It lists all existing keys first, then usage under other ids.
func (s *server) keyUsage(ctx context.Context, ws string, month time.Time) ([]KeyUsage, error) {
	used, err := s.Accounts.KeyUsage(ctx, ws, month)
	if err != nil {
		return nil, err
	}
	keys, err := s.Keys.Keys(ctx, ws)
	if err != nil {
		return nil, err
	}
	out := make([]KeyUsage, 0, len(keys)+1)
	for _, k := range keys {
		out = append(out, KeyUsage{KeyId: &k.ID, Name: &k.Name, Usage: renderUsage(usageMetrics, used[k.ID], k.Limits)})
		delete(used, k.ID)
	}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(used))) {
		out = append(out, KeyUsage{KeyId: optional(id), Usage: renderUsage(usageMetrics, used[id], nil)})
	}
	return out, nil
}

func renderUsage(metrics []domain.Metric, used map[domain.Metric]int64, limits domain.Limits) []UsageCount {
	return lists.Map(metrics, func(m domain.Metric) UsageCount {
		return UsageCount{Metric: UsageCountMetric(m), Used: used[m], Limit: optional(limits[m])}
	})
}

// countSearch runs a search that isn't part of an answer and counts it if it succeeds. Counts are batched, because
// storing one takes longer than a search. That's fine because searches have no limit.
func (s *server) countSearch(a domain.Account, query string, search func() error) error {
	err := search()
	if err == nil {
		s.Usage.CountDeferred(a, map[domain.Metric]int64{domain.MetricRetrievals: 1, domain.MetricEmbedTokens: int64(chunk.Tokens(query))})
	}
	return err
}

// countDetached counts usage even if the client has disconnected. It only logs errors.
func (s *server) countDetached(ctx context.Context, a domain.Account, uses map[domain.Metric]int64) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	if err := s.Usage.Count(ctx, a, uses); err != nil {
		s.log.Error("counting usage failed", "request", problem.RequestID(ctx), "error", err)
	}
}
