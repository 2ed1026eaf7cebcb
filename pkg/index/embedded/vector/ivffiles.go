package vector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
)

// IVFFiles are the files of cells, of one epoch.
type IVFFiles struct {
	version                 int64 // from which they are no longer read
	centroids, means, codes *slotfile.File
}

// each lists the files, nil those that are not there.
func (f *IVFFiles) each() []*slotfile.File { return []*slotfile.File{f.centroids, f.means, f.codes} }

func (f *IVFFiles) close() error {
	var errs []error
	for _, file := range f.each() {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

// unlink removes the files' names. Where the system does not let go of files that are open, the next opening does.
func (f *IVFFiles) unlink() {
	for _, file := range f.each() {
		if file != nil {
			_ = os.Remove(file.Path)
		}
	}
}

// Remove closes and removes files that no snapshot has seen. Of none it does nothing.
func (f *IVFFiles) Remove() error {
	if f == nil {
		return nil
	}
	f.unlink()
	return f.close()
}

// ivfPath is where what there is of the cells of an epoch lies: centres, means or lists.
func (f *Files) ivfPath(epoch int, what string) string {
	return filepath.Join(f.Dir, fmt.Sprintf("cells-%d.%s", epoch, what))
}

// openIVF opens the cells of a snapshot, if it has such and they are in order as far as can be told at once, and removes other
// files of cells. What is not in order is made anew.
func (f *Files) openIVF(snap *Set) error {
	c := snap.IVF
	if c != nil && (!snap.HasCodes() || c.Coded != snap.Epoch) {
		c = nil
	}
	if c != nil && c.Radius.Known() {
		files, err := f.openIVFFiles(c, snap.Dimensions)
		switch {
		case err == nil:
			f.ivf, c.centroids, c.means, c.codes = files, files.centroids.View, files.means.View, files.codes.View
		case errors.Is(err, index.ErrCorrupt):
			c = nil
			if err := files.close(); err != nil {
				return err
			}
		default:
			return errors.Join(err, files.close())
		}
	}
	if snap.IVF = c; !c.Usable() {
		snap.Assigned = bitmap.Bitmap{}
	}
	return f.removeOtherIVF()
}

// openIVFFiles opens the files of cells. When it fails it returns those that it has opened.
func (f *Files) openIVFFiles(c *IVF, dimensions int) (_ *IVFFiles, err error) {
	of := &IVFFiles{}
	if of.centroids, err = slotfile.Open(f.ivfPath(c.Epoch, "centres"), slotfile.Records(centroidBytes(dimensions), centroidAlign), uint32(c.lists)); err != nil {
		return of, err
	}
	if of.means, err = slotfile.Open(f.ivfPath(c.Epoch, "means"), slotfile.Records(meanBytes(dimensions), centroidAlign), uint32(c.lists+c.coarse)); err != nil {
		return of, err
	}
	of.codes, err = slotfile.Open(f.ivfPath(c.Epoch, "lists"), listLayout(dimensions), c.Rows)
	return of, err
}

// removeOtherIVF removes files of cells but those that are open.
func (f *Files) removeOtherIVF() error {
	files, err := filepath.Glob(filepath.Join(f.Dir, "cells-*"))
	if err != nil {
		return fmt.Errorf("listing files of cells: %w", err)
	}
	for _, path := range files {
		if f.ivf != nil && slices.ContainsFunc(f.ivf.each(), func(open *slotfile.File) bool { return open.Path == path }) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing old cells: %w", err)
		}
	}
	return nil
}

// BuildIVF makes cells of a snapshot's rows and their files, which there are none of if it is better to have none.
func (f *Files) BuildIVF(ctx context.Context, snap *Set, work Work, seed uint64) (_ *IVF, _ *IVFFiles, err error) {
	rng := rand.New(rand.NewPCG(seed, uint64(snap.Rows)))
	var d *builder
	var held []uint32
	if work == Assign {
		if d, err = reload(snap); errors.Is(err, errIVF) {
			work = Rebuild
		} else if err == nil {
			err = d.assign(ctx)
		}
	}
	if work == Rebuild {
		d, held, err = buildLists(ctx, snap, rng)
	}
	if err != nil {
		return nil, nil, err
	}
	f.ivfEpoch++
	c, files, err := d.store(ctx, f, f.ivfEpoch)
	if err != nil {
		return nil, nil, err
	}
	c.imbalance = d.imbalance()
	if work == Assign {
		old := snap.IVF
		c.Radius, c.BuiltAt, c.Skewed, c.imbalance = old.Radius, old.BuiltAt, c.imbalance > skewFactor*old.imbalance, old.imbalance
		return c, files, nil
	}
	c.BuiltAt = snap.Rows
	if err := d.calibrate(ctx, c, held, rng); err != nil {
		return nil, nil, errors.Join(err, files.Remove())
	}
	if !c.Radius.Known() {
		return c, nil, files.Remove()
	}
	return c, files, nil
}

// ReplaceIVF makes files those of the current lists, nil for none. Snapshots below the version may still read those before.
func (f *Files) ReplaceIVF(files *IVFFiles, version int64) {
	if f.ivf != nil {
		f.ivf.unlink()
		f.ivf.version = version
		f.Retired = append(f.Retired, f.ivf)
	}
	f.ivf = files
}

// CloseRetired closes the files of cells that nobody reads any longer. oldest is the version below which nobody reads.
func (f *Files) CloseRetired(oldest int64) error {
	var kept []*IVFFiles
	var errs []error
	for _, c := range f.Retired {
		if c == nil {
			continue
		}
		if c.version == 0 || c.version > oldest {
			kept = append(kept, c)
			continue
		}
		errs = append(errs, c.close())
	}
	f.Retired = kept
	return errors.Join(errs...)
}
