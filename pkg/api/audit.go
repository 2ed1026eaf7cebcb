package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/domain"
)

// audit writes down what keys were used for: everything deleted, everything about keys and limits, that keys are used, and
// that requests are refused for theirs. It holds ids alone.
type audit struct {
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

func newAudit(log *slog.Logger, now func() time.Time) *audit {
	return &audit{log: log, now: now, used: map[string]time.Time{}, refused: map[string]*keyRefusals{}}
}

// Names of actions that are no operations.
const (
	actionUse     = "key.use"
	actionRefused = "key.refused"
)

// use tells that a key is used.
func (a *audit) use(ctx context.Context, who caller) {
	address, now := hostOf(who.remote), a.now()
	name := who.key.ID + " " + address
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
		a.tell(ctx, actionUse, who, address)
	}
}

// refuse tells that a request was refused for its key, or for having none. Whose key it is is known where it only may not do
// what was asked for.
func (a *audit) refuse(ctx context.Context, who caller) {
	address, now := hostOf(who.remote), a.now()
	name := who.key.ID + " " + address
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
		a.tell(ctx, actionRefused, who, address, slog.Int("count", count))
	}
}

// serve tells of a request that was served, if it matters later.
func (a *audit) serve(c *gin.Context) {
	op := operationOf(c)
	if op == nil || !op.audited || c.Writer.Status() == http.StatusUnauthorized || c.Writer.Status() == http.StatusForbidden {
		return
	}
	ctx, who := callerOf(c.Request.Context())
	resource := c.GetString(madeKey)
	if resource == "" {
		resource = c.Param("id")
	}
	if !domain.ValidID(resource) { // anything may stand in a path
		resource = ""
	}
	a.tell(ctx, op.id, who, hostOf(c.Request.RemoteAddr), slog.String("resource", resource), slog.Int("status", c.Writer.Status()))
}

func (a *audit) tell(ctx context.Context, action string, who caller, address string, more ...any) {
	fields := append([]any{
		slog.String("action", action), slog.String("workspace", who.workspace()), slog.String("key", who.key.ID),
		slog.String("address", address), slog.String("request", requestID(ctx)),
	}, more...)
	a.log.LogAttrs(ctx, slog.LevelInfo, "audit", slog.Group("audit", fields...))
}

// madeKey is under which a request's context carries the id of what was made.
const madeKey = "sluice.made"

// made notes what a request has made, for the audit.
func made(ctx context.Context, id string) {
	if c, ok := ctx.(*gin.Context); ok {
		c.Set(madeKey, id)
	}
}

// isAudited reports whether an operation matters later: it takes something away, or changes what keys may do.
func isAudited(method, path string) bool {
	return method == http.MethodDelete ||
		method != http.MethodGet && (strings.HasPrefix(path, "/keys") || strings.HasPrefix(path, "/usage/limits"))
}

// isRefusal reports whether an error is about the caller's key.
func isRefusal(err error) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Code == domain.CodeUnauthorized
}
