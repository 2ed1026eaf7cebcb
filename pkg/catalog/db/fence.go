package db

import "context"

// fenceKey is the context key of a Fence.
type fenceKey struct{}

// Fence is run in a transaction after its last statement. If the fence fails, the transaction is rolled back. A fence
// protects against a process that was considered dead but is still running: it locks and checks, for example, that
// process's lease, which then cannot change until the commit.
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
