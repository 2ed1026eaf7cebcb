package control

import (
	"context"
	"log/slog"
	"time"
)

// Expiring is the part of the catalog that removes expired files, uploads and vector store content.
type Expiring interface {
	// Expire removes the next batch of expired content and reports whether any is left.
	Expire(ctx context.Context) (more bool, err error)
}

// Expirer removes expired files, uploads and vector store content. It also finishes interrupted file deletions.
type Expirer struct {
	Content Expiring
	Log     *slog.Logger
}

// Polling interval. Content must be gone within a minute of its expiry.
const expiryPoll = 5 * time.Second

// Run removes expired content until ctx is done.
func (e *Expirer) Run(ctx context.Context) {
	runLoop(ctx, e.Log, nil, expiryPoll, roundBound, e.Content.Expire)
}
