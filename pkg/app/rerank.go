package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/rerank"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/telemetry"
)

// reranker is retrieval's view of the server at RERANK_URL, and counts what it does.
type reranker struct {
	*rerank.Client
	log      *slog.Logger
	requests *prometheus.CounterVec
	duration prometheus.Histogram
}

// openReranker returns nil where none is configured. It asks nothing: a reranker that is away only costs its order.
func openReranker(c config.Config, metrics prometheus.Registerer, log *slog.Logger) (*reranker, error) {
	if c.RerankURL == "" {
		return nil, nil
	}
	client, err := rerank.New(rerank.Config{URL: c.RerankURL, APIKey: c.RerankKey, Model: c.RerankModel})
	if err != nil {
		return nil, fmt.Errorf("reading RERANK_URL: %w", err)
	}
	r := &reranker{
		Client: client, log: log,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_rerank_requests_total", Help: "Queries that the reranker was asked to put in order, by outcome: ok; failed, or skipped after failures, and the first stage's order stood.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sluice_rerank_duration_seconds", Help: "How long the reranker took for a query, repeated requests included.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
	}
	metrics.MustRegister(r.requests, r.duration)
	return r, nil
}

// Rerank implements retrieve.Reranker.
func (r *reranker) Rerank(ctx context.Context, query string, passages []string) ([]retrieve.Reranked, error) {
	began := time.Now()
	within, span := telemetry.Start(ctx, spanRerank, telemetry.Number("sluice.passages", len(passages)))
	order, err := r.Client.Rerank(within, query, passages)
	span.End(err)
	switch {
	case errors.Is(err, rerank.ErrPaused):
		r.requests.WithLabelValues("skipped").Inc()
		return nil, err // why was logged when it failed
	case ctx.Err() != nil:
		return nil, err // whoever asked has left, which says nothing of the reranker
	}
	r.duration.Observe(time.Since(began).Seconds())
	if err != nil {
		r.requests.WithLabelValues("failed").Inc()
		r.log.WarnContext(ctx, "the reranker gave no order", "model", r.Model(), "error", err)
		return nil, err
	}
	r.requests.WithLabelValues("ok").Inc()
	out := make([]retrieve.Reranked, len(order))
	for i, o := range order {
		out[i] = retrieve.Reranked(o)
	}
	return out, nil
}
