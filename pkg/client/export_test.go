package client

import (
	"context"
	"time"
)

// WithWait replaces the function that waits between attempts.
func WithWait(f func(context.Context, time.Duration) error) Option {
	return func(s *sender) { s.wait = f }
}

// KeepMethod exports keepMethod for tests.
var KeepMethod = keepMethod
