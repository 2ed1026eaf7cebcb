package api

import (
	"context"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

const monthFormat = "2006-01"

// GetUsage implements StrictServerInterface.
func (s *server) GetUsage(ctx context.Context, r GetUsageRequestObject) (GetUsageResponseObject, error) {
	ctx, who := callerOf(ctx)
	month := s.Now().UTC()
	if r.Params.Month != nil {
		var err error
		if month, err = time.Parse(monthFormat, *r.Params.Month); err != nil {
			return nil, domain.Invalid("month", "is %q; it must have the form 2026-05", *r.Params.Month)
		}
	}
	used, err := s.Catalog.Usage(ctx, who.workspace(), month)
	if err != nil {
		return nil, err
	}
	out := GetUsage200JSONResponse{Month: month.Format(monthFormat)}
	for _, m := range []struct {
		metric domain.Metric
		limit  int64
	}{
		{domain.MetricQueries, s.opts.QuotaQueries}, {domain.MetricTokens, s.opts.QuotaTokens},
		{domain.MetricRetrievals, 0}, {domain.MetricEmbedTokens, 0},
	} {
		out.Usage = append(out.Usage, UsageCount{Metric: UsageCountMetric(m.metric), Used: used[m.metric], Limit: optional(m.limit)})
	}
	return out, nil
}
