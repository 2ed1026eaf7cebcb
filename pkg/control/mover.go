package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Moves is the part of the catalog that moves datastores.
type Moves interface {
	// Moving returns the datastores with an unfinished move.
	Moving(ctx context.Context) ([]domain.Datastore, error)
	// IssueMovesWithin adds up to `limit` of the move's jobs to the outbox, for content that has none yet, and returns
	// how many it added. It adds none while the documents of unfinished jobs have at least `chunks` chunks in total.
	IssueMovesWithin(ctx context.Context, datastoreID, moveID string, limit int, chunks int64) (int, error)
	MoveProgress(ctx context.Context, datastoreID string) (domain.MoveProgress, error)
	// FinishMove switches searches to the new place if all content is there, and reports whether it switched.
	FinishMove(ctx context.Context, datastoreID, moveID string) (bool, error)
}

// Mover moves datastores to another engine or embedding model. It rebuilds the active content in the new place and
// switches searches over once everything is there. A move's state is in the catalog, so it survives restarts and
// continues in other processes.
type Mover struct {
	Catalog Moves
	Log     *slog.Logger
	Now     func() time.Time
	Every   time.Duration // polling interval; 0 means 1 s

	// Background reports whether a move is background work, which may use only idle CPUs and queues only a few jobs at
	// a time; see backgroundChunks. If Background is nil, no move is.
	Background func(from, to domain.Place) bool

	loggedFailures map[string]string // maps each move's id to the failures this process last logged for it
}

const (
	// Maximum number of jobs issued in a single transaction.
	moveBatch = 200
	// A background move adds no jobs while the documents of its unfinished jobs have at least this many chunks in
	// total. A model running in this process embeds about 50 to 100 chunks per second and CPU.
	backgroundChunks = 500
)

// Run performs moves until ctx is done.
func (m *Mover) Run(ctx context.Context) {
	interval := cmp.Or(m.Every, time.Second)
	runLoop(ctx, m.Log, nil, interval, roundBound, m.round)
}

func (m *Mover) round(ctx context.Context) (more bool, err error) {
	stores, err := m.Catalog.Moving(ctx)
	if err != nil {
		return false, fmt.Errorf("listing datastores that are being moved: %w", err)
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
		m.loggedFailures = nil
	}
	return more && len(faults) == 0, errors.Join(faults...)
}

func (m *Mover) step(ctx context.Context, d domain.Datastore) (more bool, err error) {
	chunks := int64(math.MaxInt64)
	if m.Background != nil && m.Background(d.Serving(), d.Move.To) {
		chunks = backgroundChunks
	}
	issued, err := m.Catalog.IssueMovesWithin(ctx, d.ID, d.Move.ID, moveBatch, chunks)
	if err != nil {
		return false, fmt.Errorf("creating jobs: %w", err)
	}
	if issued > 0 {
		return issued == moveBatch, nil
	}
	progress, err := m.Catalog.MoveProgress(ctx, d.ID)
	if err != nil {
		return false, fmt.Errorf("reading the progress: %w", err)
	}
	if progress.Done < progress.Total {
		m.logFailures(ctx, d, progress)
		return false, nil
	}
	switched, err := m.Catalog.FinishMove(ctx, d.ID, d.Move.ID)
	if err != nil {
		return false, fmt.Errorf("switching to the new engine and model: %w", err)
	}
	if switched {
		m.Log.InfoContext(ctx, "datastore has moved", "datastore", d.ID, "from", d.Serving().String(), "to", d.Move.To.String(),
			"datasources", progress.Total, "after", m.Now().Sub(d.Move.StartedAt).Round(time.Millisecond))
	}
	return false, nil
}

// logFailures logs how many failed datasources block a move, if their number or the cause has changed.
func (m *Mover) logFailures(ctx context.Context, d domain.Datastore, p domain.MoveProgress) {
	now := ""
	if p.Failed > 0 {
		now = fmt.Sprintf("%d: %s", p.Failed, p.Cause)
	}
	if m.loggedFailures[d.Move.ID] == now {
		return
	}
	if m.loggedFailures == nil {
		m.loggedFailures = map[string]string{}
	}
	m.loggedFailures[d.Move.ID] = now
	if p.Failed > 0 {
		m.Log.WarnContext(ctx, "failed datasources block a move: resync or delete them, or cancel the move", "datastore", d.ID, "to", d.Move.To.String(),
			"failed", p.Failed, "of", p.Total, "cause", p.Cause)
	}
}
