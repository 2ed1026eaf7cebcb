// Package sleep waits until a duration has passed or a context is done. It imports no other package in this module.
package sleep

import (
	"context"
	"time"
)

// For waits for d. If ctx is done first, it returns ctx.Err().
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
