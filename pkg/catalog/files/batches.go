package files

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// CreateBatch adds files to a datastore like AddFile and records them as a batch, in one transaction. It records files
// that don't exist as missing, and fails with domain.CodeConflict if the batch id already exists.
func (c *Files) CreateBatch(ctx context.Context, ws, datastoreID, id string, files []NewFile) (domain.FileBatch, error) {
	err := c.db.Update(ctx, "adding files to a vector store", func(t *db.Tx) error {
		return c.accounts.WithinStorage(ctx, t, ws, func() error {
			out, err := c.add(ctx, t, ws, datastoreID, files, false)
			if err != nil {
				return err
			}
			n, err := t.Exec(ctx, `INSERT INTO file_batches (id, datastore_id, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, id, datastoreID, t.Stamp())
			if err := db.MapConflict(n, err, "batch", id); err != nil {
				return err
			}
			for i, f := range out {
				datasourceID := f.ID
				if f.missing {
					datasourceID = ""
				}
				err := t.Queue(ctx, db.Write{Action: "storing a file of a batch",
					Text: `INSERT INTO batch_files (batch_id, position, file_id, datasource_id) VALUES (?, ?, ?, ?)`,
					Args: []any{id, i, files[i].FileID, datasourceID},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return domain.FileBatch{}, err
	}
	return c.Batch(ctx, ws, datastoreID, id)
}

// Batch returns a batch in one of the workspace's datastores.
func (c *Files) Batch(ctx context.Context, ws, datastoreID, id string) (domain.FileBatch, error) {
	b, err := c.readBatch(ctx, ws, datastoreID, id)
	if err != nil {
		return b, err
	}
	counts, err := db.Collect(ctx, c.db.Read, db.Scan(func(v *record.GroupCount) []any { return []any{&v.Status, &v.N} }),
		`SELECT d.status, COUNT(*) FROM batch_files b JOIN datasources d ON d.id = b.datasource_id WHERE b.batch_id = ? GROUP BY d.status`, id)
	if err != nil {
		return b, fmt.Errorf("counting files of a batch: %w", err)
	}
	b.Counts = map[domain.Status]int64{}
	for _, n := range counts {
		b.Counts[n.Status] = n.N
	}
	err = c.db.Read.QueryRow(ctx, `SELECT COUNT(*) FROM batch_files WHERE batch_id = ? AND datasource_id = ''`, id).Scan(&b.Missing)
	if err != nil {
		return b, fmt.Errorf("counting missing files of a batch: %w", err)
	}
	return b, nil
}

// readBatch reads a batch without its counts.
func (c *Files) readBatch(ctx context.Context, ws, datastoreID, id string) (domain.FileBatch, error) {
	if _, err := record.DatastoreOf(ctx, c.db.Read, ws, datastoreID, ""); err != nil {
		return domain.FileBatch{}, err
	}
	b := domain.FileBatch{ID: id, DatastoreID: datastoreID}
	var createdAt, cancelledAt int64
	err := c.db.Read.QueryRow(ctx, `SELECT created_at, cancelled_at FROM file_batches WHERE id = ? AND datastore_id = ?`, id, datastoreID).Scan(&createdAt, &cancelledAt)
	b.CreatedAt, b.Cancelled = db.FromMicros(createdAt), cancelledAt > 0
	return b, db.MapNotFound(err, "batch", id)
}

// FilesOfBatch returns a page of a batch's files and reports whether more follow. If statuses are given, it returns
// only files with one of them. If p.Ascending is set, files are in the client's order. A missing file counts as failed.
func (c *Files) FilesOfBatch(ctx context.Context, ws, datastoreID, id string, statuses []domain.Status, p Page) ([]domain.StoredFile, bool, error) {
	if _, err := c.readBatch(ctx, ws, datastoreID, id); err != nil {
		return nil, false, err
	}
	const join = `batch_files b LEFT JOIN datasources d ON d.id = b.datasource_id`
	l := db.List{Columns: `b.position, b.file_id, b.datasource_id`, Table: join}
	l.And(`b.batch_id = ? AND (d.id IS NOT NULL OR b.datasource_id = '')`, id)
	andStatuses(&l, `COALESCE(d.status, 'error')`, statuses)
	type item struct {
		position             int64
		fileID, datasourceID string
	}
	items, more, err := listBy(ctx, c.db.Read, l, `b.position, b.file_id`, p, db.Scan(func(v *item) []any { return []any{&v.position, &v.fileID, &v.datasourceID} }),
		func(fileID string) (position, error) {
			at := position{id: fileID}
			err := c.db.Read.QueryRow(ctx, `SELECT position FROM batch_files WHERE batch_id = ? AND file_id = ? ORDER BY position LIMIT 1`, id, fileID).Scan(&at.at)
			return at, db.MapNotFound(err, "file", fileID)
		})
	if err != nil {
		return nil, false, err
	}
	var ids []string
	for _, v := range items {
		ids = append(ids, v.datasourceID)
	}
	byID := map[string]domain.Datasource{}
	err = db.InLists(c.db.Read, ids, func(in string, args []any) error {
		records, err := db.Collect(ctx, c.db.Read, record.Scan, `SELECT `+record.Columns+` FROM datasources WHERE id `+in, args...)
		for _, r := range records {
			byID[r.ID] = r.Datasource
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("reading files of a batch: %w", err)
	}
	out := make([]domain.StoredFile, 0, len(items))
	for _, v := range items {
		d, ok := byID[v.datasourceID]
		switch {
		case ok:
			out = append(out, domain.StoredFile{Datasource: d})
		case v.datasourceID == "":
			out = append(out, domain.StoredFile{MissingFileID: v.fileID})
		}
	}
	return out, more, nil
}

// CancelBatch stops processing the batch's files, except those that are already searchable and are only being updated.
// It returns the batch.
func (c *Files) CancelBatch(ctx context.Context, ws, datastoreID, id string) (domain.FileBatch, error) {
	if _, err := c.readBatch(ctx, ws, datastoreID, id); err != nil {
		return domain.FileBatch{}, err
	}
	err := c.db.Update(ctx, "cancelling a batch", func(t *db.Tx) error {
		if _, err := record.ShareOwnDatastore(ctx, t, ws, datastoreID); err != nil {
			return err
		}
		ids, err := db.Collect(ctx, t, db.ScanString, `SELECT datasource_id FROM batch_files WHERE batch_id = ? AND datasource_id <> ''`, id)
		if err != nil {
			return fmt.Errorf("listing files of a batch: %w", err)
		}
		if err := record.LockRows(ctx, t, ids); err != nil {
			return err
		}
		records, err := record.ReadAll(ctx, t, ids)
		if err != nil {
			return fmt.Errorf("reading files of a batch: %w", err)
		}
		mark, err := record.ReadMark(ctx, t)
		if err != nil {
			return err
		}
		for _, r := range records {
			if r.Status.Terminal() || r.ActiveGeneration > 0 || r.Target != nil {
				continue
			}
			if err := cancel(ctx, t, r, mark); err != nil {
				return err
			}
		}
		_, err = t.Exec(ctx, `UPDATE file_batches SET cancelled_at = ? WHERE id = ? AND cancelled_at = 0`, t.Stamp(), id)
		return err
	})
	if err != nil {
		return domain.FileBatch{}, err
	}
	return c.Batch(ctx, ws, datastoreID, id)
}

// cancel ends a datasource's processing and removes its jobs from the outbox and the stream. mark is the highest
// published generation.
func cancel(ctx context.Context, t *db.Tx, r record.Record, mark uint64) error {
	if err := t.Queue(ctx, db.Write{Action: "taking a job from the outbox", Text: `DELETE FROM outbox WHERE datasource_id = ?`, Args: []any{r.ID}}); err != nil {
		return err
	}
	r.CancelUnread(db.FromMicros(t.Stamp()))
	sent := r.Location == record.InStream
	r.Location = record.NoJob
	if err := r.Store(ctx, t, db.Micros(r.UpdatedAt)); err != nil || !sent {
		return err
	}
	return record.QueueSweep(ctx, t, domain.Sweep{
		WorkspaceID: r.WorkspaceID, DatastoreID: r.DatastoreID, DatasourceID: r.ID, Below: max(mark, r.Seen) + 1, Jobs: true,
	})
}
