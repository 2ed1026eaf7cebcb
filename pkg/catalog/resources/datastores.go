package resources

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// DatastoreCounts counts a datastore's datasources by status, including sites' pages. Statuses with no datasources are
// absent.
func (c *Resources) DatastoreCounts(ctx context.Context, ws, id string) (map[domain.Status]int64, error) {
	if _, err := record.DatastoreOf(ctx, c.db.Read, ws, id, ""); err != nil {
		return nil, err
	}
	return record.CountByStatus(ctx, c.db.Read, `SELECT datastore_id, status, COUNT(*) FROM datasources
		WHERE datastore_id = ? AND `+record.NotOfDeletedSite+` GROUP BY datastore_id, status`, id)
}

// CreateDatastore stores a datastore and sets its CreatedAt and UpdatedAt. It fails with domain.CodeConflict if the id
// already exists.
func (c *Resources) CreateDatastore(ctx context.Context, d domain.Datastore) (domain.Datastore, error) {
	at := c.db.Stamp()
	d.CreatedAt, d.UpdatedAt = db.FromMicros(at), db.FromMicros(at)
	err := c.db.Update(ctx, "storing a datastore", func(t *db.Tx) error {
		if err := accounts.RequireWorkspace(ctx, t, d.WorkspaceID); err != nil {
			return err
		}
		n, err := record.InsertDatastore(ctx, t, d)
		return db.MapConflict(n, err, "datastore", d.ID)
	})
	return d, err
}

// Datastore returns one of the workspace's datastores.
func (c *Resources) Datastore(ctx context.Context, ws, id string) (domain.Datastore, error) {
	d, err := c.cachedDatastore(id, func() (domain.Datastore, error) { return record.DatastoreOf(ctx, c.db.Read, ws, id, "") })
	if err == nil && d.WorkspaceID != ws {
		return domain.Datastore{}, domain.NotFound("datastore", id)
	}
	return d, err
}

// cachedDatastore returns a datastore from the cache or, if it isn't there, from read.
func (c *Resources) cachedDatastore(id string, read func() (domain.Datastore, error)) (domain.Datastore, error) {
	if c.db.IsShared() {
		return read()
	}
	d, ok, version := c.cache.getDatastore(id)
	if ok {
		return d, nil
	}
	d, err := read()
	if err == nil {
		c.cache.putDatastore(version, d)
	}
	return d, err
}

// DatastoreByID returns a datastore in any workspace, for workers, sweeps and audits.
func (c *Resources) DatastoreByID(ctx context.Context, id string) (domain.Datastore, error) {
	d, err := record.DatastoreByID(ctx, c.db.Read, id)
	return d, db.MapNotFound(err, "datastore", id)
}

// ServingPlace returns the place (engine and embedding model) that serves a datastore's queries, in any workspace.
func (c *Resources) ServingPlace(ctx context.Context, id string) (domain.Place, error) {
	var p domain.Place
	err := c.db.Read.QueryRow(ctx, `SELECT type, embedding_model FROM datastores WHERE id = ? AND deleted_at = 0`, id).Scan(&p.Engine, &p.Model)
	return p, db.MapNotFound(err, "datastore", id)
}

// PublicDatastore returns a public datastore in any workspace. It fails with domain.NotFound if the datastore is
// private.
func (c *Resources) PublicDatastore(ctx context.Context, id string) (domain.Datastore, error) {
	d, err := record.ScanDatastore(c.db.Read.QueryRow(ctx,
		`SELECT `+record.DatastoreColumns+` FROM datastores WHERE visibility = 'public' AND deleted_at = 0 AND id = ?`, id))
	return d, db.MapNotFound(err, "datastore", id)
}

// Datastores returns a page of the workspace's datastores, newest first, and the next page's cursor, or "" after the
// last page.
func (c *Resources) Datastores(ctx context.Context, ws string, p db.Page) ([]domain.Datastore, string, error) {
	l := db.List{Name: cursor.Datastores, Columns: record.DatastoreColumns, Table: `datastores`}
	l.And(`workspace_id = ? AND deleted_at = 0`, ws)
	text, args, limit, err := l.Page(p)
	if err != nil {
		return nil, "", err
	}
	stores, err := db.Collect(ctx, c.db.Read, record.ScanDatastore, text, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing datastores: %w", err)
	}
	stores, next := db.CutPage(l, stores, limit, func(d domain.Datastore) cursor.Position { return cursor.Position{At: db.Micros(d.CreatedAt), ID: d.ID} })
	return stores, next, nil
}

// EachDatastore calls f for every datastore in every workspace. It stops at the first error from f and returns it.
func (c *Resources) EachDatastore(ctx context.Context, f func(domain.Datastore) error) error {
	w := db.Walk[domain.Datastore]{
		Text:  `SELECT ` + record.DatastoreColumns + ` FROM datastores WHERE id > ? AND deleted_at = 0 ORDER BY id LIMIT ?`,
		After: []any{""},
		Scan:  record.ScanDatastore,
		Key:   func(d domain.Datastore) []any { return []any{d.ID} },
	}
	return w.Run(ctx, c.db.Read, f)
}

// UpdateDatastore applies the patch and returns the updated datastore. If the patch specifies a new place (engine and
// embedding model), the datastore starts moving there and any other move is cancelled. If it specifies the current
// place, any move is cancelled. A datastore without datasources switches immediately.
func (c *Resources) UpdateDatastore(ctx context.Context, ws, id string, p domain.DatastorePatch) (domain.Datastore, error) {
	var d domain.Datastore
	err := c.db.Update(ctx, "changing a datastore", func(t *db.Tx) (err error) {
		if _, moves := p.Destination(d); moves {
			if err := record.LockDatastore(ctx, t, id); err != nil {
				return err
			}
		}
		if d, err = record.DatastoreOf(ctx, t, ws, id, t.Lock); err != nil {
			return err
		}
		p.Apply(&d)
		if faults := append(d.Chunking.Check(), d.OCRLanguages.Check()...); len(faults) > 0 {
			return &domain.Error{Code: domain.CodeInvalid, Message: faults[0].Field + ": " + faults[0].Message, Fields: faults}
		}
		d.UpdatedAt = db.FromMicros(c.db.Stamp())
		if to, moves := p.Destination(d); moves {
			if err := pipeline.Direct(ctx, t, &d, to); err != nil {
				return err
			}
		}
		return record.StoreDatastore(ctx, t, d)
	})
	return d, err
}
