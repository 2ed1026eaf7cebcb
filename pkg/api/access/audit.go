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
	used    map[string]time.Time    // when the use of a key from an address was last told
	refused map[string]*keyRefusals // by address, and by key where there is one
}

// keyRefusals are those of one address, without a key that there is or with one.
type keyRefusals struct {
	told  time.Time
	count int // since then
}

const (
	// tellUse is how often the use of a key from an address is told, tellRefusals that of refusals of an address: nobody
	// may fill a disk by asking.
	tellUse      = time.Hour
	tellRefusals = time.Minute
	// maxAudited bounds what is remembered of either; beyond it, all is forgotten, and told anew.
	maxAudited = 10_000
)

// NewAudit returns an audit that writes to the log.
func NewAudit(log *slog.Logger, now func() time.Time) *Audit {
	return &Audit{log: log, now: now, used: map[string]time.Time{}, refused: map[string]*keyRefusals{}}
}

// Names of actions that are no operations.
const (
	actionUse     = "key.use"
	actionRefused = "key.refused"
)

// Use tells that a key is used.
func (a *Audit) Use(ctx context.Context, who Caller) {
	address, now := Host(who.Remote), a.now()
	name := who.Key.ID + " " + address
	a.mu.Lock()
	last, known := a.used[name]
	due := !known || now.Sub(last) >= tellUse
	if due {
		if len(a.used) >= maxAudited {
			clear(a.used)
		}
		a.used[name] = now
	}
	a.mu.Unlock()
	if due {
		a.Tell(ctx, actionUse, who, address)
	}
}

// Refuse tells that a request was refused for its key, or for having none. Whose key it is is known where it only may not do
// what was asked for.
func (a *Audit) Refuse(ctx context.Context, who Caller) {
	address, now := Host(who.Remote), a.now()
	name := who.Key.ID + " " + address
	a.mu.Lock()
	r := a.refused[name]
	if r == nil {
		if len(a.refused) >= maxAudited {
			clear(a.refused)
		}
		r = &keyRefusals{told: now.Add(-tellRefusals)}
		a.refused[name] = r
	}
	r.count++
	due, count := now.Sub(r.told) >= tellRefusals, r.count
	if due {
		r.told, r.count = now, 0
	}
	a.mu.Unlock()
	if due {
		a.Tell(ctx, actionRefused, who, address, slog.Int("count", count))
	}
}

// Tell writes down an action of the caller, from the address.
func (a *Audit) Tell(ctx context.Context, action string, who Caller, address string, more ...any) {
	fields := append([]any{
		slog.String("action", action), slog.String("workspace", who.Workspace()), slog.String("key", who.Key.ID),
		slog.String("address", address), slog.String("request", problem.RequestID(ctx)),
	}, more...)
	a.log.LogAttrs(ctx, slog.LevelInfo, "audit", slog.Group("audit", fields...))
}
