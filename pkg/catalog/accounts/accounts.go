// Package accounts stores workspaces, their API keys, limits and usage, and the answers kept for idempotency keys. It
// imports db.
package accounts

import (
	"sync"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// Accounts is the store of workspaces and what belongs to them. All methods are safe for concurrent use.
type Accounts struct {
	db      *db.DB
	limits  domain.Limits
	touched sync.Map // key id → time.Time of the last use that was stored
	tally   tally
	soon    soon
}

// New returns the accounts of a database. The limits hold for every workspace, in addition to those that SetLimits has set for it.
func New(d *db.DB, limits domain.Limits) *Accounts {
	return &Accounts{db: d, limits: limits, soon: soon{turn: make(chan struct{}, 1)}}
}

// Close stores uses that are still in memory. Nothing is counted after it.
func (a *Accounts) Close() { a.endSoon() }
