package control

import (
	"context"
	"log/slog"
	"time"
)

// Expiring is the part of the catalog whose content has an end.
type Expiring interface {
	// Expire removes the next content whose time is over, and reports whether there is more.
	Expire(ctx context.Context) (more bool, err error)
}

// Expirer removes files, uploads and the content of vector stores when their time is over, and finishes deletions of
// files that were interrupted.
type Expirer struct {
	Content Expiring
	Log     *slog.Logger
}

// expiryPoll is the polling interval. Content must be gone within a minute of its time.
const expiryPoll = 5 * time.Second

// Run removes expired content until ctx is done.
func (e *Expirer) Run(ctx context.Context) {
	runLoop(ctx, e.Log, nil, expiryPoll, roundBound, e.Content.Expire)
}
