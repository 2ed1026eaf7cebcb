package catalog

import (
	"context"
	"fmt"
	"slices"
)

// walk reads a whole table in the order of a key, a batch at a time, so that no transaction stays open while the caller
// works on what was read. The placeholders of its text are args, the key to go on after, and the size of a batch.
type walk[T any] struct {
	text  string
	args  []any
	after []any // a key before all others
	scan  func(scanner) (T, error)
	key   func(T) []any
	batch int // how many rows are read at a time; 0: walkBatch
}

// walkBatch is how many rows are read at a time, of those that are small.
const walkBatch = 1000

// run calls f with every row until f fails, and returns f's error.
func (w walk[T]) run(ctx context.Context, q querier, f func(T) error) error {
	batch := orElse(w.batch, walkBatch)
	for after := w.after; ; {
		items, err := collect(ctx, q, w.scan, w.text, slices.Concat(w.args, after, []any{batch})...)
		if err != nil {
			return fmt.Errorf("walking the catalog: %w", err)
		}
		for _, item := range items {
			if err := f(item); err != nil {
				return err
			}
		}
		if len(items) < batch {
			return nil
		}
		after = w.key(items[len(items)-1])
	}
}
