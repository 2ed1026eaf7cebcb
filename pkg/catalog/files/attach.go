package files

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/resources"
	"github.com/sluice/sluice/pkg/domain"
)

// NewFile is a file to add to a datastore.
type NewFile struct {
	FileID     string
	Attributes map[string]any       // nil keeps any attributes that the file already has in the datastore
	Chunking   *domain.FileChunking // nil keeps the file's current chunking, or uses the datastore's if there is none
}

// AddFile adds a file to a datastore and returns its datasource. If the file is already there, AddFile applies any new
// attributes or chunking, and retries processing if it failed or was cancelled.
func (c *Files) AddFile(ctx context.Context, ws, datastoreID string, f NewFile) (domain.Datasource, error) {
	var out []added
	err := c.db.Update(ctx, "adding a file to a vector store", func(t *db.Tx) error {
		return c.accounts.WithinStorage(ctx, t, ws, func() (err error) {
			out, err = c.add(ctx, t, ws, datastoreID, []NewFile{f}, true)
			return err
		})
	})
	if err != nil {
		return domain.Datasource{}, err
	}
	return out[0].Datasource, nil
}

// added is the result of adding one file. If the file does not exist, missing is set and the datasource is empty.
type added struct {
	domain.Datasource
	missing bool
}

// add adds files to a datastore and records this as activity in its vector store. If strict is set and a file does not
// exist, add fails with domain.CodeNotFound.
func (c *Files) add(ctx context.Context, t *db.Tx, ws, datastoreID string, files []NewFile, strict bool) ([]added, error) {
	store, err := record.ShareOwnDatastore(ctx, t, ws, datastoreID)
	if err != nil {
		return nil, err
	}
	o, err := readOptions(ctx, t, datastoreID, t.Lock)
	if err != nil {
		return nil, err
	}
	if o.expiredAt > 0 {
		return nil, domain.Errorf(domain.CodeConflict, "the vector store has expired; create another one")
	}
	found, err := lockFiles(ctx, t, ws, files)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, f := range files {
		ids = append(ids, domain.AttachedID(store.ID, f.FileID))
	}
	if err := record.LockRows(ctx, t, ids); err != nil {
		return nil, err
	}
	existing, err := record.ReadAll(ctx, t, ids)
	if err != nil {
		return nil, fmt.Errorf("reading files of the vector store: %w", err)
	}
	out := make([]added, len(files))
	for i, f := range files {
		file, ok := found[f.FileID]
		if !ok {
			if strict {
				return nil, domain.NotFound("file", f.FileID)
			}
			out[i].missing = true
			continue
		}
		r, known := existing[ids[i]]
		if known {
			err = c.addAgain(ctx, t, &r, store, f)
		} else {
			r, err = addNew(ctx, t, ids[i], file, store, f)
		}
		if err != nil {
			return nil, err
		}
		existing[ids[i]], out[i].Datasource = r, r.Datasource
	}
	if o.lastActiveAt > 0 { // without vector store properties, a datastore never expires
		o.touch(t.Stamp())
		err = o.store(ctx, t)
	}
	return out, err
}

// lockFiles reads the given files and locks them against deletion until the transaction ends. The result omits files
// that don't exist.
func lockFiles(ctx context.Context, t *db.Tx, ws string, files []NewFile) (map[string]domain.File, error) {
	var ids []string
	for _, f := range files {
		ids = append(ids, f.FileID)
	}
	out := map[string]domain.File{}
	err := db.InLists(t, slices.Compact(slices.Sorted(slices.Values(ids))), func(in string, args []any) error {
		found, err := db.Collect(ctx, t, scanFile, `SELECT `+fileColumns+` FROM files WHERE id `+in+` AND workspace_id || '' = ? AND deleted_at = 0 ORDER BY id`+t.Lock, append(args, ws)...)
		for _, f := range found {
			out[f.ID] = f
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading files: %w", err)
	}
	return out, nil
}

func addNew(ctx context.Context, t *db.Tx, id string, file domain.File, store domain.Datastore, f NewFile) (record.Record, error) {
	original := file.Original
	d := domain.Datasource{
		ID: id, WorkspaceID: store.WorkspaceID, DatastoreID: store.ID, Type: domain.TypeFile, Name: file.Name, Metadata: f.Attributes,
		Status: domain.StatusUnsynched, Original: &original,
		Config: domain.DatasourceConfig{
			FileID: file.ID, Chunking: f.Chunking, FileName: file.Name, MIMEType: original.MIMEType, FileSize: original.Size, SHA256: original.SHA256,
		},
	}
	return resources.NewRecord(ctx, t, resources.NewDatasource{Datasource: d, Job: domain.NewIngestJob(d, store), Priority: record.PriorityFresh}, store)
}

// addAgain updates the datasource of a file that the datastore already has.
func (c *Files) addAgain(ctx context.Context, t *db.Tx, r *record.Record, store domain.Datastore, f NewFile) error {
	changed := r.Status == domain.StatusError || r.Status == domain.StatusSkipped
	if f.Attributes != nil && !sameAttributes(f.Attributes, r.Metadata) {
		r.Metadata, changed = f.Attributes, true
	}
	if f.Chunking != nil && (r.Config.Chunking == nil || *f.Chunking != *r.Config.Chunking) {
		r.Config.Chunking, changed = f.Chunking, true
	}
	if !changed {
		return nil
	}
	r.UpdatedAt = db.FromMicros(t.Stamp())
	return c.sites.Restart(ctx, t, r, store, domain.NewIngestJob(r.Datasource, store), record.PriorityFresh)
}

func sameAttributes(a, b map[string]any) bool {
	return len(a) == 0 && len(b) == 0 || maps.EqualFunc(a, b, func(a, b any) bool { return reflect.DeepEqual(a, b) })
}

// StoredFile returns the datastore's datasource for a file. If a datasource was created without a file, fileID is the
// datasource's own id.
func (c *Files) StoredFile(ctx context.Context, ws, datastoreID, fileID string) (domain.Datasource, error) {
	r, err := record.Scan(c.db.Read.QueryRow(ctx, `SELECT `+record.Columns+` FROM datasources
		WHERE file_id = ? AND file_id <> '' AND datastore_id || '' = ? AND workspace_id || '' = ? AND `+record.NotDeleted+` ORDER BY id LIMIT 1`,
		fileID, datastoreID, ws))
	if errors.Is(err, sql.ErrNoRows) {
		r, err = record.Scan(c.db.Read.QueryRow(ctx, `SELECT `+record.Columns+` FROM datasources
			WHERE id = ? AND file_id = '' AND datastore_id || '' = ? AND workspace_id || '' = ? AND `+isFile+` AND `+record.InExistingStore, fileID, datastoreID, ws))
	}
	return r.Datasource, db.MapNotFound(err, "file", fileID)
}

// FileDatasource returns one of the workspace's datasources that was created without a file. Vector stores list such a
// datasource as a file whose id is the datasource's.
func (c *Files) FileDatasource(ctx context.Context, ws, fileID string) (domain.Datasource, error) {
	r, err := record.Scan(c.db.Read.QueryRow(ctx, `SELECT `+record.Columns+` FROM datasources
		WHERE id = ? AND file_id = '' AND workspace_id || '' = ? AND `+isFile+` AND `+record.InExistingStore, fileID, ws))
	return r.Datasource, db.MapNotFound(err, "file", fileID)
}

// FilesOfStore returns a page of a datastore's files and reports whether more follow. If any statuses are given, it
// returns only files with one of them.
func (c *Files) FilesOfStore(ctx context.Context, ws, datastoreID string, statuses []domain.Status, p Page) ([]domain.Datasource, bool, error) {
	if _, err := record.DatastoreOf(ctx, c.db.Read, ws, datastoreID, ""); err != nil {
		return nil, false, err
	}
	l := db.List{Columns: record.Columns, Table: `datasources`}
	l.And(`datastore_id = ? AND `+isFile, datastoreID)
	andStatuses(&l, `status`, statuses)
	records, more, err := list(ctx, c.db.Read, l, p, record.Scan, func(id string) (position, error) {
		d, err := c.StoredFile(ctx, ws, datastoreID, id)
		return position{db.Micros(d.CreatedAt), d.ID}, err
	})
	out := make([]domain.Datasource, len(records))
	for i, r := range records {
		out[i] = r.Datasource
	}
	return out, more, err
}

// UnfinishedFiles counts a datastore's files that have not been processed yet, up to `limit`.
func (c *Files) UnfinishedFiles(ctx context.Context, datastoreID string, limit int) (n int, err error) {
	err = c.db.Read.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM datasources
		WHERE datastore_id = ? AND status IN ('unsynched', 'pending', 'running') LIMIT ?) AS unfinished`, datastoreID, limit).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting unfinished files: %w", err)
	}
	return n, nil
}

func andStatuses(l *db.List, column string, statuses []domain.Status) {
	if len(statuses) == 0 {
		return
	}
	condition, args := column+` IN (`, []any{}
	for i, s := range statuses {
		if i > 0 {
			condition += `, `
		}
		condition += `?`
		args = append(args, s)
	}
	l.And(condition+`)`, args...)
}
