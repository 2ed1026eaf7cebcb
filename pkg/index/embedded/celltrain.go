package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/sluice/sluice/pkg/index"
)

// cutLater queues a space for the one that cuts cells, when it needs it.
func (x *Index) cutLater(s *space, id index.Space) {
	if s.cellWork() == cellsDone {
		return
	}
	if _, waiting := x.cutQueued.LoadOrStore(id, struct{}{}); waiting {
		return
	}
	select {
	case x.cuts <- id:
	default:
		x.cutQueued.Delete(id)
	}
}

// mendCells has cells made anew that a search has found damaged.
func (x *Index) mendCells(s *space, id index.Space) {
	s.mu.Lock()
	c := s.current.cells
	s.mu.Unlock()
	if c != nil && c.broken.Load() {
		x.cutLater(s, id)
	}
}

// cellWork tells what is to be done about the cells.
func (s *space) cellWork() cellWork {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.wantsCells(s.quiet)
}

// runCuts makes the cells of one space at a time until the index is closed. Merges of other spaces do not wait for it.
func (x *Index) runCuts(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-x.cuts:
			x.cutQueued.Delete(id)
			err := x.cutting.with(ctx, x, id, (*space).makeCells)
			// Damage of vectors or codes is noted where it is met, and looked into.
			known := errors.Is(err, errNoSpace) || errors.Is(err, index.ErrClosed) || errors.Is(err, index.ErrCorrupt)
			if err != nil && ctx.Err() == nil && !known {
				x.log.Error("making cells of vectors", "datastore", id.DatastoreID, "error", err)
			}
		}
	}
}

// cutting knows of the datastores whose cells are being made.
type cutting struct {
	mu    sync.Mutex
	stops map[*index.Space]context.CancelFunc
}

// with makes cells of a space, unless its datastore is dropped before or meanwhile: then it gives up, and fails with nothing.
func (c *cutting) with(ctx context.Context, x *Index, id index.Space, do func(s *space, ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	if c.stops == nil {
		c.stops = make(map[*index.Space]context.CancelFunc)
	}
	c.stops[&id] = cancel
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.stops, &id)
	}()
	err := x.use(ctx, id, false, func(s *space) error { return do(s, ctx) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// leave has whoever makes cells of a datastore give up.
func (c *cutting) leave(datastore string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, stop := range c.stops {
		if id.DatastoreID == datastore {
			stop()
		}
	}
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
	c, files, err := s.drawCells(ctx, snap, work)
	if err != nil {
		return fmt.Errorf("making cells: %w", err)
	}
	return s.takeCells(ctx, snap, c, files)
}

// drawCells makes cells of a snapshot's rows and their files, which there are none of if it is better to have none.
func (s *space) drawCells(ctx context.Context, snap *snapshot, work cellWork) (_ *cells, _ *cellFiles, err error) {
	rng := rand.New(rand.NewPCG(uint64(snap.version), uint64(snap.rows)))
	var d *drawing
	var held []uint32
	if work == listCells {
		if d, err = redraw(snap); errors.Is(err, errCells) {
			work = cutCells
		} else if err == nil {
			err = d.assign(ctx)
		}
	}
	if work == cutCells {
		d, held, err = cut(ctx, snap, rng)
	}
	if err != nil {
		return nil, nil, err
	}
	s.cellEpoch++
	c, files, err := d.store(ctx, s, s.cellEpoch)
	if err != nil {
		return nil, nil, err
	}
	c.uneven = d.uneven()
	if work == listCells {
		old := snap.cells
		c.reach, c.cutAt, c.skewed, c.uneven = old.reach, old.cutAt, c.uneven > skewFactor*old.uneven, old.uneven
		return c, files, nil
	}
	c.cutAt = snap.rows
	if err := d.findReach(ctx, c, held, rng); err != nil {
		return nil, nil, errors.Join(err, files.remove())
	}
	if !c.reach.known() {
		return c, nil, files.remove()
	}
	return c, files, nil
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
		s.oldCells = append(s.oldCells, files) // until it is known whether it was committed
		return fmt.Errorf("taking cells into use: %w", err)
	}
	if s.cells != nil {
		s.cells.unlink()
		s.cells.version = s.current.version
		s.oldCells = append(s.oldCells, s.cells)
	}
	s.cells = files
	return s.closeOldCells()
}

// closeOldCells closes the files of cells that nobody reads any longer. The caller holds writeMu.
func (s *space) closeOldCells() error {
	s.mu.Lock()
	oldest := s.oldestReader()
	s.mu.Unlock()
	var kept []*cellFiles
	var errs []error
	for _, f := range s.oldCells {
		if f == nil {
			continue
		}
		if f.version == 0 || f.version > oldest {
			kept = append(kept, f)
			continue
		}
		errs = append(errs, f.close())
	}
	s.oldCells = kept
	return errors.Join(errs...)
}

// unlink removes the files' names. Where the system does not let go of files that are open, the next opening does.
func (f *cellFiles) unlink() {
	for _, file := range f.each() {
		if file != nil {
			_ = os.Remove(file.path)
		}
	}
}

// remove closes and removes files that no snapshot has seen. Of none it does nothing.
func (f *cellFiles) remove() error {
	if f == nil {
		return nil
	}
	f.unlink()
	return f.close()
}
