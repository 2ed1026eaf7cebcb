package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/api/problem"
)

// Audit logs deletions, changes to keys and limits, uses of keys, and rejected requests. Entries name keys and
// resources by id and contain no content.
type Audit struct {
	log *slog.Logger
	now func() time.Time

	mu          sync.Mutex
	lastUse     map[string]*entry // keyed by key id and address, like the other map
	lastRefusal map[string]*entry
}

// entry counts the requests made with one key from one address since the last log entry.
type entry struct {
	recordedAt time.Time
	count      int // requests since recordedAt
}

const (
	useInterval     = time.Hour   // minimum time between entries per key and address, so that requests cannot fill the disk
	refusalInterval = time.Minute // the same for rejected requests
	maxAudited      = 10_000      // maximum size of each map; a full map is cleared, so some entries are logged early
)

// NewAudit returns an Audit that writes to log.
func NewAudit(log *slog.Logger, now func() time.Time) *Audit {
	return &Audit{log: log, now: now, lastUse: map[string]*entry{}, lastRefusal: map[string]*entry{}}
}

// Actions that are not API operations.
const (
	actionUse     = "key.use"
	actionRefused = "key.refused"
)

// RecordUse logs a key's use, unless it has recently logged a use of this key from this address.
func (a *Audit) RecordUse(ctx context.Context, caller Caller) {
	if a.count(a.lastUse, caller, useInterval) > 0 {
		a.Record(ctx, actionUse, caller, Host(caller.Remote))
	}
}

// RecordRefusal logs a request rejected because its key is missing or invalid, or lacks a scope. caller.Key is set only
// if the key exists.
func (a *Audit) RecordRefusal(ctx context.Context, caller Caller) {
	if n := a.count(a.lastRefusal, caller, refusalInterval); n > 0 {
		a.Record(ctx, actionRefused, caller, Host(caller.Remote), slog.Int("count", n))
	}
}

// count counts requests per pair of key and address. It returns 0 if the last log entry for the caller's key and
// address is less than `every` ago. Otherwise it returns the number of requests since that entry, including this one,
// and the calling method must log that number.
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

// Record logs one of the caller's actions. `address` is the caller's address without the port, and `more` holds extra
// log attributes.
func (a *Audit) Record(ctx context.Context, action string, caller Caller, address string, more ...any) {
	fields := append([]any{
		slog.String("action", action), slog.String("workspace", caller.Workspace()), slog.String("key", caller.Key.ID),
		slog.String("address", address), slog.String("request", problem.RequestID(ctx)),
	}, more...)
	a.log.LogAttrs(ctx, slog.LevelInfo, "audit", slog.Group("audit", fields...))
}
