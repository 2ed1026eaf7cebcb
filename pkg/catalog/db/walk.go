package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Walk reads a whole table in batches, in key order, without keeping a transaction open. Text is the statement for one
// batch. Its arguments are Args, the last row's key, and the batch size.
type Walk[T any] struct {
	Text  string
	Args  []any
	After []any // a key that precedes all others
	Scan  func(Scanner) (T, error)
	Key   func(T) []any
	Batch int // rows per batch; 0 means walkBatch
}

// Default number of rows per batch, suitable for small rows.
const walkBatch = 1000

// Run calls f for every row. It stops at the first error from f and returns it.
func (w Walk[T]) Run(ctx context.Context, q Querier, f func(T) error) error {
	batch := cmp.Or(w.Batch, walkBatch)
	for after := w.After; ; {
		items, err := Collect(ctx, q, w.Scan, w.Text, slices.Concat(w.Args, after, []any{batch})...)
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
		after = w.Key(items[len(items)-1])
	}
}
