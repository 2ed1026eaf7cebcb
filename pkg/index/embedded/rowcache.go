package embedded

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/index"
)

// A row is never changed where it lies: what replaces it gets a slot of its own. So a row that was read is kept until its slot
// is given to another one, which happens only when nobody reads a version of the space that has it.

func (s *space) rowKey(slot uint32) cacheKey {
	return cacheKey{space: s.number, kind: cachedRow, id: int64(slot)}
}

// dropRows forgets the rows that were in slots before. It is called before others are committed there.
func (s *space) dropRows(slots []uint32) {
	for _, slot := range slots {
		s.rows.drop(s.rowKey(slot))
	}
}

// rowsIn returns the rows of live slots, which are in ascending order, in that order, without metadata. They are shared and
// must not be changed.
func (v view) rowsIn(ctx context.Context, slots []uint32) ([]*stored, error) {
	out := make([]*stored, len(slots))
	for i, slot := range slots {
		if r, ok := v.space.rows.get(v.space.rowKey(slot)); ok {
			out[i] = r.(*stored)
		}
	}
	missing := lacking(slots, out)
	if len(missing) > 0 && v.reading.tx == nil {
		// What the database holds in these slots now are the rows of this view: none is changed there, and no slot is used again
		// while somebody reads. Only what has been deleted since is missing.
		if err := v.readRows(ctx, v.space.readRows, slots, missing, out); err != nil {
			return nil, err
		}
		missing = lacking(slots, out)
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
	if n := len(lacking(slots, out)); n > 0 {
		return nil, fmt.Errorf("%w: %d of %d rows are missing", index.ErrCorrupt, n, len(slots))
	}
	return out, nil
}

// lacking lists the slots whose rows are not there.
func lacking(slots []uint32, rows []*stored) (out []uint32) {
	for i, slot := range slots {
		if rows[i] == nil {
			out = append(out, slot)
		}
	}
	return out
}

// readRows reads the missing ones of the rows of slots into out, as far as they are there.
func (v view) readRows(ctx context.Context, read *sql.Stmt, slots, missing []uint32, out []*stored) error {
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
			return fmt.Errorf("%w: a row lies in slot %d, which was not asked for", index.ErrCorrupt, r.slot)
		}
		r.metadata = nil // which nobody asks for
		out[at] = r
		v.space.rows.put(v.space.rowKey(r.slot), r, r.bytes())
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading rows: %w", err)
	}
	return nil
}

// bytes is about what the row takes in memory.
func (s *stored) bytes() int64 {
	const fixed = 512
	return int64(fixed + len(s.Key) + len(s.DatasourceID) + len(s.CustomID) + len(s.heading) + len(s.Context) + len(s.Text))
}
