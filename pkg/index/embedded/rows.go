package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/index"
)

// Rows implements index.Index.
func (x *Index) Rows(ctx context.Context, id index.Space, datasourceID string, generation uint64, fromOrdinal, limit int) ([]index.Row, error) {
	if limit < 0 {
		return nil, fmt.Errorf("%w: the limit %d is negative", index.ErrInvalid, limit)
	}
	var out []index.Row
	err := x.use(ctx, id, false, func(s *space) error {
		return s.read(ctx, func(v view) error {
			var err error
			out, err = v.rowsOf(ctx, datasourceID, generation, fromOrdinal, limit)
			return err
		})
	})
	if err != nil && !errors.Is(err, errNoSpace) {
		return nil, fmt.Errorf("reading rows of datasource %q: %w", datasourceID, err)
	}
	return out, nil
}

func (v view) rowsOf(ctx context.Context, datasourceID string, generation uint64, fromOrdinal, limit int) ([]index.Row, error) {
	rows, err := v.reading.tx.QueryContext(ctx, `SELECT `+rowColumns+` FROM rows
		WHERE datasource = ? AND generation = ? AND ordinal >= ? ORDER BY ordinal LIMIT ?`,
		datasourceID, storedGeneration(generation), fromOrdinal, limit)
	if err != nil {
		return nil, fmt.Errorf("selecting rows: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []index.Row
	for rows.Next() {
		r, err := scanRow(rows.Scan)
		if err != nil {
			return nil, err
		}
		if err := r.decodeMetadata(); err != nil {
			return nil, err
		}
		if r.slot >= v.slots || !v.live.has(r.slot) {
			return nil, fmt.Errorf("%w: a row lies in slot %d, which is not live", index.ErrCorrupt, r.slot)
		}
		if r.Vector, err = v.vector(r.slot); err != nil {
			return nil, err
		}
		out = append(out, r.Row)
	}
	return out, rows.Err()
}

// Count implements index.Index.
func (x *Index) Count(ctx context.Context, id index.Space, datasourceID string, generation uint64) (int64, error) {
	var n int64
	err := x.use(ctx, id, false, func(s *space) error {
		return s.read(ctx, func(v view) error {
			err := v.reading.tx.QueryRowContext(ctx, `SELECT count(*) FROM rows WHERE datasource = ? AND generation = ?`,
				datasourceID, storedGeneration(generation)).Scan(&n)
			if err != nil {
				return fmt.Errorf("counting: %w", err)
			}
			return nil
		})
	})
	if err != nil && !errors.Is(err, errNoSpace) {
		return 0, fmt.Errorf("counting rows of datasource %q: %w", datasourceID, err)
	}
	return n, nil
}

// Stored implements index.Index.
func (x *Index) Stored(ctx context.Context, id index.Space, f func(index.Stored) error) error {
	err := x.use(ctx, id, false, func(s *space) error {
		return s.read(ctx, func(v view) error { return v.stored(ctx, f) })
	})
	if errors.Is(err, errNoSpace) {
		return nil
	}
	return err
}

func (v view) stored(ctx context.Context, f func(index.Stored) error) error {
	rows, err := v.reading.tx.QueryContext(ctx, `SELECT datasource, generation, count(*) FROM rows GROUP BY datasource, generation`)
	if err != nil {
		return fmt.Errorf("counting rows: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s index.Stored
		var generation int64
		if err := rows.Scan(&s.DatasourceID, &generation, &s.Rows); err != nil {
			return fmt.Errorf("counting rows: %w", err)
		}
		s.Generation = loadedGeneration(generation)
		if err := f(s); err != nil {
			return err
		}
	}
	return rows.Err()
}
