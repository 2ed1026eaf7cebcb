package record

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// Where several processes write at once, a transaction takes its locks in one order, so that none waits for another in
// a ring:
//
//  0. the gate of what a workspace stores, where that is limited;
//  1. the gates of datastores: shared by everything that depends on where a datastore is, alone by what moves or deletes
//     it, for which the others then wait in turn;
//  2. the gate of upserts of a datastore;
//  3. rows of sites, then rows of other datasources, each by id;
//  4. everything else.
//
// A ring that comes about nonetheless ends with one of them being run again. SQLite runs one transaction after another
// and needs none of this.

// ShareDatastores keeps the datastores from moving and from being deleted until the transaction ends.
func ShareDatastores(ctx context.Context, t *db.Tx, datastoreIDs ...string) error {
	return t.Share(ctx, "datastore", datastoreIDs...)
}

// LockDatastore waits until no other transaction depends on where the datastore is, and keeps others from beginning.
func LockDatastore(ctx context.Context, t *db.Tx, datastoreID string) error {
	return t.Alone(ctx, "datastore", datastoreID)
}

// QueueUpserts lets one transaction at a time look for custom ids of the datastore and store what it did not find.
func QueueUpserts(ctx context.Context, t *db.Tx, datastoreID string) error {
	return t.QueueFor(ctx, "upserts", datastoreID)
}

// knownStores are the datastores that a transaction has read.
type knownStores map[string]domain.Datastore

// ShareDatastore reads a datastore that stays as it is, name and description aside, until the transaction ends; sql.ErrNoRows
// when it is gone.
func ShareDatastore(ctx context.Context, t *db.Tx, id string) (domain.Datastore, error) {
	stores := db.Local(t, func() knownStores { return knownStores{} })
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

// OwnDatastore is datastore for a caller of the workspace.
func OwnDatastore(ctx context.Context, t *db.Tx, ws, id string) (domain.Datastore, error) {
	d, err := ShareDatastore(ctx, t, id)
	if err == nil && d.WorkspaceID != ws {
		return domain.Datastore{}, domain.NotFound("datastore", id)
	}
	return d, db.Found(err, "datastore", id)
}

// Take reads a datasource to be written, and its datastore as it is until the transaction ends; sql.ErrNoRows when
// either is gone.
func Take(ctx context.Context, t *db.Tx, id string) (Record, domain.Datastore, error) {
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
	gone, err := Doomed(ctx, t, r.Datasource)
	if err == nil && gone {
		err = sql.ErrNoRows
	}
	return r, store, err
}

// LockDatasources takes the rows of datasources that the transaction will read and write, those of their sites first.
// Ids that are unknown do not matter.
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

// LockRows takes rows of datasources in the order of their ids.
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
