package accounts

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// TestUsesOfABatchFailSeparately batches uses for three accounts, one of which can't be stored.
func TestUsesOfABatchFailSeparately(t *testing.T) {
	t.Parallel()
	var y usageQueue
	wrong := errors.New("no such account")
	stored := make(map[string]int64)
	transactions := 0
	storing, proceed := make(chan struct{}), make(chan struct{})
	store := func(_ context.Context, sums []accountUses) error { // never called concurrently
		if transactions++; transactions == 1 {
			close(storing)
			<-proceed
		}
		if slices.ContainsFunc(sums, func(s accountUses) bool { return s.account.KeyID == "wrong" }) {
			return wrong
		}
		for _, s := range sums {
			stored[s.account.KeyID] += s.uses[domain.MetricRetrievals]
		}
		return nil
	}
	count := func(key string) error {
		return y.count(t.Context(), domain.Account{KeyID: key}, map[domain.Metric]int64{domain.MetricRetrievals: 1}, store)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := count("a"); err != nil {
			t.Error(err)
		}
	})
	<-storing
	for _, key := range []string{"a", "b", "wrong", "b"} {
		all.Go(func() {
			if err := count(key); errors.Is(err, wrong) != (key == "wrong") {
				t.Errorf("counting for %q: %v", key, err)
			}
		})
	}
	for joined := 0; joined < 3; {
		y.mu.Lock()
		if y.next != nil {
			joined = len(y.next.sums)
		}
		y.mu.Unlock()
	}
	close(proceed)
	all.Wait()
	if stored["a"] != 2 || stored["b"] != 2 || stored["wrong"] != 0 {
		t.Errorf("stored %v", stored)
	}
	if transactions > 6 {
		t.Errorf("%d transactions for five uses", transactions)
	}
}
