// Package instrument measures the parts of a process that know nothing of it: it wraps them so that their work is timed, counted by outcome and
// made spans of the trace that it belongs to. Only package app imports it, and it imports the packages whose parts it wraps; package telemetry
// itself imports none of them.
package instrument

import (
	"context"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/telemetry"
)

// The stages that are timed.
const (
	stageFetch    = "fetch"    // a page, or the list of a site's pages
	stageRead     = "read"     // finding an original
	stageExtract  = "extract"  // text out of it
	stageChunk    = "chunk"    // cutting it
	stageEmbed    = "embed"    // of passages
	stageIndex    = "index"    // writing rows
	stageApply    = "apply"    // storing what events mean
	stageRetrieve = "retrieve" // of a query, with its embedding and reranking
	stageAnswer   = "answer"   // of a question, with its retrieval
)

var allStages = []string{stageFetch, stageRead, stageExtract, stageChunk, stageEmbed, stageIndex, stageApply, stageRetrieve, stageAnswer}

// What tokens were for.
const (
	tokensEmbedded   = "embedded"
	tokensPrompt     = "prompt"
	tokensCompletion = "completion"
)

// Stages times the parts of the work of this process, counts their failures by cause, and makes them spans of the trace
// that they belong to. The parts themselves know nothing of it.
type Stages struct {
	took   *prometheus.HistogramVec
	failed *prometheus.CounterVec
	tokens *prometheus.CounterVec
}

// NewStages returns the stages of a process.
func NewStages(r prometheus.Registerer) *Stages {
	s := &Stages{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_stage_duration_seconds", Help: "How long the stages of ingestion and of queries took in this process, failures among them.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"stage"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_stage_errors_total", Help: "Stages that failed in this process, by cause.",
		}, []string{"stage", "cause"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_tokens_total", Help: "Tokens of models, by what they were for: embedded, prompt, completion. Those embedded are estimated.",
		}, []string{"kind"}),
	}
	r.MustRegister(s.took, s.failed, s.tokens)
	// A counter that appears with its first failure has never risen, for those who watch it.
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

// begin begins a stage; end is to be called with its error.
func (s *Stages) begin(ctx context.Context, stage string, attributes ...telemetry.Attribute) (inner context.Context, end func(error)) {
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

// The parts of ingestion, timed.

// Originals times the finding of originals.
func (s *Stages) Originals(next ingest.Originals) ingest.Originals { return timedOriginals{next, s} }

type timedOriginals struct {
	ingest.Originals
	stages *Stages
}

func (t timedOriginals) Take(ctx context.Context, key string) (body io.ReadCloser, err error) {
	ctx, end := t.stages.begin(ctx, stageRead)
	defer func() { end(err) }()
	return t.Originals.Take(ctx, key)
}

// Extractor times extraction.
func (s *Stages) Extractor(next ingest.Extractor) ingest.Extractor { return timedExtractor{next, s} }

type timedExtractor struct {
	ingest.Extractor
	stages *Stages
}

func (t timedExtractor) Extract(ctx context.Context, req extract.Request) (doc *domain.Document, err error) {
	ctx, end := t.stages.begin(ctx, stageExtract)
	defer func() { end(err) }()
	return t.Extractor.Extract(ctx, req)
}

// Chunkers times chunking.
func (s *Stages) Chunkers(next ingest.Chunkers) ingest.Chunkers { return timedChunkers{next, s} }

type timedChunkers struct {
	ingest.Chunkers
	stages *Stages
}

func (t timedChunkers) Chunker(sizes domain.Chunking) ingest.Chunker {
	return timedChunker{t.Chunkers.Chunker(sizes), t.stages}
}

type timedChunker struct {
	ingest.Chunker
	stages *Stages
}

func (t timedChunker) Chunks(doc *domain.Document) (chunks []domain.Chunk, err error) {
	_, end := t.stages.begin(context.Background(), stageChunk)
	defer func() { end(err) }()
	return t.Chunker.Chunks(doc)
}

// Embedders times the embedding of passages.
func (s *Stages) Embedders(next ingest.Embedders) ingest.Embedders { return timedEmbedders{next, s} }

type timedEmbedders struct {
	ingest.Embedders
	stages *Stages
}

func (t timedEmbedders) Embedder(model string) (embed.Embedder, error) {
	e, err := t.Embedders.Embedder(model)
	if err != nil {
		return nil, err
	}
	return timedEmbedder{e, t.stages}, nil
}

type timedEmbedder struct {
	embed.Embedder
	stages *Stages
}

func (t timedEmbedder) Embed(ctx context.Context, texts []string, purpose embed.Purpose) (vectors [][]float32, err error) {
	ctx, end := t.stages.begin(ctx, stageEmbed, telemetry.Number("sluice.texts", len(texts)), telemetry.Text("sluice.model", t.Model().ID))
	defer func() { end(err) }()
	return t.Embedder.Embed(ctx, texts, purpose)
}

// Indexes times the writing of rows.
func (s *Stages) Indexes(next ingest.Indexes) ingest.Indexes { return timedIndexes{next, s} }

type timedIndexes struct {
	ingest.Indexes
	stages *Stages
}

func (t timedIndexes) Index(engine domain.Engine) (ingest.Index, error) {
	i, err := t.Indexes.Index(engine)
	if err != nil {
		return nil, err
	}
	return timedIndex{i, engine, t.stages}, nil
}

type timedIndex struct {
	ingest.Index
	engine domain.Engine
	stages *Stages
}

func (t timedIndex) Write(ctx context.Context, space index.Space, rows []index.Row) (err error) {
	ctx, end := t.stages.begin(ctx, stageIndex, telemetry.Number("sluice.rows", len(rows)), telemetry.Text("sluice.engine", string(t.engine)))
	defer func() { end(err) }()
	return t.Index.Write(ctx, space, rows)
}

// Events counts the tokens that workers report.
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

// The parts of crawling, timed.

// Web times fetches.
func (s *Stages) Web(next ingest.Web) ingest.Web { return timedWeb{next, s} }

type timedWeb struct {
	ingest.Web
	stages *Stages
}

func (t timedWeb) Fetch(ctx context.Context, req crawl.PageRequest) (page crawl.Page, err error) {
	ctx, end := t.stages.begin(ctx, stageFetch)
	defer func() { end(err) }()
	return t.Web.Fetch(ctx, req)
}

func (t timedWeb) Discover(ctx context.Context, spec domain.CrawlSpec, emit func([]domain.Link) error) (d crawl.Discovery, err error) {
	ctx, end := t.stages.begin(ctx, stageFetch)
	defer func() { end(err) }()
	return t.Web.Discover(ctx, spec, emit)
}

// The parts of queries, timed.

// Retriever times queries.
func (s *Stages) Retriever(next *retrieve.Retriever) TimedRetriever { return TimedRetriever{next, s} }

// TimedRetriever is a retrieve.Retriever whose queries are timed.
type TimedRetriever struct {
	next   *retrieve.Retriever
	stages *Stages
}

// Retrieve is retrieve.Retriever's.
func (t TimedRetriever) Retrieve(ctx context.Context, r retrieve.Request) (found retrieve.Result, err error) {
	ctx, end := t.stages.begin(ctx, stageRetrieve, telemetry.Number("sluice.datastores", len(r.Datastores)), telemetry.Number("sluice.top_k", r.TopK))
	defer func() { end(err) }()
	return t.next.Retrieve(ctx, r)
}

// Answerer times answers and counts their tokens.
func (s *Stages) Answerer(next *answer.Answerer) TimedAnswerer { return TimedAnswerer{next, s} }

// TimedAnswerer is an answer.Answerer whose answers are timed.
type TimedAnswerer struct {
	next   *answer.Answerer
	stages *Stages
}

// Answer is answer.Answerer's.
func (t TimedAnswerer) Answer(ctx context.Context, r answer.Request, emit func(string) error) (a answer.Answer, err error) {
	ctx, end := t.stages.begin(ctx, stageAnswer, telemetry.Text("sluice.agent", r.Agent.ID))
	defer func() {
		t.stages.tokens.WithLabelValues(tokensPrompt).Add(float64(a.PromptTokens))
		t.stages.tokens.WithLabelValues(tokensCompletion).Add(float64(a.CompletionTokens))
		t.stages.tokens.WithLabelValues(tokensEmbedded).Add(float64(a.EmbedTokens))
		end(err)
	}()
	return t.next.Answer(ctx, r, emit)
}
