package files

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// optionsRow is a row in vector_stores.
type optionsRow struct {
	datastoreID string
	domain.VectorStoreOptions
	lastActiveAt, expiresAt, expiredAt int64
}

func (o *optionsRow) row() db.Row {
	return db.Row{
		db.Fixed("datastore_id", &o.datastoreID),
		db.Col("metadata", &o.Metadata),
		db.Col("expires_days", &o.ExpiresDays),
		db.Col("last_active_at", &o.lastActiveAt),
		db.Col("expires_at", &o.expiresAt),
		db.Col("expired_at", &o.expiredAt),
	}
}

// touch records activity at the given time and so extends the vector store's life.
func (o *optionsRow) touch(at int64) {
	o.lastActiveAt, o.expiresAt = at, 0
	if o.ExpiresDays > 0 && o.expiredAt == 0 {
		o.expiresAt = at + int64(o.ExpiresDays)*day.Microseconds()
	}
}

const day = 24 * time.Hour

var optionsColumns = new(optionsRow).row().Columns("")

func readOptions(ctx context.Context, q db.Querier, datastoreID, lock string) (o optionsRow, err error) {
	err = o.row().Scan(q.QueryRow(ctx, `SELECT `+optionsColumns+` FROM vector_stores WHERE datastore_id = ?`+lock, datastoreID))
	if errors.Is(err, sql.ErrNoRows) {
		return optionsRow{datastoreID: datastoreID}, nil
	}
	if err != nil {
		err = fmt.Errorf("reading the properties of vector store %s: %w", datastoreID, err)
	}
	return o, err
}

func (o *optionsRow) store(ctx context.Context, t *db.Tx) error {
	args, err := o.row().InsertArgs()
	if err == nil {
		_, err = t.Exec(ctx, `INSERT INTO vector_stores (`+optionsColumns+`) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (datastore_id) DO UPDATE SET
			metadata = excluded.metadata, expires_days = excluded.expires_days, last_active_at = excluded.last_active_at,
			expires_at = excluded.expires_at, expired_at = excluded.expired_at`, args...)
	}
	if err != nil {
		return fmt.Errorf("storing the properties of vector store %s: %w", o.datastoreID, err)
	}
	return nil
}

// show returns a vector store without its counts.
func (o *optionsRow) show(d domain.Datastore) domain.VectorStore {
	v := domain.VectorStore{
		Datastore: d, VectorStoreOptions: o.VectorStoreOptions, LastActiveAt: optionalTime(o.lastActiveAt), ExpiresAt: optionalTime(o.expiresAt),
		Expired: o.expiredAt > 0,
	}
	if v.LastActiveAt.IsZero() {
		v.LastActiveAt = d.UpdatedAt
	}
	return v
}

// CreateVectorStore stores a datastore with its properties and adds files to it like AddFile, all or nothing.
func (c *Files) CreateVectorStore(ctx context.Context, d domain.Datastore, o domain.VectorStoreOptions, files []NewFile) (domain.VectorStore, error) {
	var v domain.VectorStore
	err := c.db.Update(ctx, "storing a vector store", func(t *db.Tx) error {
		return c.accounts.WithinStorage(ctx, t, d.WorkspaceID, func() error {
			if err := accounts.RequireWorkspace(ctx, t, d.WorkspaceID); err != nil {
				return err
			}
			at := t.Stamp()
			d.CreatedAt, d.UpdatedAt = db.FromMicros(at), db.FromMicros(at)
			n, err := record.InsertDatastore(ctx, t, d)
			if err := db.MapConflict(n, err, "datastore", d.ID); err != nil {
				return err
			}
			row := optionsRow{datastoreID: d.ID, VectorStoreOptions: o}
			row.touch(at)
			if err := row.store(ctx, t); err != nil {
				return err
			}
			v = row.show(d)
			if len(files) == 0 {
				return nil
			}
			_, err = c.add(ctx, t, d.WorkspaceID, d.ID, files, true)
			return err
		})
	})
	if err != nil {
		return v, err
	}
	return v, c.count(ctx, &v)
}

// VectorStore returns one of the workspace's vector stores.
func (c *Files) VectorStore(ctx context.Context, ws, id string) (domain.VectorStore, error) {
	d, err := record.DatastoreOf(ctx, c.db.Read, ws, id, "")
	if err != nil {
		return domain.VectorStore{}, err
	}
	o, err := readOptions(ctx, c.db.Read, id, "")
	if err != nil {
		return domain.VectorStore{}, err
	}
	v := o.show(d)
	return v, c.count(ctx, &v)
}

// VectorStores returns a page of the workspace's vector stores and reports whether more follow.
func (c *Files) VectorStores(ctx context.Context, ws string, p Page) ([]domain.VectorStore, bool, error) {
	l := db.List{Columns: record.DatastoreColumns, Table: `datastores`}
	l.And(`workspace_id = ? AND deleted_at = 0`, ws)
	stores, more, err := list(ctx, c.db.Read, l, p, record.ScanDatastore, func(id string) (position, error) {
		d, err := record.DatastoreOf(ctx, c.db.Read, ws, id, "")
		return position{db.Micros(d.CreatedAt), d.ID}, err
	})
	if err != nil {
		return nil, false, err
	}
	out := make([]domain.VectorStore, len(stores))
	shown := make([]*domain.VectorStore, len(stores))
	for i, d := range stores {
		o, err := readOptions(ctx, c.db.Read, d.ID, "")
		if err != nil {
			return nil, false, err
		}
		out[i] = o.show(d)
		shown[i] = &out[i]
	}
	return out, more, c.count(ctx, shown...)
}

// storeCount is the number (n) and total text size (bytes) of a datastore's datasources with a given status.
type storeCount struct {
	datastoreID string
	status      domain.Status
	n, bytes    int64
}

var scanStoreCount = db.Scan(func(v *storeCount) []any { return []any{&v.datastoreID, &v.status, &v.n, &v.bytes} })

// isFile selects the datasources that count as a vector store's files. Web sites and archives don't count, because they
// have no content of their own. Their pages and files do.
const isFile = `type NOT IN ('web_site', 'archive') AND ` + record.NotOfDeletedSite

// count fills in the vector stores' Counts and TextBytes.
func (c *Files) count(ctx context.Context, stores ...*domain.VectorStore) error {
	byID := map[string]*domain.VectorStore{}
	var ids []string
	for _, v := range stores {
		v.Counts, byID[v.ID] = map[domain.Status]int64{}, v
		ids = append(ids, v.ID)
	}
	return db.InLists(c.db.Read, ids, func(in string, args []any) error {
		counts, err := db.Collect(ctx, c.db.Read, scanStoreCount, `SELECT datastore_id, status, COUNT(*), CAST(COALESCE(SUM(text_bytes), 0) AS BIGINT)
			FROM datasources WHERE datastore_id `+in+` AND `+isFile+` GROUP BY datastore_id, status`, args...)
		if err != nil {
			return fmt.Errorf("counting files: %w", err)
		}
		for _, n := range counts {
			v := byID[n.datastoreID]
			v.Counts[n.status] += n.n
			v.TextBytes += n.bytes
		}
		return nil
	})
}

// UpdateVectorStore changes a vector store and returns it. The change counts as activity.
func (c *Files) UpdateVectorStore(ctx context.Context, ws, id string, p domain.VectorStorePatch) (domain.VectorStore, error) {
	err := c.db.Update(ctx, "changing a vector store", func(t *db.Tx) error {
		d, err := record.DatastoreOf(ctx, t, ws, id, t.Lock)
		if err != nil {
			return err
		}
		at := t.Stamp()
		if p.Name != nil {
			d.Name, d.UpdatedAt = *p.Name, db.FromMicros(at)
			if err := record.StoreDatastore(ctx, t, d); err != nil {
				return err
			}
		}
		o, err := readOptions(ctx, t, id, t.Lock)
		if err != nil {
			return err
		}
		if p.Metadata != nil {
			o.Metadata = *p.Metadata
		}
		if p.ExpiresDays != nil {
			o.ExpiresDays = *p.ExpiresDays
		}
		o.touch(at)
		return o.store(ctx, t)
	})
	if err != nil {
		return domain.VectorStore{}, err
	}
	return c.VectorStore(ctx, ws, id)
}
