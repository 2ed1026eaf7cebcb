package retrieve

import (
	"context"
	"errors"
)

// MaxReranked is how many of the first stage's candidates a reranker is asked about.
const MaxReranked = 50

// Reranker is the second stage: a model that reads query and passage together.
type Reranker interface {
	// Rerank puts all of the passages in order, best first. Scores are 0 to 1 and do not rise.
	Rerank(ctx context.Context, query string, passages []string) ([]Reranked, error)
	// Model names it.
	Model() string
}

// Reranked is one passage of a reranker's order.
type Reranked struct {
	Index int // of the passage
	Score float64
}

var errOrder = errors.New("the reranker's order is not one of the passages that it was given")
