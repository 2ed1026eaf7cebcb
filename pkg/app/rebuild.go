package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
)

// rebuild knows whether the embedded index is being built anew, for whoever asks whether the service is ready: it serves
// meanwhile, and does not find everything.
type rebuild struct {
	mu     sync.Mutex
	raised time.Time // when it was alarmed last; zero: never, or all has been read again since
	absent bool      // all that was found is that there was no index
	looked bool      // an audit that began after it has said what is missing
}

// alarm notes that damage was met.
func (r *rebuild) alarm(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raised, r.absent, r.looked = at, false, false
}

// begin notes that there was no index at all: in a directory that is new, or made of a backup, which has none, or whose index
// was removed.
func (r *rebuild) begin(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raised, r.absent, r.looked = at, true, false
}

// audited notes that an audit has ended that began at the time.
func (r *rebuild) audited(began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = r.looked || !began.Before(r.raised)
}

// note says what is missing, "" when nothing is. waiting counts what is still to be read again.
func (r *rebuild) note(ctx context.Context, waiting func(context.Context) (catalog.Waiting, error)) string {
	r.mu.Lock()
	raised, absent, looked := r.raised, r.absent, r.looked
	r.mu.Unlock()
	if raised.IsZero() {
		return ""
	}
	why := "the index was damaged, or files of it were gone"
	if absent {
		why = "there was no index, as after a restore"
	}
	w, err := waiting(ctx)
	switch {
	case err != nil: // the catalog's own check says so
		return why + "; how much of it is missing is not known"
	case !w.Any:
		return ""
	case !looked:
		return why + "; what is missing is being looked for"
	case w.Queued+w.InFlight > 0:
		return fmt.Sprintf("%s, and it is being built anew: %d documents wait to be read again, %d are being read", why, w.Queued, w.InFlight)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.raised.Equal(raised) {
		r.raised = time.Time{}
	}
	return ""
}
