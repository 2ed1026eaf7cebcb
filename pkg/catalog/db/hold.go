package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/sleep"
)

// holds contains the resources this process has acquired with Hold.
type holds struct {
	mu  sync.Mutex
	all map[*hold]bool
}

// hold is this process's exclusive use of a resource. If the connection used to acquire it breaks, the hold is lost,
// and the process isn't ready until it has acquired it again.
type hold struct {
	name    string
	session *session
	mu      sync.Mutex
	fault   error // nil while it is held
}

var errHeld = errors.New("another process holds it")

// Hold acquires a resource that only one of the processes sharing the database may use, such as the embedded index. The
// process keeps it until it calls release or closes the database. Hold fails with domain.CodeConflict if another
// process has the resource. If the connection breaks, the hold is lost and reacquired, and Ready returns an error until
// then. On SQLite, Hold does nothing, because the data directory is locked anyway.
func (d *DB) Hold(ctx context.Context, name string) (release func(), err error) {
	if d.session == nil {
		return func() {}, nil
	}
	h := &hold{name: name, fault: errors.New("not taken yet")}
	first := make(chan error, 1)
	key := d.key("hold", name)
	h.session = d.session(sessionOptions{
		log: d.Log,
		begin: func(ctx context.Context, conn *pgx.Conn) error {
			err := takeHold(ctx, conn, key)
			if was := h.set(err); err != nil && was == nil {
				d.Log.Error("this process has lost its locks", "hold", name, "error", err)
			}
			select {
			case first <- err:
			default: // Hold has already received the first result
			}
			return err
		},
		lost: func(err error) { _ = h.set(fmt.Errorf("the connection broke: %w", err)) },
	})
	select {
	case err = <-first:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		h.session.stop()
		if errors.Is(err, errHeld) {
			return nil, &domain.Error{Code: domain.CodeConflict, Message: fmt.Sprintf("another process that uses this database holds the lock %q; stop that process first", name), Err: err}
		}
		return nil, fmt.Errorf("taking %q: %w", name, err)
	}
	d.holds.add(h)
	return func() { d.holds.release(h) }, nil
}

// When a process exits, a busy server takes a moment to notice and release the process's locks. So keep trying to
// acquire the hold for a while.
const (
	holdTimeout = 2 * time.Second
	holdPause   = 50 * time.Millisecond
)

func takeHold(ctx context.Context, conn *pgx.Conn, key int64) error {
	for began := time.Now(); ; {
		var taken bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, key).Scan(&taken); err != nil {
			return err
		}
		if taken {
			return nil
		}
		if time.Since(began) >= holdTimeout {
			return errHeld
		}
		if err := sleep.For(ctx, holdPause); err != nil {
			return err
		}
	}
}

// set records why the hold is lost, or nil if it isn't lost. It returns the previously recorded value.
func (h *hold) set(fault error) (was error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was, h.fault = h.fault, fault
	return was
}

func (s *holds) add(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*hold]bool{}
	}
	s.all[h] = true
}

func (s *holds) release(h *hold) {
	s.mu.Lock()
	delete(s.all, h)
	s.mu.Unlock()
	h.session.stop()
}

func (s *holds) releaseAll() {
	s.mu.Lock()
	all := s.all
	s.all = nil
	s.mu.Unlock()
	for h := range all {
		h.session.stop()
	}
}

func (s *holds) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.all {
		h.mu.Lock()
		fault := h.fault
		h.mu.Unlock()
		if fault != nil {
			return fmt.Errorf("the lock %q is no longer held: %w", h.name, fault)
		}
	}
	return nil
}
