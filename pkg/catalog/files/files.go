// Package files stores the objects that exist only in OpenAI's API: files, multipart uploads, batches, and the
// additional properties of vector stores. A vector store is a datastore, and each file in it is a datasource that
// shares the file's original. The package imports db, record, accounts, sites and resources.
package files

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/resources"
	"github.com/sluice/sluice/pkg/catalog/sites"
	"github.com/sluice/sluice/pkg/domain"
)

// Files stores files, uploads, batches and vector stores' additional properties. All methods are safe for concurrent
// use.
type Files struct {
	db        *db.DB
	accounts  *accounts.Accounts
	sites     *sites.Sites
	resources *resources.Resources

	mu     sync.Mutex
	active map[string]time.Time // when each datastore's activity was last recorded
}

// New returns a file store that uses the given database.
func New(d *db.DB, a *accounts.Accounts, s *sites.Sites, r *resources.Resources) *Files {
	return &Files{db: d, accounts: a, sites: s, resources: r, active: map[string]time.Time{}}
}

// fileRow returns a file's columns. expiresAt is 0 if the file never expires.
func fileRow(f *domain.File, expiresAt *int64) db.Row {
	return db.Row{
		db.Fixed("id", &f.ID),
		db.Fixed("workspace_id", &f.WorkspaceID),
		db.Fixed("name", &f.Name),
		db.Fixed("purpose", &f.Purpose),
		db.Fixed("original", &f.Original),
		db.Derived("original_key", &f.Original.Key),
		db.Derived("original_bytes", &f.Original.Size),
		db.Fixed("created_at", &f.CreatedAt),
		db.Fixed("expires_at", expiresAt),
	}
}

var (
	fileColumns    = fileRow(new(domain.File), new(int64)).Columns("")
	insertFileText = fileRow(new(domain.File), new(int64)).InsertText("files")
)

func scanFile(s db.Scanner) (f domain.File, err error) {
	var expiresAt int64
	err = fileRow(&f, &expiresAt).Scan(s)
	f.ExpiresAt = optionalTime(expiresAt)
	return f, err
}

// optionalTime converts a time stored in microseconds. A stored 0 means no time.
func optionalTime(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return db.FromMicros(micros)
}

// StoreFile stores a file and sets its CreatedAt. It fails with domain.CodeConflict if the id already exists. Unless
// keepFor is 0, the file expires after that long.
func (c *Files) StoreFile(ctx context.Context, f domain.File, keepFor time.Duration) (domain.File, error) {
	err := c.db.Update(ctx, "storing a file", func(t *db.Tx) error {
		return c.accounts.WithinStorage(ctx, t, f.WorkspaceID, func() (err error) {
			f, err = insertFile(ctx, t, f, keepFor)
			return err
		})
	})
	return f, err
}

func insertFile(ctx context.Context, t *db.Tx, f domain.File, keepFor time.Duration) (domain.File, error) {
	if err := accounts.RequireWorkspace(ctx, t, f.WorkspaceID); err != nil {
		return f, err
	}
	f.CreatedAt, f.ExpiresAt = db.FromMicros(t.Stamp()), time.Time{}
	var expiresAt int64
	if keepFor > 0 {
		f.ExpiresAt = f.CreatedAt.Add(keepFor)
		expiresAt = db.Micros(f.ExpiresAt)
	}
	n, err := t.Insert(ctx, insertFileText, fileRow(&f, &expiresAt))
	return f, db.MapConflict(n, err, "file", f.ID)
}

// File returns one of the workspace's files.
func (c *Files) File(ctx context.Context, ws, id string) (domain.File, error) {
	f, err := scanFile(c.db.Read.QueryRow(ctx, `SELECT `+fileColumns+` FROM files WHERE workspace_id = ? AND id = ? AND deleted_at = 0`, ws, id))
	return f, db.MapNotFound(err, "file", id)
}

// FilesOf returns a page of the workspace's files and reports whether more follow. An empty purpose selects all files.
func (c *Files) FilesOf(ctx context.Context, ws, purpose string, p Page) (page []domain.File, more bool, err error) {
	l := db.List{Columns: fileColumns, Table: `files`}
	l.And(`workspace_id = ? AND deleted_at = 0`, ws)
	if purpose != "" {
		l.And(`purpose = ?`, purpose)
	}
	return list(ctx, c.db.Read, l, p, scanFile, func(id string) (position, error) {
		f, err := c.File(ctx, ws, id)
		return position{db.Micros(f.CreatedAt), f.ID}, err
	})
}

// DeleteFile deletes a file and removes it from all datastores.
func (c *Files) DeleteFile(ctx context.Context, ws, id string) error {
	err := c.db.Update(ctx, "deleting a file", func(t *db.Tx) error {
		n, err := t.Exec(ctx, `UPDATE files SET deleted_at = ? WHERE workspace_id = ? AND id = ? AND deleted_at = 0`, t.Stamp(), ws, id)
		if err == nil && n == 0 {
			return domain.NotFound("file", id)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.removeFile(ctx, ws, id)
}

// Datasources per batch when a deleted file is removed from its datastores.
const removalBatch = 200

// removeFile removes a deleted file from its datastores and then deletes its row and original. It can be retried.
func (c *Files) removeFile(ctx context.Context, ws, id string) error {
	for {
		ids, err := db.Collect(ctx, c.db.Read, db.ScanString, `SELECT id FROM datasources
			WHERE file_id = ? AND file_id <> '' AND workspace_id || '' = ? AND `+record.NotDeleted+` ORDER BY id LIMIT ?`, id, ws, removalBatch)
		if err != nil {
			return fmt.Errorf("listing the datasources of a file: %w", err)
		}
		if err := c.removeAll(ctx, ws, ids); err != nil {
			return err
		}
		if len(ids) < removalBatch {
			break
		}
	}
	return c.db.Update(ctx, "removing a file", func(t *db.Tx) error {
		key, err := db.ScanString(t.QueryRow(ctx, `SELECT original_key FROM files WHERE id = ? AND deleted_at > 0`+t.Lock, id))
		if err := db.MapNotFound(err, "file", id); err != nil {
			return ignoreNotFound(err) // another process removed it
		}
		if _, err := t.Exec(ctx, `DELETE FROM files WHERE id = ?`, id); err != nil {
			return err
		}
		return queueOriginals(ctx, t, ws, key)
	})
}

func (c *Files) removeAll(ctx context.Context, ws string, ids []string) error {
	for _, id := range ids {
		if _, err := c.resources.DeleteDatasource(ctx, ws, id); ignoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func ignoreNotFound(err error) error {
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	return err
}

// queueOriginals queues sweeps for a deleted row's originals.
func queueOriginals(ctx context.Context, t *db.Tx, ws string, keys ...string) error {
	for len(keys) > 0 {
		n := min(len(keys), record.OriginalsPerSweep)
		if err := record.QueueSweep(ctx, t, domain.Sweep{WorkspaceID: ws, Originals: keys[:n]}); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}
