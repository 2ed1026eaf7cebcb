package instrument

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/rerank"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Model is a reranking model in this process or on a server: a rerank.Local or a rerank.Client.
type Model interface {
	Model() string
	Rerank(ctx context.Context, query string, passages []string, until time.Time) ([]rerank.Result, error)
	Close()
}

// Reranker implements retrieve.Reranker. It counts requests by outcome and measures their duration.
type Reranker struct {
	model    Model
	log      *slog.Logger
	requests *prometheus.CounterVec
	duration prometheus.Histogram
}

// NewReranker returns a reranker and registers its metrics.
func NewReranker(model Model, metrics prometheus.Registerer, log *slog.Logger) *Reranker {
	r := &Reranker{
		model: model, log: log,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_rerank_requests_total", Help: "Queries sent to the reranker, by outcome: ok, partial (time ran out), failed, or skipped (after failures). Results of failed and skipped queries keep their original order.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sluice_rerank_duration_seconds", Help: "Time that the reranker took for a query, including retries.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
	}
	metrics.MustRegister(r.requests, r.duration)
	return r
}

// Model implements retrieve.Reranker.
func (r *Reranker) Model() string { return r.model.Model() }

// Close releases the model's resources.
func (r *Reranker) Close() { r.model.Close() }

// Rerank implements retrieve.Reranker.
func (r *Reranker) Rerank(ctx context.Context, query string, passages []string, until time.Time) ([]retrieve.Reranked, error) {
	began := time.Now()
	within, span := telemetry.Start(ctx, spanRerank, telemetry.Number("sluice.passages", len(passages)))
	order, err := r.model.Rerank(within, query, passages, until)
	span.End(err)
	switch {
	case errors.Is(err, rerank.ErrPaused):
		r.requests.WithLabelValues("skipped").Inc()
		return nil, err // the failure was logged when it occurred
	case ctx.Err() != nil:
		return nil, err // the caller has disconnected, so the reranker has not failed
	}
	r.duration.Observe(time.Since(began).Seconds())
	if err != nil {
		r.requests.WithLabelValues("failed").Inc()
		r.log.WarnContext(ctx, "reranking failed", "model", r.Model(), "error", err)
		return nil, err
	}
	outcome := "ok"
	if len(order) < len(passages) {
		outcome = "partial"
	}
	r.requests.WithLabelValues(outcome).Inc()
	return lists.Map(order, func(o rerank.Result) retrieve.Reranked { return retrieve.Reranked(o) }), nil
}
