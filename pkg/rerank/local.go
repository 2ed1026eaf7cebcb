package rerank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/lists"
)

// Scorer is a cross-encoder that runs in this process.
type Scorer interface {
	// Score returns logits by passage index. It scores the passages in the given order. If `until` is not zero, Score
	// stops at that time and returns the logits so far.
	Score(ctx context.Context, query string, passages []string, until time.Time) (map[int]float32, error)
}

// Local ranks passages with a model in this process. It is safe for concurrent use.
type Local struct {
	name    string
	scorer  Scorer
	breaker breaker
}

// NewLocal returns a Local that uses the `scorer` model. Users see `name`. The circuit breaker uses `now` as its clock.
func NewLocal(name string, scorer Scorer, now func() time.Time) *Local {
	return &Local{name: name, scorer: scorer, breaker: breaker{now: now, server: "the model"}}
}

// Model returns the model's name.
func (l *Local) Model() string { return l.name }

// Close does nothing.
func (l *Local) Close() {}

// Rerank returns the passages scored before `until`, or all passages if `until` is zero, best first. Passages with
// equal scores keep their order. A score is the logistic function of the model's output.
//
// If no passage was scored in time, because too many queries are being reranked, Rerank returns *Error. If ctx is done
// first, it returns ctx's error. After two consecutive failures, calls fail at once with ErrPaused for 5 seconds. The
// pause gets longer, up to a minute, as long as no passage is scored in time.
func (l *Local) Rerank(ctx context.Context, query string, passages []string, until time.Time) ([]Result, error) {
	if len(passages) == 0 {
		return nil, nil
	}
	if len(passages) > MaxPassages {
		return nil, fmt.Errorf("reranking %d passages: the limit is %d", len(passages), MaxPassages)
	}
	visit, err := l.breaker.admit()
	if err != nil {
		return nil, err
	}
	texts := lists.Map(passages, func(p string) string { return truncate(p, MaxPassageBytes) })
	logits, err := l.scorer.Score(ctx, truncate(query, MaxQueryBytes), texts, until)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("reranking: %w", ctx.Err())
	case err != nil:
		err = &Error{Message: err.Error(), Err: err}
	case len(logits) == 0:
		err = &Error{Message: "no passage was scored in time", retryable: true}
	}
	l.breaker.record(visit, err, ctx.Err() != nil)
	if err != nil {
		return nil, err
	}
	out := make([]Result, 0, len(logits))
	for i, v := range logits {
		out = append(out, Result{Index: i, Score: 1 / (1 + math.Exp(-float64(v)))})
	}
	slices.SortFunc(out, func(a, b Result) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Index, b.Index))
	})
	return out, nil
}
