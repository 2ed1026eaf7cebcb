package embedded

import (
	"context"
	"database/sql"
	"fmt"
)

// Which slots are in cells stands in a table of its own, as which are live does. It means nothing unless the state tells of cells.

const listedTable = `CREATE TABLE IF NOT EXISTS listed (
	chunk INTEGER PRIMARY KEY, -- 65,536 slots
	bits  BLOB NOT NULL
)`

// storeListed stores all slots that are in cells.
func storeListed(ctx context.Context, tx *sql.Tx, listed bitset) error {
	for _, statement := range []string{listedTable, `DELETE FROM listed`} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("making room for the slots in cells: %w", err)
		}
	}
	e := listed.edit()
	for chunk, words := range e.chunks {
		e.dirty[chunk] = words != nil
	}
	return storeChunks(ctx, tx, "listed", e)
}

// unlist takes slots that are written anew out of the cells.
func (s *snapshot) unlist(ctx context.Context, tx *sql.Tx, slots []uint32) error {
	s.written += int64(len(slots))
	in := s.listedAmong(slots)
	if len(in) == 0 {
		return nil
	}
	e := s.listed.edit()
	for _, slot := range in {
		e.clear(slot)
	}
	s.listed = e.done()
	return storeChunks(ctx, tx, "listed", e)
}
