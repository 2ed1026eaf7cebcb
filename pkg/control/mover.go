package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Moves is the catalog as it takes datastores from place to place.
type Moves interface {
	// Moving returns the datastores that are under way.
	Moving(ctx context.Context) ([]domain.Datastore, error)
	// IssueMoves puts up to limit jobs of the move into the outbox, for content that no job has been issued for yet, and
	// returns how many.
	IssueMoves(ctx context.Context, datastoreID, moveID string, limit int) (int, error)
	MoveProgress(ctx context.Context, datastoreID string) (domain.MoveProgress, error)
	// FinishMove has readers served from the new place if nothing is missing there, and reports whether it did.
	FinishMove(ctx context.Context, datastoreID, moveID string) (bool, error)
}

// Mover carries out moves: it has what readers see rebuilt in the new place, and when nothing is missing there, has them
// served from it. What it does follows from the catalog alone, so a restart, or another api process, goes on with it.
type Mover struct {
	Catalog Moves
	Log     *slog.Logger
	Now     func() time.Time
	Every   time.Duration // between looks; 0 means 1 s

	held map[string]string // move id → what was last said about its failures; of this process alone
}

// moveBatch bounds the jobs that one transaction issues.
const moveBatch = 200

// Run moves until ctx ends.
func (m *Mover) Run(ctx context.Context) {
	interval := m.Every
	if interval == 0 {
		interval = time.Second
	}
	every(ctx, m.Log, nil, interval, roundBound, m.round)
}

func (m *Mover) round(ctx context.Context) (more bool, err error) {
	stores, err := m.Catalog.Moving(ctx)
	if err != nil {
		return false, fmt.Errorf("looking for datastores that move: %w", err)
	}
	var faults []error
	for _, d := range stores {
		again, err := m.step(ctx, d)
		if err != nil {
			faults = append(faults, fmt.Errorf("moving datastore %s to %s: %w", d.ID, d.Move.To, err))
		}
		more = more || again
	}
	if len(stores) == 0 {
		m.held = nil
	}
	return more && len(faults) == 0, errors.Join(faults...)
}

func (m *Mover) step(ctx context.Context, d domain.Datastore) (more bool, err error) {
	issued, err := m.Catalog.IssueMoves(ctx, d.ID, d.Move.ID, moveBatch)
	if err != nil {
		return false, fmt.Errorf("issuing jobs: %w", err)
	}
	if issued > 0 {
		return issued == moveBatch, nil
	}
	progress, err := m.Catalog.MoveProgress(ctx, d.ID)
	if err != nil {
		return false, fmt.Errorf("counting what has arrived: %w", err)
	}
	if progress.Done < progress.Total {
		m.tell(ctx, d, progress)
		return false, nil
	}
	switched, err := m.Catalog.FinishMove(ctx, d.ID, d.Move.ID)
	if err != nil {
		return false, fmt.Errorf("switching: %w", err)
	}
	if switched {
		m.Log.InfoContext(ctx, "datastore has moved", "datastore", d.ID, "from", d.Serving().String(), "to", d.Move.To.String(),
			"datasources", progress.Total, "after", m.Now().Sub(d.Move.StartedAt).Round(time.Millisecond))
	}
	return false, nil
}

// tell says once, and again when it changes, what holds a move.
func (m *Mover) tell(ctx context.Context, d domain.Datastore, p domain.MoveProgress) {
	now := ""
	if p.Failed > 0 {
		now = fmt.Sprintf("%d: %s", p.Failed, p.Cause)
	}
	if m.held[d.Move.ID] == now {
		return
	}
	if m.held == nil {
		m.held = map[string]string{}
	}
	m.held[d.Move.ID] = now
	if p.Failed > 0 {
		m.Log.WarnContext(ctx, "datasources hold a move: resync or delete them, or cancel it", "datastore", d.ID, "to", d.Move.To.String(),
			"failed", p.Failed, "of", p.Total, "cause", p.Cause)
	}
}
