package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/cache"
)

// Rows are immutable: a replacement goes to another slot. A cached row is valid until its slot is reused, when no
// reader can see the row any more.

func (s *Space) rowKey(slot uint32) cache.Key {
	return cache.Key{Space: s.number, Kind: cache.Row, ID: int64(slot)}
}

// dropRows uncaches the rows in slots that are about to be reused.
func (s *Space) dropRows(slots []uint32) {
	for _, slot := range slots {
		s.caches.Rows.Drop(s.rowKey(slot))
	}
}

// rowsIn returns the rows in the given slots, without metadata. The slots must be live and ascending. The rows are
// shared and must not be modified.
func (v View) rowsIn(ctx context.Context, slots []uint32) ([]*storedRow, error) {
	out := make([]*storedRow, len(slots))
	for i, slot := range slots {
		if r, ok := v.space.caches.Rows.Get(v.space.rowKey(slot)); ok {
			out[i] = r.(*storedRow)
		}
	}
	missing := missingRows(slots, out)
	if len(missing) > 0 && v.reading.tx == nil {
		// Outside a transaction, the database may be newer than the view. But slots in the view aren't reused while it
		// exists, so any row found here is the right one, and only deleted rows can be missing.
		if err := v.readRows(ctx, v.space.readRows, slots, missing, out); err != nil {
			return nil, err
		}
		missing = missingRows(slots, out)
	}
	if len(missing) == 0 {
		return out, nil
	}
	tx, err := v.transaction(ctx)
	if err != nil {
		return nil, err
	}
	read := tx.StmtContext(ctx, v.space.readRows)
	defer func() { _ = read.Close() }()
	if err := v.readRows(ctx, read, slots, missing, out); err != nil {
		return nil, err
	}
	if n := len(missingRows(slots, out)); n > 0 {
		return nil, fmt.Errorf("%w: %d of %d rows are missing", index.ErrCorrupt, n, len(slots))
	}
	return out, nil
}

func missingRows(slots []uint32, rows []*storedRow) (out []uint32) {
	for i, slot := range slots {
		if rows[i] == nil {
			out = append(out, slot)
		}
	}
	return out
}

func (v View) readRows(ctx context.Context, read *sql.Stmt, slots, missing []uint32, out []*storedRow) error {
	list, err := json.Marshal(missing)
	if err != nil {
		return fmt.Errorf("listing slots: %w", err)
	}
	rows, err := read.QueryContext(ctx, string(list))
	if err != nil {
		return fmt.Errorf("reading rows: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		r, err := scanRow(rows.Scan)
		if err != nil {
			return err
		}
		at, ok := slices.BinarySearch(slots, r.slot)
		if !ok || out[at] != nil {
			return fmt.Errorf("%w: there is a row in slot %d, which was not requested", index.ErrCorrupt, r.slot)
		}
		r.metadata = nil // hits have no metadata
		out[at] = r
		v.space.caches.Rows.Put(v.space.rowKey(r.slot), r, r.bytes())
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading rows: %w", err)
	}
	return nil
}

// Metadata implements lexical.Source.
func (v View) Metadata(ctx context.Context, slots []uint32, f func(slot uint32, metadata map[string]any) error) error {
	tx, err := v.transaction(ctx)
	if err != nil {
		return err
	}
	read := tx.StmtContext(ctx, v.space.readRows)
	defer func() { _ = read.Close() }()
	for batch := range slices.Chunk(slots, metadataBatch) {
		if err := eachMetadata(ctx, read, batch, f); err != nil {
			return err
		}
	}
	return nil
}

// Number of rows whose metadata is read per statement.
const metadataBatch = 1000

func eachMetadata(ctx context.Context, read *sql.Stmt, slots []uint32, f func(slot uint32, metadata map[string]any) error) error {
	list, err := json.Marshal(slots)
	if err != nil {
		return fmt.Errorf("listing slots: %w", err)
	}
	rows, err := read.QueryContext(ctx, string(list))
	if err != nil {
		return fmt.Errorf("reading metadata: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		r, err := scanRow(rows.Scan)
		if err != nil {
			return err
		}
		if err := r.decodeMetadata(); err != nil {
			return err
		}
		if err := f(r.slot, r.Metadata); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading metadata: %w", err)
	}
	return nil
}

// bytes returns the approximate size of the row in memory.
func (s *storedRow) bytes() int64 {
	const fixed = 512
	return int64(fixed + len(s.Key) + len(s.DatasourceID) + len(s.CustomID) + len(s.heading) + len(s.Context) + len(s.Text))
}

// RowsOf returns up to `limit` rows from a generation, sorted by ordinal from fromOrdinal on, with vectors and
// metadata.
func (v View) RowsOf(ctx context.Context, datasourceID string, generation uint64, fromOrdinal, limit int) ([]index.Row, error) {
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
		if r.slot >= v.Slots || !v.Live.Has(r.slot) {
			return nil, fmt.Errorf("%w: there is a row in slot %d, which is not live", index.ErrCorrupt, r.slot)
		}
		if r.Vector, err = v.Vector(r.slot); err != nil {
			return nil, err
		}
		out = append(out, r.Row)
	}
	return out, rows.Err()
}

// Count returns the number of rows in a generation.
func (v View) Count(ctx context.Context, datasourceID string, generation uint64) (n int64, err error) {
	err = v.reading.tx.QueryRowContext(ctx, `SELECT count(*) FROM rows WHERE datasource = ? AND generation = ?`,
		datasourceID, storedGeneration(generation)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting: %w", err)
	}
	return n, nil
}

// Stored calls f with each generation of each datasource. It stops if f returns an error.
func (v View) Stored(ctx context.Context, f func(index.Stored) error) error {
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

// Fill completes the hits in `wanted`, which maps slots to hits. It skips hits whose row has been removed or replaced
// since the search.
func (v View) Fill(ctx context.Context, wanted map[uint32]*index.Hit) error {
	slots := make([]uint32, 0, len(wanted))
	for slot := range wanted {
		if slot < v.Slots && v.Live.Has(slot) {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	rows, err := v.rowsIn(ctx, slots)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if h := wanted[r.slot]; h.Key == r.Key {
			h.Row, h.Complete = r.Row, true
		}
	}
	return nil
}
