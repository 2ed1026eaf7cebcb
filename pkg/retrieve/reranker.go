package retrieve

import (
	"context"
	"errors"
	"time"
)

// MaxReranked is the maximum number of first-stage candidates to rerank.
const MaxReranked = 50

// Reranker is the second stage of ranking: a model that reads query and passage together.
type Reranker interface {
	// Rerank returns the passages, best first. Scores are between 0 and 1 and never increase. If `until` is not zero,
	// Rerank stops at that time and returns the passages scored so far, or fails if there are none. It should score the
	// passages in the given order.
	Rerank(ctx context.Context, query string, passages []string, until time.Time) ([]Reranked, error)
	// Model returns the model's name.
	Model() string
}

// Reranked is a passage as ranked by a reranker.
type Reranked struct {
	Index int // index of the passage
	Score float64
}

var errOrder = errors.New("the reranker's order is empty, repeats a passage, or contains one that was not sent")
