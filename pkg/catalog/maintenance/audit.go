package maintenance

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// ActiveState is the part of a datasource's state that audits compare with the index.
type ActiveState struct {
	DatasourceID string
	Generation   uint64 // active generation; 0 if there is none yet
	Chunks       int64  // chunks of that generation
	Fence        uint64
	Target       *domain.Target // generation in the place the datastore is moving to; may be nil
	Status       domain.Status
}

// EachActive calls f for each of the datastore's datasources, oldest first, for comparison with the index. It stops at
// the first error from f and returns it. It may miss changes made while it is running.
func (c *Maintenance) EachActive(ctx context.Context, datastoreID string, f func(ActiveState) error) error {
	type item struct {
		ActiveState
		createdAt int64
	}
	w := db.Walk[item]{
		Text: `SELECT id, active_generation, chunks, fence, target_generation, target_chunks, target_bytes, target_fingerprint,
			status, created_at FROM datasources
			WHERE datastore_id = ? AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?`,
		Args:  []any{datastoreID},
		After: []any{0, ""},
		Scan: func(s db.Scanner) (v item, err error) {
			var generation, fence, target int64
			var t domain.Target
			err = s.Scan(&v.DatasourceID, &generation, &v.Chunks, &fence, &target, &t.Chunks, &t.TextBytes, &t.Fingerprint,
				&v.Status, &v.createdAt)
			v.Generation, v.Fence = uint64(generation), uint64(fence)
			if t.Generation = uint64(target); target > 0 {
				v.Target = &t
			}
			return v, err
		},
		Key: func(v item) []any { return []any{v.createdAt, v.DatasourceID} },
	}
	return w.Run(ctx, c.db.Read, func(v item) error { return f(v.ActiveState) })
}

// OriginalRef is a reference to an original from a datasource, a file or an upload part.
type OriginalRef struct {
	WorkspaceID  string
	DatasourceID string // "" for files and parts
	Key          string
}

// EachOriginal calls f for every reference to an original: first for those from files and upload parts, then for those
// from datasources. It stops at the first error from f and returns it. Several datasources may refer to the same file's
// original.
func (c *Maintenance) EachOriginal(ctx context.Context, f func(OriginalRef) error) error {
	type owner struct {
		OriginalRef
		id string
	}
	for _, table := range []string{`files`, `upload_parts`} {
		w := db.Walk[owner]{
			Text:  `SELECT workspace_id, id, original_key FROM ` + table + ` WHERE id > ? ORDER BY id LIMIT ?`,
			After: []any{""},
			Scan:  db.Scan(func(v *owner) []any { return []any{&v.WorkspaceID, &v.id, &v.Key} }),
			Key:   func(v owner) []any { return []any{v.id} },
		}
		if err := w.Run(ctx, c.db.Read, func(v owner) error { return f(v.OriginalRef) }); err != nil {
			return err
		}
	}
	w := db.Walk[OriginalRef]{
		Text:  `SELECT workspace_id, id, original_key FROM datasources WHERE original_key <> '' AND id > ? ORDER BY id LIMIT ?`,
		After: []any{""},
		Scan:  db.Scan(func(v *OriginalRef) []any { return []any{&v.WorkspaceID, &v.DatasourceID, &v.Key} }),
		Key:   func(v OriginalRef) []any { return []any{v.DatasourceID} },
	}
	return w.Run(ctx, c.db.Read, f)
}
