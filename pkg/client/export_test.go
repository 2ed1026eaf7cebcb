package client

import (
	"context"
	"time"
)

// WithWait has a test say how the client waits.
func WithWait(f func(context.Context, time.Duration) error) Option {
	return func(s *sender) { s.wait = f }
}

// KeepMethod says whether a redirect is followed.
var KeepMethod = keepMethod
