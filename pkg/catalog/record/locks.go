package record

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// If several processes write concurrently, transactions take their locks in this order to avoid deadlocks:
//
//  1. the lock for a workspace's stored content, if its size is limited;
//  2. datastore locks: shared for transactions that depend on a datastore's place, exclusive for those that move or
//     delete it;
//  3. the lock for upserts into a datastore;
//  4. rows of sites, then rows of other datasources, both sorted by id;
//  5. everything else.
//
// If a deadlock occurs anyway, one of the transactions is retried. SQLite doesn't need locks, because its write
// transactions never overlap.

// ShareDatastores prevents the datastores from being moved or deleted until the transaction ends.
func ShareDatastores(ctx context.Context, t *db.Tx, datastoreIDs ...string) error {
	return t.LockShared(ctx, "datastore", datastoreIDs...)
}

// LockDatastore keeps other transactions from depending on the datastore's place (see ShareDatastores) until this
// transaction ends. It first waits for transactions that already depend on the place.
func LockDatastore(ctx context.Context, t *db.Tx, datastoreID string) error {
	return t.LockExclusive(ctx, "datastore", datastoreID)
}

// QueueUpserts makes upserts into the datastore wait for one another, because they look up custom ids and then create
// the datasources that they didn't find.
func QueueUpserts(ctx context.Context, t *db.Tx, datastoreID string) error {
	return t.LockCreation(ctx, "upserts", datastoreID)
}

type readStores map[string]domain.Datastore

// ShareDatastore reads a datastore and locks it until the transaction ends, except for its name and description. It
// fails with sql.ErrNoRows if the datastore is gone.
func ShareDatastore(ctx context.Context, t *db.Tx, id string) (domain.Datastore, error) {
	stores := db.Local(t, func() readStores { return readStores{} })
	if d, known := stores[id]; known {
		return d, nil
	}
	if err := ShareDatastores(ctx, t, id); err != nil {
		return domain.Datastore{}, err
	}
	d, err := DatastoreByID(ctx, t, id)
	if err == nil {
		stores[id] = d
	}
	return d, err
}

// ShareOwnDatastore is like ShareDatastore but fails if the datastore does not belong to the workspace.
func ShareOwnDatastore(ctx context.Context, t *db.Tx, ws, id string) (domain.Datastore, error) {
	d, err := ShareDatastore(ctx, t, id)
	if err == nil && d.WorkspaceID != ws {
		return domain.Datastore{}, domain.NotFound("datastore", id)
	}
	return d, db.MapNotFound(err, "datastore", id)
}

// LockDatasource returns a datasource and its datastore and locks both until the transaction ends. It fails with
// sql.ErrNoRows if either is gone.
func LockDatasource(ctx context.Context, t *db.Tx, id string) (Record, domain.Datastore, error) {
	var datastoreID string
	if err := t.QueryRow(ctx, `SELECT datastore_id FROM datasources WHERE id = ?`, id).Scan(&datastoreID); err != nil {
		return Record{}, domain.Datastore{}, err
	}
	store, err := ShareDatastore(ctx, t, datastoreID)
	if err != nil {
		return Record{}, store, err
	}
	if err := LockDatasources(ctx, t, id); err != nil {
		return Record{}, store, err
	}
	r, err := Read(ctx, t, id)
	if err != nil || r.GroupID == "" {
		return r, store, err
	}
	gone, err := IsDeleted(ctx, t, r.Datasource)
	if err == nil && gone {
		err = sql.ErrNoRows
	}
	return r, store, err
}

// LockDatasourceOf is like LockDatasource but fails with domain.CodeNotFound unless the datasource is in the workspace.
func LockDatasourceOf(ctx context.Context, t *db.Tx, ws, id string) (Record, domain.Datastore, error) {
	r, store, err := LockDatasource(ctx, t, id)
	if err == nil && r.WorkspaceID != ws {
		return r, store, domain.NotFound("datasource", id)
	}
	return r, store, db.MapNotFound(err, "datasource", id)
}

// LockDatasources locks the rows of datasources that the transaction will write, sites first. It ignores unknown ids.
func LockDatasources(ctx context.Context, t *db.Tx, ids ...string) error {
	if !t.IsShared() {
		return nil
	}
	var sites []string
	err := db.InLists(t, ids, func(in string, args []any) error {
		groups, err := db.Collect(ctx, t, db.ScanString, `SELECT DISTINCT group_id FROM datasources WHERE group_id <> '' AND id `+in+``, args...)
		sites = append(sites, groups...)
		return err
	})
	if err != nil {
		return fmt.Errorf("looking for sites: %w", err)
	}
	if err := LockRows(ctx, t, sites); err != nil || len(ids) == 1 {
		return err // a single row is locked when it is read
	}
	return LockRows(ctx, t, ids)
}

// LockRows locks datasources' rows in id order.
func LockRows(ctx context.Context, t *db.Tx, ids []string) error {
	if !t.IsShared() {
		return nil
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return db.InLists(t, ids, func(in string, args []any) error {
		if _, err := t.Exec(ctx, `SELECT 1 FROM datasources WHERE id `+in+` ORDER BY id FOR UPDATE`, args...); err != nil {
			return fmt.Errorf("waiting for datasources: %w", err)
		}
		return nil
	})
}
