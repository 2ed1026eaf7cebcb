package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/api/problem"
)

// Audit writes down what keys were used for: everything deleted, everything about keys and limits, that keys are used,
// and that requests are refused for theirs. It holds ids alone.
type Audit struct {
	log *slog.Logger
	now func() time.Time

	mu          sync.Mutex
	lastUse     map[string]*entry // by key and address
	lastRefusal map[string]*entry
}

// entry remembers when something was last written down.
type entry struct {
	recordedAt time.Time
	count      int // since then
}

const (
	useInterval     = time.Hour   // between two entries about the use of a key from an address, so that requests cannot fill a disk
	refusalInterval = time.Minute // between two entries about refusals of an address
	maxAudited      = 10_000      // entries of either that are remembered; beyond it all are forgotten, and written again
)

// NewAudit returns an audit that writes to the log.
func NewAudit(log *slog.Logger, now func() time.Time) *Audit {
	return &Audit{log: log, now: now, lastUse: map[string]*entry{}, lastRefusal: map[string]*entry{}}
}

// Names of actions that are no operations.
const (
	actionUse     = "key.use"
	actionRefused = "key.refused"
)

// RecordUse tells that a key is used.
func (a *Audit) RecordUse(ctx context.Context, caller Caller) {
	if a.count(a.lastUse, caller, useInterval) > 0 {
		a.Record(ctx, actionUse, caller, Host(caller.Remote))
	}
}

// RecordRefusal tells that a request was refused for its key, or for having none. The caller's key is known if it
// exists and only lacks a scope.
func (a *Audit) RecordRefusal(ctx context.Context, caller Caller) {
	if n := a.count(a.lastRefusal, caller, refusalInterval); n > 0 {
		a.Record(ctx, actionRefused, caller, Host(caller.Remote), slog.Int("count", n))
	}
}

// count returns the number of the caller's requests since the last entry if another one is due, otherwise 0.
func (a *Audit) count(entries map[string]*entry, caller Caller, every time.Duration) int {
	name, now := caller.Key.ID+" "+Host(caller.Remote), a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	e := entries[name]
	if e == nil {
		if len(entries) >= maxAudited {
			clear(entries)
		}
		e = &entry{recordedAt: now.Add(-every)}
		entries[name] = e
	}
	e.count++
	if now.Sub(e.recordedAt) < every {
		return 0
	}
	n := e.count
	e.recordedAt, e.count = now, 0
	return n
}

// Record writes down an action of the caller, from the address.
func (a *Audit) Record(ctx context.Context, action string, caller Caller, address string, more ...any) {
	fields := append([]any{
		slog.String("action", action), slog.String("workspace", caller.Workspace()), slog.String("key", caller.Key.ID),
		slog.String("address", address), slog.String("request", problem.RequestID(ctx)),
	}, more...)
	a.log.LogAttrs(ctx, slog.LevelInfo, "audit", slog.Group("audit", fields...))
}
