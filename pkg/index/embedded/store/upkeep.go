package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

// Snapshot returns the state that was committed last.
func (s *Space) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// pinCurrent returns the current state, whose slots nobody uses again until it is let go, and whether the space is quiet. It is no reader's:
// the states that follow are not kept for it, however long it takes.
func (s *Space) pinCurrent() (held *Snapshot, quiet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned = s.current
	return s.pinned, s.idle
}

func (s *Space) unpin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned = nil
}

// oldestUse returns the version below which nobody reads, and none is held. The caller holds mu.
func (s *Space) oldestUse() int64 {
	if s.pinned != nil {
		return min(s.pinned.Version, s.oldestReader())
	}
	return s.oldestReader()
}

// MaintainIVF does what is to be done about the cells. Readers and writers go on meanwhile.
func (s *Space) MaintainIVF(ctx context.Context) error {
	s.ivfMu.Lock()
	defer s.ivfMu.Unlock()
	snap, quiet := s.pinCurrent()
	defer s.unpin()
	work := snap.IVFWork(quiet)
	if work == vector.NoWork {
		return nil
	}
	c, files, err := s.vectors.BuildIVF(ctx, &snap.Set, work, uint64(snap.Version))
	if err != nil {
		return fmt.Errorf("making cells: %w", err)
	}
	return s.adoptIVF(ctx, snap, c, files)
}

// adoptIVF has searches from now on use the cells that were made of an earlier snapshot, unless they do not fit any longer.
func (s *Space) adoptIVF(ctx context.Context, from *Snapshot, c *vector.IVF, files *vector.IVFFiles) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.current.Epoch != from.Epoch { // other codes have been made meanwhile
		return files.Remove()
	}
	err := s.commit(ctx, func(tx *sql.Tx, next *Snapshot) error {
		next.IVF, next.Assigned, next.Written = c, bitmap.Bitmap{}, next.Written-from.Written
		if files != nil {
			// What was live then is in the cells. No such slot has been used again since.
			next.Assigned = from.Live
		}
		return storeListed(ctx, tx, next.Assigned)
	})
	if err != nil {
		s.vectors.Retired = append(s.vectors.Retired, files) // until it is known whether it was committed
		return fmt.Errorf("taking cells into use: %w", err)
	}
	s.mu.Lock()
	version, oldest := s.current.Version, s.oldestReader()
	s.mu.Unlock()
	s.vectors.ReplaceIVF(files, version)
	return s.vectors.CloseRetired(oldest)
}

// recode makes the codes that a space of an earlier program lacks, and reports whether it did.
func (s *Space) recode(ctx context.Context) (bool, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if !s.current.NeedsCodes() {
		return false, nil
	}
	if err := s.prepareWriting(ctx); err != nil {
		return false, err
	}
	if err := s.commit(ctx, func(_ *sql.Tx, next *Snapshot) error { return s.vectors.RenewCodes(ctx, &next.Set) }); err != nil {
		return false, fmt.Errorf("making codes of vectors: %w", err)
	}
	s.vectors.AdoptCodes()
	return true, nil
}

// Which slots are in cells stands in a table of its own, as which are live does. It means nothing unless the state tells of cells.

const listedTable = `CREATE TABLE IF NOT EXISTS listed (
	chunk INTEGER PRIMARY KEY, -- 65,536 slots
	bits  BLOB NOT NULL
)`

// storeListed stores all slots that are in cells.
func storeListed(ctx context.Context, tx *sql.Tx, listed bitmap.Bitmap) error {
	for _, statement := range []string{listedTable, `DELETE FROM listed`} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("making room for the slots in cells: %w", err)
		}
	}
	return storeChunks(ctx, tx, "listed", listed.Rewrite())
}

// unlist takes slots that are written anew out of the cells.
func (s *Snapshot) unlist(ctx context.Context, tx *sql.Tx, slots []uint32) error {
	s.Written += int64(len(slots))
	in := s.AssignedAmong(slots)
	if len(in) == 0 {
		return nil
	}
	e := s.Assigned.Edit()
	for _, slot := range in {
		e.Clear(slot)
	}
	s.Assigned = e.Done()
	return storeChunks(ctx, tx, "listed", e)
}

// makeCodesOf makes the codes that a snapshot's space keeps of the vectors of rows, unless they have them.
func makeCodesOf(rows []*Prepared, of *vector.Set) {
	if !of.HasCodes() {
		return
	}
	encode := of.Encoder()
	for _, p := range rows {
		if p.bits == nil || p.epoch != of.Epoch {
			p.bits, p.int8 = encode(p.row.Vector)
			p.epoch = of.Epoch
		}
	}
}
