package record

import (
	"context"
	"fmt"
	"time"
	"unique"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// One returns the text that all equal ones are, so that they are seen to be equal without being read.
func One[T ~string](text T) T { return unique.Make(text).Value() }

// DatastoreColumns are the columns that ScanDatastore reads.
const DatastoreColumns = `id, workspace_id, name, description, type, visibility, embedding_model, chunk_target, chunk_max, since, move_id, move_engine,
	move_model, move_since, move_started_at, created_at, updated_at`

// ScanDatastore scans a datastore.
func ScanDatastore(s db.Scanner) (domain.Datastore, error) {
	var d domain.Datastore
	var m domain.Move
	var since, moveSince, startedAt, createdAt, updatedAt int64
	err := s.Scan(&d.ID, &d.WorkspaceID, &d.Name, &d.Description, &d.Type, &d.Visibility, &d.EmbeddingModel,
		&d.Chunking.TargetTokens, &d.Chunking.MaxTokens, &since, &m.ID, &m.To.Engine,
		&m.To.Model, &moveSince, &startedAt, &createdAt, &updatedAt)
	d.ID, d.Type, d.EmbeddingModel = One(d.ID), One(d.Type), One(d.EmbeddingModel)
	d.Since = uint64(since)
	if m.ID != "" {
		m.Since, m.StartedAt = uint64(moveSince), db.FromMicros(startedAt)
		d.Move = &m
	}
	d.CreatedAt, d.UpdatedAt = db.FromMicros(createdAt), db.FromMicros(updatedAt)
	return d, err
}

// InsertDatastore stores a new datastore and returns the number of rows: 0 when its id is taken.
func InsertDatastore(ctx context.Context, t *db.Tx, d domain.Datastore, at int64) (int64, error) {
	return t.Exec(ctx, `INSERT INTO datastores (id, workspace_id, name, description, type, visibility, embedding_model,
		chunk_target, chunk_max, since, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		d.ID, d.WorkspaceID, d.Name, d.Description, d.Type, d.Visibility, d.EmbeddingModel,
		d.Chunking.TargetTokens, d.Chunking.MaxTokens, Stored(d.Since), at, at)
}

// DatastoreByID reads a datastore; sql.ErrNoRows when it is gone.
func DatastoreByID(ctx context.Context, q db.Querier, id string) (domain.Datastore, error) {
	return ScanDatastore(q.QueryRow(ctx, `SELECT `+DatastoreColumns+` FROM datastores WHERE id = ? AND deleted_at = 0`, id))
}

// DatastoreOf reads a datastore of a workspace.
func DatastoreOf(ctx context.Context, q db.Querier, ws, id, lock string) (domain.Datastore, error) {
	d, err := ScanDatastore(q.QueryRow(ctx,
		`SELECT `+DatastoreColumns+` FROM datastores WHERE workspace_id = ? AND id = ? AND deleted_at = 0`+lock, ws, id))
	if err != nil {
		return domain.Datastore{}, db.Found(err, "datastore", id)
	}
	return d, nil
}

// StoreDatastore writes back everything that may have changed.
func StoreDatastore(ctx context.Context, t *db.Tx, d domain.Datastore) error {
	m := domain.Move{StartedAt: time.UnixMicro(0)}
	if d.Move != nil {
		m = *d.Move
	}
	_, err := t.Exec(ctx, `UPDATE datastores SET name = ?, description = ?, visibility = ?, type = ?, embedding_model = ?, chunk_target = ?, chunk_max = ?, since = ?,
		move_id = ?, move_engine = ?, move_model = ?, move_since = ?, move_started_at = ?, updated_at = ? WHERE id = ?`,
		d.Name, d.Description, d.Visibility, d.Type, d.EmbeddingModel, d.Chunking.TargetTokens, d.Chunking.MaxTokens, Stored(d.Since),
		m.ID, m.To.Engine, m.To.Model, Stored(m.Since), db.Micros(m.StartedAt), db.Micros(d.UpdatedAt), d.ID)
	if err != nil {
		return fmt.Errorf("storing datastore %s: %w", d.ID, err)
	}
	return nil
}
