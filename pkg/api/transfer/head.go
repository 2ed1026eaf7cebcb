package transfer

import "context"

type headKey struct{}

// WithHead marks the context of a HEAD request that is served as a GET request.
func WithHead(ctx context.Context) context.Context { return context.WithValue(ctx, headKey{}, true) }

// IsHead reports whether a request served as GET was really a HEAD request, whose response has no body.
func IsHead(ctx context.Context) bool {
	head, _ := ctx.Value(headKey{}).(bool)
	return head
}
