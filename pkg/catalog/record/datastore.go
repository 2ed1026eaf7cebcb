package record

import (
	"context"
	"fmt"
	"time"
	"unique"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// Interned returns a canonical copy of the text. Equal strings then share memory and compare quickly.
func Interned[T ~string](text T) T { return unique.Make(text).Value() }

// datastoreRow returns a datastore's columns. m is its move; an empty id means there is none.
func datastoreRow(d *domain.Datastore, m *domain.Move) db.Row {
	return db.Row{
		db.Fixed("id", &d.ID),
		db.Fixed("workspace_id", &d.WorkspaceID),
		db.Col("name", &d.Name),
		db.Col("description", &d.Description),
		db.Col("type", &d.Type),
		db.Col("visibility", &d.Visibility),
		db.Col("embedding_model", &d.EmbeddingModel),
		db.Col("chunk_target", &d.Chunking.TargetTokens),
		db.Col("chunk_max", &d.Chunking.MaxTokens),
		db.Col("ocr_languages", &d.OCRLanguages),
		db.Col("since", &d.Since),
		db.Col("search_version", &d.SearchVersion),
		db.Col("move_id", &m.ID),
		db.Col("move_engine", &m.To.Engine),
		db.Col("move_model", &m.To.Model),
		db.Col("move_since", &m.Since),
		db.Col("move_started_at", &m.StartedAt),
		db.Fixed("created_at", &d.CreatedAt),
		db.Col("updated_at", &d.UpdatedAt),
	}
}

func storedDatastore(d *domain.Datastore) db.Row {
	m := domain.Move{}
	if d.Move != nil {
		m = *d.Move
	} else {
		m.StartedAt = time.UnixMicro(0)
	}
	return datastoreRow(d, &m)
}

// DatastoreColumns are the columns that ScanDatastore reads.
var DatastoreColumns = datastoreRow(new(domain.Datastore), new(domain.Move)).Columns("")

var (
	insertDatastoreText = storedDatastore(new(domain.Datastore)).InsertText("datastores")
	updateDatastoreText = storedDatastore(new(domain.Datastore)).UpdateText("datastores")
)

// ScanDatastore scans a row of DatastoreColumns.
func ScanDatastore(s db.Scanner) (domain.Datastore, error) {
	var d domain.Datastore
	var m domain.Move
	err := datastoreRow(&d, &m).Scan(s)
	d.ID, d.Type, d.EmbeddingModel = Interned(d.ID), Interned(d.Type), Interned(d.EmbeddingModel)
	if m.ID != "" {
		d.Move = &m
	}
	return d, err
}

// InsertDatastore stores a new datastore and returns the number of inserted rows, which is 0 if the id already exists.
func InsertDatastore(ctx context.Context, t *db.Tx, d domain.Datastore) (int64, error) {
	return t.Insert(ctx, insertDatastoreText, storedDatastore(&d))
}

// StoreDatastore updates all columns that may have changed.
func StoreDatastore(ctx context.Context, t *db.Tx, d domain.Datastore) error {
	if err := t.UpdateRow(ctx, updateDatastoreText, storedDatastore(&d), d.ID); err != nil {
		return fmt.Errorf("storing datastore %s: %w", d.ID, err)
	}
	return nil
}

// DatastoreByID reads a datastore. It fails with sql.ErrNoRows if the datastore is gone.
func DatastoreByID(ctx context.Context, q db.Querier, id string) (domain.Datastore, error) {
	return ScanDatastore(q.QueryRow(ctx, `SELECT `+DatastoreColumns+` FROM datastores WHERE id = ? AND deleted_at = 0`, id))
}

// DatastoreOf reads one of a workspace's datastores.
func DatastoreOf(ctx context.Context, q db.Querier, ws, id, lock string) (domain.Datastore, error) {
	d, err := ScanDatastore(q.QueryRow(ctx,
		`SELECT `+DatastoreColumns+` FROM datastores WHERE workspace_id = ? AND id = ? AND deleted_at = 0`+lock, ws, id))
	return d, db.MapNotFound(err, "datastore", id)
}
