package embedded

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

// TestConcurrentSearchesAreBounded holds all permits. Searches that give up waiting must fail without taking one.
func TestConcurrentSearchesAreBounded(t *testing.T) {
	t.Parallel()
	dir, _, want := damaged(t, 5)
	x := mustOpen(t, dir, Options{})
	if err := x.permits.Acquire(t.Context(), maxSearches()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	faults := make([]error, 2*maxSearches())
	for i := range faults {
		waiting.Go(func() { _, faults[i] = x.Search(ctx, crashSpace, index.Query{Text: "common", Limit: 10}) })
	}
	cancel()
	waiting.Wait()
	for _, err := range faults {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a search whose turn has not come ended with %v, want %v", err, context.Canceled)
		}
	}
	x.permits.Release(maxSearches())
	got, err := answers(t, x)
	if diff := cmp.Diff(want, got, reported); diff != "" || err != nil {
		t.Errorf("afterwards: %v (-want +got):\n%s", err, diff)
	}
	if !x.permits.TryAcquire(maxSearches()) {
		t.Error("a turn was not given back")
	}
}
