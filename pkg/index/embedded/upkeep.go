package embedded

import (
	"context"
	"database/sql"
	"fmt"
)

// snapshot returns the state that was committed last.
func (s *space) snapshot() *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// hold returns the current state, whose slots nobody uses again until it is let go, and whether the space is quiet. It is no reader's:
// the states that follow are not kept for it, however long it takes.
func (s *space) hold() (held *snapshot, quiet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = s.current
	return s.held, s.quiet
}

func (s *space) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = nil
}

// oldestUse returns the version below which nobody reads, and none is held. The caller holds mu.
func (s *space) oldestUse() int64 {
	if s.held != nil {
		return min(s.held.version, s.oldestReader())
	}
	return s.oldestReader()
}

// makeCells does what is to be done about the cells. Readers and writers go on meanwhile.
func (s *space) makeCells(ctx context.Context) error {
	s.cutMu.Lock()
	defer s.cutMu.Unlock()
	snap, quiet := s.hold()
	defer s.letGo()
	work := snap.wantsCells(quiet)
	if work == cellsDone {
		return nil
	}
	c, files, err := s.vectors.drawCells(ctx, &snap.vectorSet, work, uint64(snap.version))
	if err != nil {
		return fmt.Errorf("making cells: %w", err)
	}
	return s.takeCells(ctx, snap, c, files)
}

// takeCells has searches from now on use the cells that were made of an earlier snapshot, unless they do not fit any longer.
func (s *space) takeCells(ctx context.Context, from *snapshot, c *cells, files *cellFiles) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.current.epoch != from.epoch { // other codes have been made meanwhile
		return files.remove()
	}
	err := s.commit(ctx, func(tx *sql.Tx, next *snapshot) error {
		next.cells, next.listed, next.written = c, bitset{}, next.written-from.written
		if files != nil {
			// What was live then is in the cells. No such slot has been used again since.
			next.listed = from.live
		}
		return storeListed(ctx, tx, next.listed)
	})
	if err != nil {
		s.vectors.oldCells = append(s.vectors.oldCells, files) // until it is known whether it was committed
		return fmt.Errorf("taking cells into use: %w", err)
	}
	s.mu.Lock()
	version, oldest := s.current.version, s.oldestReader()
	s.mu.Unlock()
	s.vectors.replaceCells(files, version)
	return s.vectors.closeOldCells(oldest)
}

// recode makes the codes that a space of an earlier program lacks, and reports whether it did.
func (s *space) recode(ctx context.Context) (bool, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if !s.current.wantsCodes() {
		return false, nil
	}
	if err := s.prepareWriting(ctx); err != nil {
		return false, err
	}
	if err := s.commit(ctx, func(_ *sql.Tx, next *snapshot) error { return s.vectors.renewCodes(ctx, &next.vectorSet) }); err != nil {
		return false, fmt.Errorf("making codes of vectors: %w", err)
	}
	s.vectors.adoptCodes()
	return true, nil
}

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
	return storeChunks(ctx, tx, "listed", listed.rewrite())
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

// makeCodesOf makes the codes that a snapshot's space keeps of the vectors of rows, unless they have them.
func makeCodesOf(rows []*prepared, of *vectorSet) {
	if !of.coded() {
		return
	}
	encode := of.encoder()
	for _, p := range rows {
		if p.code == nil || p.epoch != of.epoch {
			p.code, p.fine = encode(p.row.Vector)
			p.epoch = of.epoch
		}
	}
}
