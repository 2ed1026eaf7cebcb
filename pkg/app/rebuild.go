package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
)

// rebuild records, for readiness checks, whether the embedded index is being rebuilt. Meanwhile the service runs, but
// its results are incomplete.
type rebuild struct {
	mu        sync.Mutex
	alarmedAt time.Time // time of the last alarm; zero if there was none or the rebuild is complete
	missing   bool      // whether the index was missing, not just damaged
	counted   bool      // whether an audit begun after the alarm has counted the missing content
}

func (r *rebuild) recordDamage(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alarmedAt, r.missing, r.counted = at, false, false
}

// begin records that the index is missing: the data directory is new, the index was deleted, or the directory was
// restored from a backup, which never contains an index.
func (r *rebuild) begin(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alarmedAt, r.missing, r.counted = at, true, false
}

// auditEnded records the end of an audit that started at `began`.
func (r *rebuild) auditEnded(began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted = r.counted || !began.Before(r.alarmedAt)
}

// status describes the missing content, or returns "" if there is none. `waiting` counts the documents still to be
// indexed again.
func (r *rebuild) status(ctx context.Context, waiting func(context.Context) (catalog.Waiting, error)) string {
	r.mu.Lock()
	raised, absent, looked := r.alarmedAt, r.missing, r.counted
	r.mu.Unlock()
	if raised.IsZero() {
		return ""
	}
	why := "the index was damaged or incomplete"
	if absent {
		why = "there was no index, which is normal after a restore"
	}
	w, err := waiting(ctx)
	switch {
	case err != nil: // the catalog's own health check reports this
		return why + "; the number of missing documents is unknown"
	case !w.Any:
		return ""
	case !looked:
		return why + "; checking which documents are missing"
	case w.Queued+w.InFlight > 0:
		return fmt.Sprintf("%s; it is being rebuilt: %d documents are queued, %d are being processed", why, w.Queued, w.InFlight)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alarmedAt.Equal(raised) {
		r.alarmedAt = time.Time{}
	}
	return ""
}
