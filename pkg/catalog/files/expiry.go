package files

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// How often one process records a datastore's activity. Because the last activity may not have been recorded, a vector
// store expires this much later than its recorded activity suggests.
const activityInterval = 20 * time.Second

// Maximum number of entries in Files.active.
const maxActive = 10_000

// Used records a search in each of the datastores that are vector stores, at most once per datastore and
// activityInterval.
func (c *Files) Used(ctx context.Context, datastoreIDs ...string) error {
	for _, id := range datastoreIDs {
		if !c.isDue(id) {
			continue
		}
		o, err := readOptions(ctx, c.db.Read, id, "")
		if err != nil {
			return err
		}
		if o.lastActiveAt == 0 || o.expiredAt > 0 {
			continue
		}
		err = c.db.Update(ctx, "recording the use of a vector store", func(t *db.Tx) error {
			o, err := readOptions(ctx, t, id, t.Lock)
			if err != nil || o.lastActiveAt == 0 || o.expiredAt > 0 {
				return err
			}
			o.touch(t.Stamp())
			return o.store(ctx, t)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isDue reports whether the datastore's activity must be recorded now. If so, the caller must record it, because isDue
// assumes from then on that it has been recorded.
func (c *Files) isDue(datastoreID string) bool {
	now := c.db.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.active[datastoreID]; ok && now.Sub(last) < activityInterval && !now.Before(last) {
		return false
	}
	if len(c.active) >= maxActive {
		clear(c.active)
	}
	c.active[datastoreID] = now
	return true
}

// Maximum number of objects of each kind processed per call to Expire.
const expiryBatch = 100

// Expire deletes expired files, ends expired uploads, empties expired vector stores and continues unfinished deletions.
// It reports whether there is more to do. Call it several times a minute; several processes may call it at once.
func (c *Files) Expire(ctx context.Context) (more bool, err error) {
	for _, step := range []func(context.Context) (int, error){c.expireFiles, c.removeDeletedFiles, c.expireUploads, c.forgetUploads, c.expireStores, c.emptyStores} {
		n, err := step(ctx)
		if err != nil {
			return false, err
		}
		more = more || n == expiryBatch
	}
	return more, nil
}

// now returns the time, in microseconds, used to decide whether something has expired.
func (c *Files) now() int64 { return db.Micros(c.db.GuardedNow()) }

type owned struct{ id, workspaceID string }

var scanOwned = db.Scan(func(v *owned) []any { return []any{&v.id, &v.workspaceID} })

func (c *Files) expireFiles(ctx context.Context) (int, error) {
	files, err := db.Collect(ctx, c.db.Read, scanOwned, `SELECT id, workspace_id FROM files WHERE expires_at > 0 AND expires_at <= ? AND deleted_at = 0 ORDER BY expires_at LIMIT ?`, c.now(), expiryBatch)
	if err != nil {
		return 0, fmt.Errorf("looking for expired files: %w", err)
	}
	for _, f := range files {
		if err := c.DeleteFile(ctx, f.workspaceID, f.id); ignoreNotFound(err) != nil {
			return 0, fmt.Errorf("deleting expired file %s: %w", f.id, err)
		}
	}
	return len(files), nil
}

// removeDeletedFiles continues interrupted deletions.
func (c *Files) removeDeletedFiles(ctx context.Context) (int, error) {
	files, err := db.Collect(ctx, c.db.Read, scanOwned, `SELECT id, workspace_id FROM files WHERE deleted_at > 0 ORDER BY id LIMIT ?`, expiryBatch)
	if err != nil {
		return 0, fmt.Errorf("looking for deleted files: %w", err)
	}
	for _, f := range files {
		if err := c.removeFile(ctx, f.workspaceID, f.id); err != nil {
			return 0, fmt.Errorf("removing file %s: %w", f.id, err)
		}
	}
	return len(files), nil
}

func (c *Files) expireUploads(ctx context.Context) (int, error) {
	uploads, err := db.Collect(ctx, c.db.Read, scanOwned, `SELECT id, workspace_id FROM uploads WHERE status = 'pending' AND expires_at <= ? ORDER BY expires_at LIMIT ?`, c.now(), expiryBatch)
	if err != nil {
		return 0, fmt.Errorf("looking for expired uploads: %w", err)
	}
	for _, v := range uploads {
		err := c.db.Update(ctx, "ending an expired upload", func(t *db.Tx) error {
			u, err := readUpload(ctx, t, v.workspaceID, v.id, t.Lock)
			if err != nil || u.Status != domain.UploadPending {
				return ignoreNotFound(err)
			}
			return finishUpload(ctx, t, &u, domain.UploadExpired, "")
		})
		if err != nil {
			return 0, err
		}
	}
	return len(uploads), nil
}

// forgetUploads deletes the rows of uploads that ended long ago.
func (c *Files) forgetUploads(ctx context.Context) (int, error) {
	before := c.now() - finishedLifetime.Microseconds()
	old, err := db.Collect(ctx, c.db.Read, db.ScanString, `SELECT id FROM uploads WHERE expires_at <= ? AND status <> 'pending' ORDER BY expires_at LIMIT ?`, before, expiryBatch)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	return len(old), c.db.Update(ctx, "forgetting uploads", func(t *db.Tx) error {
		return db.InLists(t, old, func(in string, args []any) error {
			_, err := t.Exec(ctx, `DELETE FROM uploads WHERE id `+in, args...)
			return err
		})
	})
}

// expireStores marks vector stores whose time is up as expired.
func (c *Files) expireStores(ctx context.Context) (int, error) {
	due := c.now() - activityInterval.Microseconds()
	ids, err := db.Collect(ctx, c.db.Read, db.ScanString, `SELECT datastore_id FROM vector_stores WHERE expires_at > 0 AND expires_at <= ? ORDER BY expires_at LIMIT ?`, due, expiryBatch)
	if err != nil {
		return 0, fmt.Errorf("looking for expired vector stores: %w", err)
	}
	for _, id := range ids {
		err := c.db.Update(ctx, "expiring a vector store", func(t *db.Tx) error {
			// Check again, because the vector store may have been used in the meantime.
			_, err := t.Exec(ctx, `UPDATE vector_stores SET expired_at = ?, expires_at = 0, emptying = 1
				WHERE datastore_id = ? AND expires_at > 0 AND expires_at <= ?`, t.Stamp(), id, due)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// emptyStores removes the next batch of content from expired vector stores. It keeps content that was added through
// other interfaces after the vector store expired.
func (c *Files) emptyStores(ctx context.Context) (int, error) {
	type store struct {
		owned
		expiredAt int64
	}
	stores, err := db.Collect(ctx, c.db.Read, db.Scan(func(v *store) []any { return []any{&v.id, &v.workspaceID, &v.expiredAt} }),
		`SELECT v.datastore_id, s.workspace_id, v.expired_at FROM vector_stores v JOIN datastores s ON s.id = v.datastore_id AND s.deleted_at = 0
		WHERE v.emptying = 1 ORDER BY v.datastore_id LIMIT ?`, expiryBatch)
	if err != nil {
		return 0, fmt.Errorf("looking for expired vector stores: %w", err)
	}
	for _, v := range stores {
		ids, err := db.Collect(ctx, c.db.Read, db.ScanString, `SELECT id FROM datasources
			WHERE datastore_id = ? AND created_at <= ? AND group_id = '' AND `+record.InExistingStore+` ORDER BY created_at, id LIMIT ?`, v.id, v.expiredAt, removalBatch)
		if err != nil {
			return 0, fmt.Errorf("listing the content of an expired vector store: %w", err)
		}
		if err := c.removeAll(ctx, v.workspaceID, ids); err != nil {
			return 0, err
		}
		if len(ids) == removalBatch {
			continue
		}
		err = c.db.Update(ctx, "emptying a vector store", func(t *db.Tx) error {
			_, err := t.Exec(ctx, `UPDATE vector_stores SET emptying = 0 WHERE datastore_id = ?`, v.id)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	if len(stores) > 0 {
		return expiryBatch, nil // call again at once, in case something is left
	}
	return 0, nil
}
