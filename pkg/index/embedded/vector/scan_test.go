package vector

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestAPanicOfAScannerIsReturnedAsAnError(t *testing.T) {
	t.Parallel()
	const rows = 8 * ParallelRows
	err := parallel(t.Context(), rows, rows, func(part int) func(from, to int) error {
		if part > 0 {
			panic("out of range")
		}
		return func(int, int) error { return nil }
	})
	// There is no panic on a single-processor machine, or if the calling goroutine finishes before a helper starts.
	if err != nil && !strings.Contains(err.Error(), "out of range") {
		t.Error(err)
	}
	if err := Recovered(func() error { panic("no such row") })(); err == nil || !strings.Contains(err.Error(), "no such row") {
		t.Errorf("a panic became %v", err)
	}
	if err := Recovered(func() error { return context.Canceled })(); !errors.Is(err, context.Canceled) {
		t.Errorf("an error became %v", err)
	}
}
