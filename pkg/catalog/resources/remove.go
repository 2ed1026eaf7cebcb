package resources

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// DeleteDatastore deletes the datastore with its content, removes it from agents, and returns it. After the commit, the
// datastore is invisible, and a sweep for all its rows is queued. If the datastore is large, RemoveDeleted removes its
// datasources later.
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

// RemoveDeleted removes the next batch of datasources from deleted datastores and sites and queues sweeps for their
// originals. It reports whether there are more. Call it periodically and after SweepWake.
func (c *Resources) RemoveDeleted(ctx context.Context) (more bool, err error) {
	pages, err := c.sites.RemoveDoomed(ctx)
	if err != nil {
		return false, err
	}
	rest, err := c.removeInStore(ctx)
	return pages || rest, err
}

func (c *Resources) removeInStore(ctx context.Context) (more bool, err error) {
	return record.RemoveNext(ctx, c.db, "removing deleted datastores", nextDeleted, func(t *db.Tx, d deleted) error {
		_, err := removeBatch(ctx, t, d.workspace, d.id)
		return err
	})
}

// deleted is a datastore that has not been fully removed yet.
type deleted struct{ id, workspace string }

// nextDeleted returns a deleted datastore that still has to be removed, or sql.ErrNoRows.
func nextDeleted(ctx context.Context, q db.Querier) (d deleted, err error) {
	err = q.QueryRow(ctx, `SELECT id, workspace_id FROM datastores WHERE deleted_at > 0 ORDER BY id LIMIT 1`).Scan(&d.id, &d.workspace)
	return d, err
}

// removeBatch removes a deleted datastore's next datasources and, with the last batch, the datastore itself.
func removeBatch(ctx context.Context, t *db.Tx, ws, id string) (done bool, err error) {
	type item struct{ id, original string }
	batch, err := db.Collect(ctx, t, db.Scan(func(v *item) []any { return []any{&v.id, &v.original} }), `SELECT id, original_key FROM datasources WHERE datastore_id = ? ORDER BY created_at, id LIMIT ?`, id, record.RemovalBatch)
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
		// As the DatasourceID, use an id that no datasource has. An empty one would mean the whole datastore, whose
		// sweep is already queued.
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
