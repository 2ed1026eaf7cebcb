package db

import "context"

type fenceKey struct{}

// Fence runs at the end of a transaction, which is rolled back if the fence fails. It keeps a process that is presumed
// dead, but still running, from committing. For example, a fence can lock and check the process's lease, which then
// can't change before the commit.
type Fence func(ctx context.Context, t *Tx) error

// WithFence returns a context whose transactions run the fence. A nil fence removes the fence from ctx.
func WithFence(ctx context.Context, f Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, f)
}

// fenced returns a function that runs f and then the context's fence.
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
