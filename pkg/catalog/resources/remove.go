package resources

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// DeleteDatastore deletes the datastore and everything in it, takes it from its agents, and returns it. From the commit
// on nobody sees any of it, and a sweep of the whole is queued. The datasources of a large one are removed afterwards,
// by RemoveDeleted.
func (c *Resources) DeleteDatastore(ctx context.Context, ws, id string) (domain.Datastore, error) {
	var d domain.Datastore
	err := c.db.Update(ctx, "deleting a datastore", func(t *db.Tx) (err error) {
		if err := record.LockDatastore(ctx, t, id); err != nil {
			return err
		}
		if d, err = record.DatastoreOf(ctx, t, ws, id, t.Lock); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `UPDATE datastores SET deleted_at = ?, move_id = '' WHERE id = ?`, c.db.Stamp(), id); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `DELETE FROM agent_datastores WHERE datastore_id = ?`, id); err != nil {
			return err
		}
		whole := domain.Sweep{WorkspaceID: ws, DatastoreID: id, Below: domain.AllGenerations, Jobs: true}
		if err := record.QueueSweep(ctx, t, whole); err != nil {
			return err
		}
		_, err = removeBatch(ctx, t, ws, id)
		return err
	})
	return d, err
}

// RemoveDeleted removes the next batch of what was deleted with its datastore, and of what was deleted with its site, and
// reports whether there is more. Its originals are swept. Call it from time to time, and after SweepWake.
func (c *Resources) RemoveDeleted(ctx context.Context) (more bool, err error) {
	pages, err := c.sites.RemoveDoomed(ctx)
	if err != nil {
		return false, err
	}
	rest, err := c.removeInStore(ctx)
	return pages || rest, err
}

func (c *Resources) removeInStore(ctx context.Context) (more bool, err error) {
	if _, _, err := nextDeleted(ctx, c.db.Read); errors.Is(err, sql.ErrNoRows) {
		return false, nil // mostly so, and asked all the time: without a transaction
	}
	err = c.db.Update(ctx, "removing what was deleted", func(t *db.Tx) error {
		more = false
		if err := t.QueueFor(ctx, "removals", ""); err != nil {
			return err
		}
		id, ws, err := nextDeleted(ctx, t)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err = removeBatch(ctx, t, ws, id); err != nil {
			return err
		}
		_, _, err = nextDeleted(ctx, t)
		more = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return more && err == nil, err
}

// nextDeleted finds a datastore that is still being removed; sql.ErrNoRows when there is none.
func nextDeleted(ctx context.Context, q db.Querier) (id, ws string, err error) {
	err = q.QueryRow(ctx, `SELECT id, workspace_id FROM datastores WHERE deleted_at > 0 ORDER BY id LIMIT 1`).Scan(&id, &ws)
	return id, ws, err
}

// removeBatch removes datasources of a deleted datastore, and the datastore itself with the last of them.
func removeBatch(ctx context.Context, t *db.Tx, ws, id string) (done bool, err error) {
	type item struct{ id, original string }
	batch, err := db.Collect(ctx, t, func(s db.Scanner) (v item, err error) {
		err = s.Scan(&v.id, &v.original)
		return v, err
	}, `SELECT id, original_key FROM datasources WHERE datastore_id = ? ORDER BY created_at, id LIMIT ?`, id, record.RemovalBatch)
	if err != nil {
		return false, fmt.Errorf("listing datasources: %w", err)
	}
	var ids, keys []string
	for _, v := range batch {
		ids = append(ids, v.id)
		if v.original != "" {
			keys = append(keys, v.original)
		}
	}
	err = db.InLists(t, ids, func(in string, args []any) error {
		_, err := t.Exec(ctx, `DELETE FROM datasources WHERE id `+in+``, args...)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("deleting datasources: %w", err)
	}
	for len(keys) > 0 {
		n := min(len(keys), record.OriginalsPerSweep)
		// The id of no datasource: only a sweep of the whole datastore has none, and that is queued already.
		rest := domain.Sweep{WorkspaceID: ws, DatastoreID: id, DatasourceID: id, Originals: keys[:n]}
		if err := record.QueueSweep(ctx, t, rest); err != nil {
			return false, err
		}
		keys = keys[n:]
	}
	if len(batch) == record.RemovalBatch {
		return false, nil
	}
	_, err = t.Exec(ctx, `DELETE FROM datastores WHERE id = ?`, id)
	return true, err
}
