package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/api/problem"
)

// Audit writes down what keys were used for: everything deleted, everything about keys and limits, that keys are used, and
// that requests are refused for theirs. It holds ids alone.
type Audit struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	used    map[string]*entry // by key and address
	refused map[string]*entry
}

// entry remembers when something was last written down.
type entry struct {
	told  time.Time
	count int // since then
}

const (
	tellUse      = time.Hour   // between two entries about the use of a key from an address, so that requests cannot fill a disk
	tellRefusals = time.Minute // between two entries about refusals of an address
	maxAudited   = 10_000      // entries of either that are remembered; beyond it all are forgotten, and written again
)

// NewAudit returns an audit that writes to the log.
func NewAudit(log *slog.Logger, now func() time.Time) *Audit {
	return &Audit{log: log, now: now, used: map[string]*entry{}, refused: map[string]*entry{}}
}

// Names of actions that are no operations.
const (
	actionUse     = "key.use"
	actionRefused = "key.refused"
)

// Use tells that a key is used.
func (a *Audit) Use(ctx context.Context, who Caller) {
	if a.count(a.used, who, tellUse) > 0 {
		a.Tell(ctx, actionUse, who, Host(who.Remote))
	}
}

// Refuse tells that a request was refused for its key, or for having none. The caller's key is known if it exists and only lacks
// a scope.
func (a *Audit) Refuse(ctx context.Context, who Caller) {
	if n := a.count(a.refused, who, tellRefusals); n > 0 {
		a.Tell(ctx, actionRefused, who, Host(who.Remote), slog.Int("count", n))
	}
}

// count returns the number of the caller's requests since the last entry if another one is due, otherwise 0.
func (a *Audit) count(entries map[string]*entry, who Caller, every time.Duration) int {
	name, now := who.Key.ID+" "+Host(who.Remote), a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	e := entries[name]
	if e == nil {
		if len(entries) >= maxAudited {
			clear(entries)
		}
		e = &entry{told: now.Add(-every)}
		entries[name] = e
	}
	e.count++
	if now.Sub(e.told) < every {
		return 0
	}
	n := e.count
	e.told, e.count = now, 0
	return n
}

// Tell writes down an action of the caller, from the address.
func (a *Audit) Tell(ctx context.Context, action string, who Caller, address string, more ...any) {
	fields := append([]any{
		slog.String("action", action), slog.String("workspace", who.Workspace()), slog.String("key", who.Key.ID),
		slog.String("address", address), slog.String("request", problem.RequestID(ctx)),
	}, more...)
	a.log.LogAttrs(ctx, slog.LevelInfo, "audit", slog.Group("audit", fields...))
}
