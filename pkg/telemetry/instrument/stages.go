// Package instrument measures a process's components: it times their work, counts outcomes and creates spans. It wraps
// most components; a few call it through an interface such as ingest.Measure. Unlike the telemetry package, it may
// import the components' packages. Only the app package imports it.
package instrument

import (
	"context"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Timed stages, in addition to those of jobs.
const (
	stageApply    = "apply"    // storing the changes that events report
	stageRetrieve = "retrieve" // a query, including embedding and reranking
	stageAnswer   = "answer"   // a question, including retrieval
)

var allStages = []string{
	ingest.StageFetch, ingest.StageRead, ingest.StageExtract, ingest.StageChunk, ingest.StageEmbed, ingest.StageIndex, stageApply, stageRetrieve, stageAnswer,
}

// Values of the metric label that says what tokens were used for.
const (
	tokensEmbedded   = "embedded"
	tokensPrompt     = "prompt"
	tokensCompletion = "completion"
)

// Stages measures the stages of work in this process: it records how long they take, counts their failures by cause and
// traces them as spans.
type Stages struct {
	took   *prometheus.HistogramVec
	failed *prometheus.CounterVec
	tokens *prometheus.CounterVec
}

// NewStages registers the stage metrics and returns this process's Stages.
func NewStages(r prometheus.Registerer) *Stages {
	s := &Stages{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_stage_duration_seconds", Help: "Duration of the stages of ingestion and queries in this process, including failures.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"stage"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_stage_errors_total", Help: "Stages that failed in this process, by cause.",
		}, []string{"stage", "cause"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_tokens_total", Help: "Model tokens by use: embedded, prompt, completion. Embedded tokens are estimated.",
		}, []string{"kind"}),
	}
	r.MustRegister(s.took, s.failed, s.tokens)
	// Create the counters at zero. If a counter appeared with its first failure, a monitoring system would not see that
	// failure as an increase.
	for _, stage := range allStages {
		s.took.WithLabelValues(stage)
		s.failed.WithLabelValues(stage, telemetry.Cause(io.ErrUnexpectedEOF))
		s.failed.WithLabelValues(stage, telemetry.Cause(domain.Errorf(domain.CodeUnavailable, "")))
	}
	for _, kind := range []string{tokensEmbedded, tokensPrompt, tokensCompletion} {
		s.tokens.WithLabelValues(kind)
	}
	return s
}

// Begin starts a stage. The caller must call `end` with the stage's error, or nil. Begin is an ingest.Measure.
func (s *Stages) Begin(ctx context.Context, stage string, attributes ...telemetry.Attribute) (inner context.Context, end func(error)) {
	began := time.Now()
	inner, span := telemetry.Start(ctx, stage, attributes...)
	return inner, func(err error) {
		s.took.WithLabelValues(stage).Observe(time.Since(began).Seconds())
		if cause := telemetry.Cause(err); cause != "" {
			s.failed.WithLabelValues(stage, cause).Inc()
		}
		span.End(err)
	}
}

// Events wraps `next` to count the tokens reported by workers.
func (s *Stages) Events(next ingest.Events) ingest.Events { return countedEvents{next, s} }

type countedEvents struct {
	ingest.Events
	stages *Stages
}

func (c countedEvents) Emit(ctx context.Context, ev domain.Event) error {
	err := c.Events.Emit(ctx, ev)
	if err == nil {
		c.stages.tokens.WithLabelValues(tokensEmbedded).Add(float64(ev.EmbedTokens))
	}
	return err
}

// Retriever returns a retriever that times queries.
func (s *Stages) Retriever(next *retrieve.Retriever) TimedRetriever { return TimedRetriever{next, s} }

// TimedRetriever wraps a retrieve.Retriever and times its queries.
type TimedRetriever struct {
	next   *retrieve.Retriever
	stages *Stages
}

// Retrieve calls the wrapped retriever and times the query.
func (t TimedRetriever) Retrieve(ctx context.Context, r retrieve.Request) (found retrieve.Result, err error) {
	ctx, end := t.stages.Begin(ctx, stageRetrieve, telemetry.Number("sluice.datastores", len(r.Datastores)), telemetry.Number("sluice.top_k", r.TopK))
	defer func() { end(err) }()
	return t.next.Retrieve(ctx, r)
}

// Facets calls the wrapped retriever, timed like a query.
func (t TimedRetriever) Facets(ctx context.Context, r retrieve.FacetRequest) (found domain.Facets, err error) {
	ctx, end := t.stages.Begin(ctx, stageRetrieve, telemetry.Number("sluice.datastores", 1), telemetry.Number("sluice.facets", len(r.Keys)))
	defer func() { end(err) }()
	return t.next.Facets(ctx, r)
}

// Answerer wraps `next` to time its answers and count their tokens.
func (s *Stages) Answerer(next *answer.Answerer) TimedAnswerer { return TimedAnswerer{next, s} }

// TimedAnswerer wraps an answer.Answerer and times its answers.
type TimedAnswerer struct {
	next   *answer.Answerer
	stages *Stages
}

// Answer calls the wrapped answerer, times the answer and counts its tokens.
func (t TimedAnswerer) Answer(ctx context.Context, r answer.Request, emit func(string) error) (a answer.Answer, err error) {
	ctx, end := t.stages.Begin(ctx, stageAnswer, telemetry.Text("sluice.agent", r.Agent.ID))
	defer func() {
		t.stages.tokens.WithLabelValues(tokensPrompt).Add(float64(a.PromptTokens))
		t.stages.tokens.WithLabelValues(tokensCompletion).Add(float64(a.CompletionTokens))
		t.stages.tokens.WithLabelValues(tokensEmbedded).Add(float64(a.EmbedTokens))
		end(err)
	}()
	return t.next.Answer(ctx, r, emit)
}
