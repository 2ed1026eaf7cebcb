// Package accounts stores workspaces, their API keys, limits and usage, and responses kept for idempotency keys. It
// imports db.
package accounts

import (
	"sync"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// Accounts stores workspaces, keys, limits and usage. All methods are safe for concurrent use.
type Accounts struct {
	db       *db.DB
	limits   domain.Limits
	lastUses sync.Map // key id → time.Time of the last stored use
	keys     keyCache
	queue    usageQueue
	deferred deferredUsage
}

// New returns an account store. The limits apply to every workspace, on top of its own limits from SetLimits.
func New(d *db.DB, limits domain.Limits) *Accounts {
	return &Accounts{db: d, limits: limits, deferred: deferredUsage{lock: make(chan struct{}, 1)}}
}

// Close stores the usage buffered by CountDeferred. After that, CountDeferred has no effect.
func (a *Accounts) Close() { a.closeDeferred() }
