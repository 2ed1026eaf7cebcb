package catalog

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

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

// key is what PostgreSQL knows an advisory lock by. Two names with one key would only wait for each other.
func (d *database) key(kind, name string) int64 {
	sum := sha256.Sum256([]byte(strings.Join([]string{"sluice", d.scope, kind, name}, "\x1f")))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// share keeps the datastores from moving and from being deleted until the transaction ends.
func (t *tx) share(ctx context.Context, datastoreIDs ...string) error {
	return t.gates(ctx, `SELECT pg_advisory_xact_lock_shared(k) FROM unnest(CAST(? AS BIGINT[])) AS k`, datastoreIDs)
}

// alone waits until no other transaction depends on where the datastore is, and keeps others from beginning.
func (t *tx) alone(ctx context.Context, datastoreID string) error {
	return t.gates(ctx, `SELECT pg_advisory_xact_lock(k) FROM unnest(CAST(? AS BIGINT[])) AS k`, []string{datastoreID})
}

func (t *tx) gates(ctx context.Context, text string, datastoreIDs []string) error {
	if !t.db.dialect.shared {
		return nil
	}
	var keys []int64
	for _, id := range datastoreIDs {
		if k := t.db.key("datastore", id); !t.held[k] {
			t.held[k] = true
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	if _, err := t.exec(ctx, text, keys); err != nil {
		return fmt.Errorf("waiting for a datastore: %w", err)
	}
	return nil
}

// upsertsAlone lets one transaction at a time look for custom ids of the datastore and store what it did not find.
func (t *tx) upsertsAlone(ctx context.Context, datastoreID string) error {
	return t.queueFor(ctx, "upserts", datastoreID)
}

// queueFor lets one transaction at a time do what looks first and then acts on what it did not find.
func (t *tx) queueFor(ctx context.Context, kind, name string) error {
	if !t.db.dialect.shared {
		return nil
	}
	if _, err := t.exec(ctx, `SELECT pg_advisory_xact_lock(?)`, t.db.key(kind, name)); err != nil {
		return fmt.Errorf("waiting for other %s: %w", kind, err)
	}
	return nil
}

// datastore reads a datastore that stays as it is, name and description aside, until the transaction ends; sql.ErrNoRows
// when it is gone.
func (t *tx) datastore(ctx context.Context, id string) (domain.Datastore, error) {
	if d, known := t.stores[id]; known {
		return d, nil
	}
	if err := t.share(ctx, id); err != nil {
		return domain.Datastore{}, err
	}
	d, err := datastoreByID(ctx, t, id)
	if err == nil {
		t.stores[id] = d
	}
	return d, err
}

// own is datastore for a caller of the workspace.
func (t *tx) own(ctx context.Context, ws, id string) (domain.Datastore, error) {
	d, err := t.datastore(ctx, id)
	if err == nil && d.WorkspaceID != ws {
		return domain.Datastore{}, domain.NotFound("datastore", id)
	}
	return d, found(err, "datastore", id)
}

// take reads a datasource to be written, and its datastore as it is until the transaction ends; sql.ErrNoRows when
// either is gone.
func (t *tx) take(ctx context.Context, id string) (record, domain.Datastore, error) {
	var datastoreID string
	if err := t.queryRow(ctx, `SELECT datastore_id FROM datasources WHERE id = ?`, id).Scan(&datastoreID); err != nil {
		return record{}, domain.Datastore{}, err
	}
	store, err := t.datastore(ctx, datastoreID)
	if err != nil {
		return record{}, store, err
	}
	if err := t.lockDatasources(ctx, id); err != nil {
		return record{}, store, err
	}
	r, err := readRecord(ctx, t, id)
	if err != nil || r.GroupID == "" {
		return r, store, err
	}
	gone, err := doomed(ctx, t, r.Datasource)
	if err == nil && gone {
		err = sql.ErrNoRows
	}
	return r, store, err
}

// lockDatasources takes the rows of datasources that the transaction will read and write, those of their sites first.
// Ids that are unknown do not matter.
func (t *tx) lockDatasources(ctx context.Context, ids ...string) error {
	if !t.db.dialect.shared {
		return nil
	}
	var sites []string
	err := inLists(t.db.dialect, ids, func(in string, args []any) error {
		groups, err := collect(ctx, t, scanString, `SELECT DISTINCT group_id FROM datasources WHERE group_id <> '' AND id `+in+``, args...)
		sites = append(sites, groups...)
		return err
	})
	if err != nil {
		return fmt.Errorf("looking for sites: %w", err)
	}
	if err := t.lockRows(ctx, sites); err != nil || len(ids) == 1 {
		return err // a single row is locked when it is read
	}
	return t.lockRows(ctx, ids)
}

// lockRows takes rows of datasources in the order of their ids.
func (t *tx) lockRows(ctx context.Context, ids []string) error {
	if !t.db.dialect.shared {
		return nil
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return inLists(t.db.dialect, ids, func(in string, args []any) error {
		if _, err := t.exec(ctx, `SELECT 1 FROM datasources WHERE id `+in+` ORDER BY id FOR UPDATE`, args...); err != nil {
			return fmt.Errorf("waiting for datasources: %w", err)
		}
		return nil
	})
}
