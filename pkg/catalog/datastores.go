package catalog

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/domain"
)

const datastoreColumns = `id, workspace_id, name, description, type, visibility, embedding_model, chunk_target, chunk_max, since, move_id, move_engine,
	move_model, move_since, move_started_at, created_at, updated_at`

func scanDatastore(s scanner) (domain.Datastore, error) {
	var d domain.Datastore
	var m domain.Move
	var since, moveSince, startedAt, createdAt, updatedAt int64
	err := s.Scan(&d.ID, &d.WorkspaceID, &d.Name, &d.Description, &d.Type, &d.Visibility, &d.EmbeddingModel,
		&d.Chunking.TargetTokens, &d.Chunking.MaxTokens, &since, &m.ID, &m.To.Engine,
		&m.To.Model, &moveSince, &startedAt, &createdAt, &updatedAt)
	d.ID, d.Type, d.EmbeddingModel = one(d.ID), one(d.Type), one(d.EmbeddingModel)
	d.Since = uint64(since)
	if m.ID != "" {
		m.Since, m.StartedAt = uint64(moveSince), fromMicros(startedAt)
		d.Move = &m
	}
	d.CreatedAt, d.UpdatedAt = fromMicros(createdAt), fromMicros(updatedAt)
	return d, err
}

// CreateDatastore stores a datastore; both times are set here. It fails with domain.CodeConflict when the id is taken.
func (c *Catalog) CreateDatastore(ctx context.Context, d domain.Datastore) (domain.Datastore, error) {
	at := c.stamp()
	d.CreatedAt, d.UpdatedAt = fromMicros(at), fromMicros(at)
	err := c.update(ctx, "storing a datastore", func(t *tx) error {
		if err := requireWorkspace(ctx, t, d.WorkspaceID); err != nil {
			return err
		}
		n, err := insertDatastore(ctx, t, d, at)
		return created(n, err, "datastore", d.ID)
	})
	return d, err
}

func insertDatastore(ctx context.Context, t *tx, d domain.Datastore, at int64) (int64, error) {
	return t.exec(ctx, `INSERT INTO datastores (id, workspace_id, name, description, type, visibility, embedding_model,
		chunk_target, chunk_max, since, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		d.ID, d.WorkspaceID, d.Name, d.Description, d.Type, d.Visibility, d.EmbeddingModel,
		d.Chunking.TargetTokens, d.Chunking.MaxTokens, stored(d.Since), at, at)
}

// Datastore returns one datastore of the workspace.
func (c *Catalog) Datastore(ctx context.Context, ws, id string) (domain.Datastore, error) {
	d, err := c.kept(id, func() (domain.Datastore, error) { return readDatastore(ctx, c.db.read, ws, id, "") })
	if err == nil && d.WorkspaceID != ws {
		return domain.Datastore{}, domain.NotFound("datastore", id)
	}
	return d, err
}

// kept returns a datastore from the memo, or reads it.
func (c *Catalog) kept(id string, read func() (domain.Datastore, error)) (domain.Datastore, error) {
	if c.db.dialect.shared {
		return read()
	}
	d, ok, version := c.db.memo.store(id)
	if ok {
		return d, nil
	}
	d, err := read()
	if err == nil {
		c.db.memo.keepStore(version, d)
	}
	return d, err
}

// DatastoreByID returns a datastore of any workspace: for what serves all of them, workers, sweeps and audits.
func (c *Catalog) DatastoreByID(ctx context.Context, id string) (domain.Datastore, error) {
	d, err := datastoreByID(ctx, c.db.read, id)
	if err != nil {
		return domain.Datastore{}, found(err, "datastore", id)
	}
	return d, nil
}

// ServingPlace returns the place that a datastore of any workspace serves readers from.
func (c *Catalog) ServingPlace(ctx context.Context, id string) (domain.Place, error) {
	var p domain.Place
	err := c.db.read.queryRow(ctx, `SELECT type, embedding_model FROM datastores WHERE id = ? AND deleted_at = 0`, id).Scan(&p.Engine, &p.Model)
	return p, found(err, "datastore", id)
}

// datastoreByID reads a datastore; sql.ErrNoRows when it is gone.
func datastoreByID(ctx context.Context, q querier, id string) (domain.Datastore, error) {
	return scanDatastore(q.queryRow(ctx, `SELECT `+datastoreColumns+` FROM datastores WHERE id = ? AND deleted_at = 0`, id))
}

// PublicDatastore returns a datastore of any workspace if it is public; a private one is not found.
func (c *Catalog) PublicDatastore(ctx context.Context, id string) (domain.Datastore, error) {
	d, err := scanDatastore(c.db.read.queryRow(ctx,
		`SELECT `+datastoreColumns+` FROM datastores WHERE visibility = 'public' AND deleted_at = 0 AND id = ?`, id))
	if err != nil {
		return domain.Datastore{}, found(err, "datastore", id)
	}
	return d, nil
}

// Datastores returns a page of the workspace's datastores, newest first, and the next page's cursor, "" after the last.
func (c *Catalog) Datastores(ctx context.Context, ws string, p Page) ([]domain.Datastore, string, error) {
	l := list{name: cursor.Datastores, columns: datastoreColumns, table: `datastores`}
	l.and(`workspace_id = ? AND deleted_at = 0`, ws)
	text, args, limit, err := l.page(p)
	if err != nil {
		return nil, "", err
	}
	stores, err := collect(ctx, c.db.read, scanDatastore, text, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing datastores: %w", err)
	}
	stores, next := cut(l, stores, limit, func(d domain.Datastore) cursor.Position { return cursor.Position{At: micros(d.CreatedAt), ID: d.ID} })
	return stores, next, nil
}

// EachDatastore calls f for every datastore of every workspace until f fails, and returns f's error: for audits and
// sweeps, which belong to no workspace.
func (c *Catalog) EachDatastore(ctx context.Context, f func(domain.Datastore) error) error {
	w := walk[domain.Datastore]{
		text:  `SELECT ` + datastoreColumns + ` FROM datastores WHERE id > ? AND deleted_at = 0 ORDER BY id LIMIT ?`,
		after: []any{""},
		scan:  scanDatastore,
		key:   func(d domain.Datastore) []any { return []any{d.ID} },
	}
	return w.run(ctx, c.db.read, f)
}

// UpdateDatastore changes what the patch carries and returns the datastore as it is then. A place that is not the one
// that serves readers begins a move there, or replaces the one that is under way; the serving place cancels it. A
// datastore without datasources is at once where it was sent.
func (c *Catalog) UpdateDatastore(ctx context.Context, ws, id string, p domain.DatastorePatch) (domain.Datastore, error) {
	var d domain.Datastore
	err := c.update(ctx, "changing a datastore", func(t *tx) (err error) {
		if _, moves := p.Destination(d); moves {
			if err := t.alone(ctx, id); err != nil {
				return err
			}
		}
		if d, err = readDatastore(ctx, t, ws, id, t.lock); err != nil {
			return err
		}
		p.Apply(&d)
		if faults := d.Chunking.Check(); len(faults) > 0 {
			return &domain.Error{Code: domain.CodeInvalid, Message: faults[0].Field + ": " + faults[0].Message, Fields: faults}
		}
		d.UpdatedAt = fromMicros(c.stamp())
		if to, moves := p.Destination(d); moves {
			if err := c.direct(ctx, t, &d, to); err != nil {
				return err
			}
		}
		return storeDatastore(ctx, t, d)
	})
	return d, err
}

func readDatastore(ctx context.Context, q querier, ws, id, lock string) (domain.Datastore, error) {
	d, err := scanDatastore(q.queryRow(ctx,
		`SELECT `+datastoreColumns+` FROM datastores WHERE workspace_id = ? AND id = ? AND deleted_at = 0`+lock, ws, id))
	if err != nil {
		return domain.Datastore{}, found(err, "datastore", id)
	}
	return d, nil
}
