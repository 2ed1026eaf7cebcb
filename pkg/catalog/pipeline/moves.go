package pipeline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// Direct makes `to` the place that the datastore is in or is moving to. It cancels any move to another place and,
// unless the datastore is already in `to`, starts a move there. A datastore without datasources switches immediately.
// The caller must hold the datastore's exclusive lock and store its row.
func Direct(ctx context.Context, t *db.Tx, d *domain.Datastore, to domain.Place) error {
	if d.Move != nil && d.Move.To == to || d.Move == nil && d.Serving() == to {
		return nil
	}
	mark, err := record.ReadMark(ctx, t)
	if err != nil {
		return err
	}
	if d.Move != nil {
		if err := cancelMove(ctx, t, d, mark); err != nil {
			return fmt.Errorf("cancelling the move to %s: %w", d.Move.To, err)
		}
		d.Move = nil
	}
	if d.Serving() == to {
		return nil
	}
	filled, err := db.Exists(ctx, t, `SELECT 1 FROM datasources WHERE datastore_id = ? LIMIT 1`, d.ID)
	switch {
	case err != nil:
		return fmt.Errorf("looking for datasources: %w", err)
	case !filled:
		// Deleted datasources' jobs may still write to the old place.
		if err := record.QueueSweep(ctx, t, placeSweep(*d, d.Serving(), mark)); err != nil {
			return err
		}
		d.Type, d.EmbeddingModel, d.Since = to.Engine, to.Model, mark
	default:
		// The new place may contain rows from an earlier move.
		if err := record.QueueSweep(ctx, t, placeSweep(*d, to, mark)); err != nil {
			return err
		}
		d.Move = &domain.Move{ID: domain.NewID(), To: to, Since: mark, StartedAt: d.UpdatedAt}
	}
	return nil
}

// placeSweep returns a sweep for the datastore's rows in a place, up to the generation `mark`.
func placeSweep(d domain.Datastore, p domain.Place, mark uint64) domain.Sweep {
	return domain.Sweep{WorkspaceID: d.WorkspaceID, DatastoreID: d.ID, Place: p, Below: mark + 1}
}

// cancelMove cancels the datastore's move and queues a sweep for the rows it has written.
func cancelMove(ctx context.Context, t *db.Tx, d *domain.Datastore, mark uint64) error {
	if err := t.ExtendTimeout(ctx); err != nil {
		return err
	}
	if err := endMoveJobs(ctx, t, d.ID); err != nil {
		return err
	}
	_, err := t.Exec(ctx, `UPDATE datasources SET target_generation = 0, target_chunks = 0, target_bytes = 0, target_fingerprint = '',
		target_inputs = '', move_id = '' WHERE datastore_id = ? AND (target_generation > 0 OR move_id <> '')`, d.ID)
	if err != nil {
		return fmt.Errorf("resetting the record of moved content: %w", err)
	}
	return record.QueueSweep(ctx, t, placeSweep(*d, d.Move.To, mark))
}

// endMoveJobs ends a datastore's move jobs that have failed or are still in the outbox and restores their datasources'
// previous status. If such a job is published in the meantime, it has no effect. A datasource whose job is already in
// the stream gets its status back when that job ends.
func endMoveJobs(ctx context.Context, t *db.Tx, datastoreID string) error {
	if _, err := t.Exec(ctx, `DELETE FROM outbox WHERE datasource_id IN
		(SELECT id FROM datasources WHERE datastore_id = ? AND place = 1 AND resume_status <> '')`, datastoreID); err != nil {
		return fmt.Errorf("taking move jobs from the outbox: %w", err)
	}
	now := t.Stamp()
	_, err := t.Exec(ctx, `UPDATE datasources SET status = resume_status, error = resume_error, resume_status = '', resume_error = '',
		progress = '', place = 0, job_id = CASE WHEN place = 1 THEN '' ELSE job_id END, updated_at = ?, touched_at = ?
		WHERE datastore_id = ? AND resume_status <> '' AND (place = 1 OR status IN ('synched', 'error'))`, now, now, datastoreID)
	if err != nil {
		return fmt.Errorf("ending move jobs: %w", err)
	}
	return nil
}

// Moving returns the datastores, in all workspaces, that are being moved.
func (c *Pipeline) Moving(ctx context.Context) ([]domain.Datastore, error) {
	stores, err := db.Collect(ctx, c.db.Read, record.ScanDatastore,
		`SELECT `+record.DatastoreColumns+` FROM datastores WHERE move_id <> '' AND deleted_at = 0 ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("looking for datastores that are being moved: %w", err)
	}
	return stores, nil
}

// SettledDatastores checks up to limit datastores in all workspaces, in id order, starting after the id `after`. It
// returns those that use the model, have content, and are not being moved. It omits a datastore if some of its content
// is waiting to be read or was added after since. next is the id to continue after, or "" after the last datastore.
func (c *Pipeline) SettledDatastores(ctx context.Context, model string, since time.Time, after string, limit int) (settled []domain.Datastore, next string, err error) {
	stores, err := db.Collect(ctx, c.db.Read, record.ScanDatastore, `SELECT `+record.DatastoreColumns+` FROM datastores
		WHERE id > ? AND deleted_at = 0 ORDER BY id LIMIT ?`, after, limit)
	if err != nil {
		return nil, "", fmt.Errorf("listing datastores: %w", err)
	}
	for _, d := range stores {
		if d.EmbeddingModel != model || d.Move != nil {
			continue
		}
		is, err := c.isSettled(ctx, d.ID, since)
		if err != nil {
			return nil, "", fmt.Errorf("looking for new content of datastore %s: %w", d.ID, err)
		}
		if is {
			settled = append(settled, d)
		}
	}
	if len(stores) == limit {
		next = stores[limit-1].ID
	}
	return settled, next, nil
}

// isSettled reports whether a datastore has content, none of which is waiting to be read or was added after since.
func (c *Pipeline) isSettled(ctx context.Context, datastoreID string, since time.Time) (bool, error) {
	const with = `SELECT 1 FROM datasources WHERE datastore_id = ? AND `
	if has, err := db.Exists(ctx, c.db.Read, with+`status = 'synched' LIMIT 1`, datastoreID); !has || err != nil {
		return false, err
	}
	if waiting, err := db.Exists(ctx, c.db.Read, with+`status IN ('unsynched', 'pending', 'running') LIMIT 1`, datastoreID); waiting || err != nil {
		return false, err
	}
	fresh, err := db.Exists(ctx, c.db.Read, with+`created_at > ? LIMIT 1`, datastoreID, db.Micros(since))
	return !fresh && err == nil, err
}

// notMoved selects datasources whose content is not yet in the new place. Keep its wording exactly as it is: otherwise,
// neither engine uses the partial index datasources_content.
const notMoved = `datastore_id = ? AND target_generation = 0 AND active_generation > 0`

// IssueMoves adds up to limit of the move's jobs to the outbox, behind all other work, and returns how many it added.
// It selects datasources with active content that is not yet in the new place, except those that already have a job
// from this move or are waiting for another job. It does nothing if the move is over.
func (c *Pipeline) IssueMoves(ctx context.Context, datastoreID, moveID string, limit int) (issued int, err error) {
	return c.IssueMovesWithin(ctx, datastoreID, moveID, limit, math.MaxInt64)
}

// IssueMovesWithin is like IssueMoves, but it adds nothing while the move's unfinished jobs cover at least `chunks`
// chunks. Otherwise, new content would wait behind a long queue of move jobs.
func (c *Pipeline) IssueMovesWithin(ctx context.Context, datastoreID, moveID string, limit int, chunks int64) (issued int, err error) {
	err = c.db.Update(ctx, "issuing jobs of a move", func(t *db.Tx) error {
		issued = 0
		store, err := record.ShareDatastore(ctx, t, datastoreID)
		if errors.Is(err, sql.ErrNoRows) || err == nil && (store.Move == nil || store.Move.ID != moveID) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the datastore: %w", err)
		}
		unfinished := int64(0)
		if chunks < math.MaxInt64 {
			if err := t.QueryRow(ctx, `SELECT COALESCE(SUM(CASE WHEN chunks > 1 THEN chunks ELSE 1 END), 0) FROM datasources
				WHERE `+notMoved+` AND move_id = ? AND status NOT IN ('synched', 'error')`, datastoreID, moveID).Scan(&unfinished); err != nil {
				return fmt.Errorf("counting the chunks of unfinished jobs: %w", err)
			}
		}
		// A move id in a row always belongs to the current move, because the end of a move clears it.
		due, err := db.Collect(ctx, t, record.Scan, `SELECT `+record.Columns+` FROM datasources WHERE `+notMoved+` AND move_id = ''
			AND place = 0 AND status IN ('synched', 'error') ORDER BY id LIMIT ?`+t.Lock, datastoreID, limit)
		if err != nil {
			return fmt.Errorf("looking for datasources to move: %w", err)
		}
		for _, r := range due {
			if unfinished >= chunks {
				break
			}
			unfinished += max(r.Chunks, 1)
			issued++
			r.Resume = &domain.Resume{Status: r.Status, Error: r.Error}
			r.MoveID = moveID
			r.UpdatedAt = db.FromMicros(c.db.Stamp())
			job := r.Accept(domain.Job{ID: domain.NewID(), Kind: domain.JobIngest, Move: moveID}, store)
			if err := r.Store(ctx, t, db.Micros(r.UpdatedAt)); err != nil {
				return err
			}
			if err := record.Enqueue(ctx, t, job, record.PriorityReplay); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return issued, nil
}

// MoveProgress returns the progress of the datastore's move, or all zeros if it has none.
func (c *Pipeline) MoveProgress(ctx context.Context, datastoreID string) (domain.MoveProgress, error) {
	var p domain.MoveProgress
	d, err := record.DatastoreByID(ctx, c.db.Read, datastoreID)
	if err != nil || d.Move == nil {
		return p, db.MapNotFound(err, "datastore", datastoreID)
	}
	err = c.db.Read.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN target_generation > 0 THEN 1 ELSE 0 END), 0)
		FROM datasources WHERE datastore_id = ? AND active_generation > 0`, datastoreID).Scan(&p.Total, &p.Done)
	if err != nil {
		return p, fmt.Errorf("counting moved datasources: %w", err)
	}
	err = c.db.Read.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(error), '') FROM datasources
		WHERE `+notMoved+` AND move_id = ? AND status = 'error'`, datastoreID, d.Move.ID).Scan(&p.Failed, &p.Cause)
	if err != nil {
		return p, fmt.Errorf("counting datasources that could not be moved: %w", err)
	}
	return p, nil
}

// FinishMove finishes the move if all active content is in the new place. It switches all readers to the new place and
// queues a sweep for the old one. It reports whether it switched the readers. It does nothing if the move is over.
func (c *Pipeline) FinishMove(ctx context.Context, datastoreID, moveID string) (switched bool, err error) {
	err = c.db.Update(ctx, "finishing a move", func(t *db.Tx) error {
		switched = false
		if err := record.LockDatastore(ctx, t, datastoreID); err != nil {
			return err
		}
		d, err := record.ScanDatastore(t.QueryRow(ctx, // lock the row, because the datastore's lock does not prevent renaming
			`SELECT `+record.DatastoreColumns+` FROM datastores WHERE id = ? AND deleted_at = 0`+t.Lock, datastoreID))
		if errors.Is(err, sql.ErrNoRows) || err == nil && (d.Move == nil || d.Move.ID != moveID) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the datastore: %w", err)
		}
		missing, err := db.Exists(ctx, t, `SELECT 1 FROM datasources WHERE `+notMoved+` LIMIT 1`, datastoreID)
		if err != nil || missing {
			return err
		}
		switched = true
		return switchPlace(ctx, t, d)
	})
	return switched && err == nil, err
}

func switchPlace(ctx context.Context, t *db.Tx, d domain.Datastore) error {
	if err := t.ExtendTimeout(ctx); err != nil {
		return err
	}
	mark, err := record.ReadMark(ctx, t)
	if err != nil {
		return err
	}
	if err := endMoveJobs(ctx, t, d.ID); err != nil {
		return err
	}
	if _, err := t.Exec(ctx, `UPDATE datasources SET active_generation = target_generation, chunks = target_chunks,
		text_bytes = target_bytes, fingerprint = target_fingerprint, inputs = target_inputs, target_generation = 0, target_chunks = 0, target_bytes = 0,
		target_fingerprint = '', target_inputs = '', move_id = '' WHERE datastore_id = ? AND target_generation > 0`, d.ID); err != nil {
		return fmt.Errorf("activating moved content: %w", err)
	}
	old := d.Serving()
	d.Type, d.EmbeddingModel, d.Since = d.Move.To.Engine, d.Move.To.Model, d.Move.Since
	d.Move, d.UpdatedAt = nil, db.FromMicros(t.Stamp())
	if err := record.StoreDatastore(ctx, t, d); err != nil {
		return err
	}
	return record.QueueSweep(ctx, t, placeSweep(d, old, mark))
}
