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
	var missing []uint32
	for i, slot := range slots {
		if r, ok := v.space.rows.get(v.space.rowKey(slot)); ok {
			out[i] = r.(*stored)
		} else {
			missing = append(missing, slot)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	n, err := 0, error(nil)
	if v.reading.tx == nil {
		// What the database holds in these slots now are the rows of this view: none is changed there, and no slot is used again
		// while somebody reads. Only what has been deleted since is missing.
		n, err = v.readRows(ctx, v.space.readRows, slots, missing, out)
	}
	if err == nil && n < len(missing) {
		tx, begun := v.transaction(ctx)
		if begun != nil {
			return nil, begun
		}
		read := tx.StmtContext(ctx, v.space.readRows)
		defer func() { _ = read.Close() }()
		for _, slot := range missing {
			at, _ := slices.BinarySearch(slots, slot)
			out[at] = nil
		}
		n, err = v.readRows(ctx, read, slots, missing, out)
	}
	if err != nil {
		return nil, err
	}
	if n != len(missing) {
		return nil, fmt.Errorf("%w: %d of %d rows are missing", index.ErrCorrupt, len(missing)-n, len(missing))
	}
	return out, nil
}

// readRows reads the missing ones of the rows of slots into out, and tells how many there are.
func (v view) readRows(ctx context.Context, read *sql.Stmt, slots, missing []uint32, out []*stored) (n int, err error) {
	list, err := json.Marshal(missing)
	if err != nil {
		return 0, fmt.Errorf("listing slots: %w", err)
	}
	rows, err := read.QueryContext(ctx, string(list))
	if err != nil {
		return 0, fmt.Errorf("reading rows: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		r, err := scanRow(rows.Scan)
		if err != nil {
			return 0, err
		}
		at, ok := slices.BinarySearch(slots, r.slot)
		if !ok || out[at] != nil {
			return 0, fmt.Errorf("%w: a row lies in slot %d, which was not asked for", index.ErrCorrupt, r.slot)
		}
		r.metadata = nil // which nobody asks for
		out[at] = r
		n++
		v.space.rows.put(v.space.rowKey(r.slot), r, r.bytes())
	}
	if err := rows.Err(); err != nil {
		return 0, fmt.Errorf("reading rows: %w", err)
	}
	return n, nil
}

// bytes is about what the row takes in memory.
func (s *stored) bytes() int64 {
	const fixed = 512
	return int64(fixed + len(s.Key) + len(s.DatasourceID) + len(s.CustomID) + len(s.Heading) + len(s.Context) + len(s.Text))
}
