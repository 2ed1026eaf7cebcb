package embedded

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/analysis"
)

// analyzers are lent to batches that are being analysed, no more than there are processors: more would only take turns, each
// with an analyzer of its own that has yet to learn the words.
type analyzers chan *analysis.Analyzer // nil is one that has learnt nothing

func newAnalyzers(n int) analyzers {
	free := make(analyzers, n)
	for range n {
		free <- nil
	}
	return free
}

// borrow waits for an analyzer, which must be given back by giveBack.
func (free analyzers) borrow(ctx context.Context) (*analysis.Analyzer, error) {
	select {
	case a := <-free:
		if a == nil {
			a = new(analysis.Analyzer)
		}
		return a, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to analyse rows: %w", ctx.Err())
	}
}

func (free analyzers) giveBack(a *analysis.Analyzer) { free <- a }

// forget has all analyzers that nobody uses forget their words, which take a few megabytes.
func (free analyzers) forget() {
	for range cap(free) {
		select {
		case <-free:
			free <- nil
		default:
		}
	}
}
