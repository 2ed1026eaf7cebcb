package retrieve

import (
	"context"
	"errors"
)

// MaxReranked is the maximum number of first-stage candidates that are reranked.
const MaxReranked = 50

// Reranker is the second stage of ranking: a model that reads query and passage together.
type Reranker interface {
	// Rerank returns all passages, best first. Scores are between 0 and 1 and never increase.
	Rerank(ctx context.Context, query string, passages []string) ([]Reranked, error)
	// Model returns the name of the model.
	Model() string
}

// Reranked is one passage in a reranker's order.
type Reranked struct {
	Index int // index of the passage
	Score float64
}

var errOrder = errors.New("the reranker's order does not contain each passage exactly once")
