package db

import "context"

// fenceKey is the context key of a Fence.
type fenceKey struct{}

// Fence is run in a transaction after its last statement. If it fails, the transaction is rolled back. It protects
// against a process that was considered dead and continues: what the fence locks and checks, such as a lease, stays
// valid until the commit.
type Fence func(ctx context.Context, t *Tx) error

// WithFence returns a context whose transactions run the fence. A nil fence removes ctx's fence.
func WithFence(ctx context.Context, f Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, f)
}

// fenced returns f followed by the context's fence.
func fenced(ctx context.Context, f func(*Tx) error) func(*Tx) error {
	fence, _ := ctx.Value(fenceKey{}).(Fence)
	if fence == nil {
		return f
	}
	return func(t *Tx) error {
		if err := f(t); err != nil {
			return err
		}
		return fence(ctx, t)
	}
}
