package record

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// SiteOf returns the id of the site or archive that the datasource is or belongs to, or "" if there is none.
func SiteOf(d domain.Datasource) string {
	if d.Type.IsGroup() {
		return d.ID
	}
	return d.GroupID
}

// DeleteDatasources deletes datasources and queues sweeps for their data. The sweeps cover generations up to
// `generation` or the highest generation known to the catalog, whichever is higher.
//
// A deleted datasource may come back with the same id: a site's next crawl may find the page again, or a request with
// an idempotency key may be retried. The sweeps must not delete the new datasource's rows, so they don't cover higher
// generations. If the deleted datasource's jobs still write rows of higher generations, these rows are swept when the
// jobs' events arrive.
func DeleteDatasources(ctx context.Context, t *db.Tx, doomed []Record, generation uint64) error {
	if len(doomed) == 0 {
		return nil
	}
	mark, err := ReadMark(ctx, t)
	if err != nil {
		return err
	}
	var ids []string
	for _, d := range doomed {
		ids = append(ids, d.ID)
	}
	err = db.InLists(t, ids, func(in string, args []any) error {
		_, err := t.Exec(ctx, `DELETE FROM datasources WHERE id `+in, args...)
		return err
	})
	if err != nil {
		return err
	}
	for _, d := range doomed {
		s := domain.Sweep{
			WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID, DatasourceID: d.ID, Below: max(mark, generation) + 1, Jobs: true,
		}
		if d.Original != nil && d.Original.Key != "" {
			s.Originals = []string{d.Original.Key}
		}
		if err := QueueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// InExistingStore selects rows whose datastore is not deleted. There are few deleted datastores, and they are soon
// removed.
const InExistingStore = `datastore_id NOT IN (SELECT id FROM datastores WHERE deleted_at > 0)`

// NotDeleted selects datasources that were not deleted with their datastore or site.
const NotDeleted = InExistingStore + ` AND ` + NotOfDeletedSite

// NotOfDeletedSite selects datasources whose site, if any, is not deleted. There are few deleted sites, and they are
// soon removed.
const NotOfDeletedSite = `group_id NOT IN (SELECT site_id FROM doomed_sites)`

// IsDeleted reports whether the datasource is a deleted site or a page of one.
func IsDeleted(ctx context.Context, q db.Querier, d domain.Datasource) (bool, error) {
	if SiteOf(d) == "" {
		return false, nil
	}
	return db.Exists(ctx, q, `SELECT 1 FROM doomed_sites WHERE site_id = ?`, SiteOf(d))
}

// RemoveNext removes the next batch of a deleted object's data and reports whether there is more. next returns a
// deleted object that still has data, or sql.ErrNoRows. Usually there is no such object, so RemoveNext first calls next
// outside a transaction.
func RemoveNext[T any](ctx context.Context, d *db.DB, action string, next func(context.Context, db.Querier) (T, error), remove func(*db.Tx, T) error) (more bool, err error) {
	if _, err := next(ctx, d.Read); errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	err = d.Update(ctx, action, func(t *db.Tx) error {
		more = false
		if err := t.LockCreation(ctx, "removals", ""); err != nil {
			return err
		}
		one, err := next(ctx, t)
		if err == nil {
			if err = remove(t, one); err != nil {
				return err
			}
			_, err = next(ctx, t)
		}
		if more = err == nil; errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return more && err == nil, err
}
