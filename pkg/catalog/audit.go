package catalog

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
)

// ActiveState is what an audit compares with the index.
type ActiveState struct {
	DatasourceID string
	Generation   uint64 // active; 0: none yet
	Chunks       int64  // of that generation
	Status       domain.Status
}

// EachActive calls f for every datasource of the datastore, oldest first, until f fails, and returns f's error: for
// comparing with what the index holds. What changes meanwhile is seen as it was before or as it is after.
func (c *Catalog) EachActive(ctx context.Context, datastoreID string, f func(ActiveState) error) error {
	type item struct {
		ActiveState
		createdAt int64
	}
	w := walk[item]{
		text: `SELECT id, active_generation, chunks, status, created_at FROM datasources
			WHERE datastore_id = ? AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?`,
		args:  []any{datastoreID},
		after: []any{0, ""},
		scan: func(s scanner) (v item, err error) {
			var generation int64
			err = s.Scan(&v.DatasourceID, &generation, &v.Chunks, &v.Status, &v.createdAt)
			v.Generation = uint64(generation)
			return v, err
		},
		key: func(v item) []any { return []any{v.createdAt, v.DatasourceID} },
	}
	return w.run(ctx, c.db.read, func(v item) error { return f(v.ActiveState) })
}

// EachOriginal calls f with the key of every original that a datasource refers to, until f fails, and returns f's error.
func (c *Catalog) EachOriginal(ctx context.Context, f func(key string) error) error {
	type item struct{ id, key string }
	w := walk[item]{
		text:  `SELECT id, original_key FROM datasources WHERE original_key <> '' AND id > ? ORDER BY id LIMIT ?`,
		after: []any{""},
		scan: func(s scanner) (v item, err error) {
			err = s.Scan(&v.id, &v.key)
			return v, err
		},
		key: func(v item) []any { return []any{v.id} },
	}
	return w.run(ctx, c.db.read, func(v item) error { return f(v.key) })
}
