package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/sleep"
)

// rebuild tells readiness checks whether an index is being rebuilt. Meanwhile the service runs, but its results are
// incomplete.
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

// begin records that the index is missing. That happens if the data directory or the engine is new, the index was
// deleted, or the directory was restored from a backup, which never contains an index.
func (r *rebuild) begin(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alarmedAt, r.missing, r.counted = at, true, false
}

// isUnderway reports whether the index was found to be missing or damaged and isn't known to be complete again.
func (r *rebuild) isUnderway() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.alarmedAt.IsZero()
}

// auditEnded records the end of an audit that started at `began`.
func (r *rebuild) auditEnded(began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted = r.counted || !began.Before(r.alarmedAt)
}

// status describes the missing content, or returns "" if none is missing. `waiting` counts the documents still to be
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

// Interval for checking whether a remote engine has lost its data, and the pause after a failed check.
const (
	emptyPoll  = time.Minute
	emptyRetry = 5 * time.Second
)

// watchRemote checks at startup and periodically whether an engine has lost all its data although the catalog has
// searchable content, for example after a restore with new engines. If so, an audit starts immediately, and /readyz
// describes the progress.
func (s *Service) watchRemote(ctx context.Context, r remoteEngine) {
	for ctx.Err() == nil {
		pause := emptyPoll
		if lost, err := s.hasLost(ctx, r); err != nil { // the readiness checks report which dependency is down
			pause = emptyRetry
		} else if lost && !r.rebuild.isUnderway() {
			s.log.Warn("the index is empty, so queries find nothing until it has been rebuilt from the originals", "engine", r.name)
			r.rebuild.begin(s.now())
			notify(s.indexAlarm)
		}
		_ = sleep.For(ctx, pause)
	}
}

// hasLost reports whether an engine is empty although it should hold searchable content.
func (s *Service) hasLost(ctx context.Context, r remoteEngine) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, emptyPoll)
	defer cancel()
	if empty, err := r.Empty(ctx); err != nil || !empty {
		return false, err
	}
	if expected, err := s.expectsChunks(ctx, r.name); err != nil || !expected {
		return false, err
	}
	// Check again, because the first document may have become searchable in the meantime, after its rows were written.
	return r.Empty(ctx)
}

// expectsChunks reports whether any workspace's searches should find chunks in the engine.
func (s *Service) expectsChunks(ctx context.Context, engine domain.Engine) (bool, error) {
	var stores []string
	err := s.catalog.EachDatastore(ctx, func(d domain.Datastore) error {
		if d.Serving().Engine == engine {
			stores = append(stores, d.ID)
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("listing datastores: %w", err)
	}
	found := errors.New("found")
	for _, id := range stores {
		err := s.catalog.EachActive(ctx, id, func(a catalog.ActiveState) error {
			if a.Generation > 0 && a.Chunks > 0 {
				return found
			}
			return nil
		})
		if errors.Is(err, found) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("listing active generations: %w", err)
		}
	}
	return false, nil
}
