package embedded

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluice/sluice/pkg/index"
)

// cellFiles are the files of cells, of one epoch.
type cellFiles struct {
	version               int64 // from which they are no longer read
	centres, means, lists *slotFile
}

// each lists the files, nil those that are not there.
func (f *cellFiles) each() []*slotFile { return []*slotFile{f.centres, f.means, f.lists} }

func (f *cellFiles) close() error {
	var errs []error
	for _, file := range f.each() {
		if file != nil {
			errs = append(errs, file.close())
		}
	}
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

// cellsPath is where what there is of the cells of an epoch lies: centres, means or lists.
func (f *vectorFiles) cellsPath(epoch int, what string) string {
	return filepath.Join(f.dir, fmt.Sprintf("cells-%d.%s", epoch, what))
}

// openCells opens the cells of a snapshot, if it has such and they are in order as far as can be told at once, and removes other
// files of cells. What is not in order is made anew.
func (f *vectorFiles) openCells(snap *vectorSet) error {
	c := snap.cells
	if c != nil && (!snap.coded() || c.coded != snap.epoch) {
		c = nil
	}
	if c != nil && c.reach.known() {
		files, err := f.openCellFiles(c, snap.dimensions)
		switch {
		case err == nil:
			f.cells, c.centres, c.means, c.lists = files, files.centres.view, files.means.view, files.lists.view
		case errors.Is(err, index.ErrCorrupt):
			c = nil
			if err := files.close(); err != nil {
				return err
			}
		default:
			return errors.Join(err, files.close())
		}
	}
	if snap.cells = c; !c.usable() {
		snap.listed = bitset{}
	}
	return f.removeOtherCells()
}

// openCellFiles opens the files of cells. When it fails it returns those that it has opened.
func (f *vectorFiles) openCellFiles(c *cells, dimensions int) (_ *cellFiles, err error) {
	of := &cellFiles{}
	if of.centres, err = openSlotFile(f.cellsPath(c.epoch, "centres"), recordsOf(centreBytes(dimensions), centreAlign), uint32(c.leaves)); err != nil {
		return of, err
	}
	if of.means, err = openSlotFile(f.cellsPath(c.epoch, "means"), recordsOf(meanBytes(dimensions), centreAlign), uint32(c.leaves+c.tops)); err != nil {
		return of, err
	}
	of.lists, err = openSlotFile(f.cellsPath(c.epoch, "lists"), listShape(dimensions), c.rows)
	return of, err
}

// removeOtherCells removes files of cells but those that are open.
func (f *vectorFiles) removeOtherCells() error {
	files, err := filepath.Glob(filepath.Join(f.dir, "cells-*"))
	if err != nil {
		return fmt.Errorf("listing files of cells: %w", err)
	}
	for _, path := range files {
		if f.cells != nil && slices.ContainsFunc(f.cells.each(), func(open *slotFile) bool { return open.path == path }) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing old cells: %w", err)
		}
	}
	return nil
}

// drawCells makes cells of a snapshot's rows and their files, which there are none of if it is better to have none.
func (f *vectorFiles) drawCells(ctx context.Context, snap *vectorSet, work cellWork, seed uint64) (_ *cells, _ *cellFiles, err error) {
	rng := rand.New(rand.NewPCG(seed, uint64(snap.rows)))
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
	f.cellEpoch++
	c, files, err := d.store(ctx, f, f.cellEpoch)
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

// replaceCells makes files those of the current lists, nil for none. Snapshots below the version may still read those before.
func (f *vectorFiles) replaceCells(files *cellFiles, version int64) {
	if f.cells != nil {
		f.cells.unlink()
		f.cells.version = version
		f.oldCells = append(f.oldCells, f.cells)
	}
	f.cells = files
}

// closeOldCells closes the files of cells that nobody reads any longer. oldest is the version below which nobody reads.
func (f *vectorFiles) closeOldCells(oldest int64) error {
	var kept []*cellFiles
	var errs []error
	for _, c := range f.oldCells {
		if c == nil {
			continue
		}
		if c.version == 0 || c.version > oldest {
			kept = append(kept, c)
			continue
		}
		errs = append(errs, c.close())
	}
	f.oldCells = kept
	return errors.Join(errs...)
}
