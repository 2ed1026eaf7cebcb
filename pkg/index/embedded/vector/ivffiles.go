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

// IVFFiles holds an IVF's files.
type IVFFiles struct {
	version                 int64 // first version that doesn't read the files; 0 if unknown
	centroids, means, codes *slotfile.File
}

// each returns all of the IVF's files. Those that aren't open are nil.
func (f *IVFFiles) each() []*slotfile.File { return []*slotfile.File{f.centroids, f.means, f.codes} }

func (f *IVFFiles) close() error {
	if f == nil {
		return nil
	}
	return errors.Join(f.centroids.Close(), f.means.Close(), f.codes.Close())
}

// unlink deletes the open files. Where the operating system doesn't allow that, the next Open deletes them.
func (f *IVFFiles) unlink() {
	for _, file := range f.each() {
		if file != nil {
			_ = os.Remove(file.Path)
		}
	}
}

// Remove closes and deletes files that no snapshot uses. f may be nil.
func (f *IVFFiles) Remove() error {
	if f == nil {
		return nil
	}
	f.unlink()
	return f.close()
}

func (f *Files) ivfPath(epoch int, what string) string {
	return filepath.Join(f.Dir, fmt.Sprintf("cells-%d.%s", epoch, what))
}

// openIVF opens the set's IVF and removes all other IVF files. It drops the IVF if the IVF is damaged or was built from
// other codes.
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

// openIVFFiles opens an IVF's files. On an error, it returns those opened so far.
func (f *Files) openIVFFiles(c *IVF, dimensions int) (_ *IVFFiles, err error) {
	of := &IVFFiles{}
	if of.centroids, err = slotfile.Open(f.ivfPath(c.Epoch, "centres"), slotfile.Records(centroidBytes(dimensions), centroidAlign), uint32(c.Lists)); err != nil {
		return of, err
	}
	if of.means, err = slotfile.Open(f.ivfPath(c.Epoch, "means"), slotfile.Records(meanBytes(dimensions), centroidAlign), uint32(c.Lists+c.Coarse)); err != nil {
		return of, err
	}
	of.codes, err = slotfile.Open(f.ivfPath(c.Epoch, "lists"), listLayout(dimensions), c.Rows)
	return of, err
}

// removeOtherIVF removes all IVF files that are not open.
func (f *Files) removeOtherIVF() error {
	files, err := filepath.Glob(filepath.Join(f.Dir, "cells-*"))
	if err != nil {
		return fmt.Errorf("listing IVF files: %w", err)
	}
	for _, path := range files {
		if f.ivf != nil && slices.ContainsFunc(f.ivf.each(), func(open *slotfile.File) bool { return open.Path == path }) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing old IVF files: %w", err)
		}
	}
	return nil
}

// BuildIVF builds IVF lists for `snap` and writes their files, without the write lock. Slots in `snap` must not be
// reused in the meantime. `work` says whether to train new centroids. The caller must commit the returned IVF and then
// call ReplaceIVF. If scanning all codes is better for these vectors, the IVF records that, and there are no files.
func (f *Files) BuildIVF(ctx context.Context, snap *Set, work Work, seed uint64) (_ *IVF, _ *IVFFiles, err error) {
	rng := rand.New(rand.NewPCG(seed, uint64(snap.Rows)))
	var d *builder
	var held []uint32
	if work == Assign {
		if d, err = builderOf(snap); errors.Is(err, errIVF) {
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
	c.Imbalance = d.imbalance()
	if work == Assign {
		old := snap.IVF
		c.Radius, c.BuiltAt, c.Skewed, c.Imbalance = old.Radius, old.BuiltAt, c.Imbalance > skewFactor*old.Imbalance, old.Imbalance
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

// ReplaceIVF makes `files` the current IVF's files. They may be nil. Call it after committing the IVF; `version` is
// that commit's version.
func (f *Files) ReplaceIVF(files *IVFFiles, version int64) {
	if f.ivf != nil {
		f.ivf.unlink()
		f.ivf.version = version
		f.retiredIVF = append(f.retiredIVF, f.ivf)
	}
	f.ivf = files
}

// RetireIVF takes over the files of an IVF whose commit failed. The commit may have succeeded after all, and readers
// may be using the files, so they stay open until Close.
func (f *Files) RetireIVF(files *IVFFiles) { f.retiredIVF = append(f.retiredIVF, files) }

// CloseRetired closes replaced IVFs' files that no reader uses any more. `oldest` is the oldest version with readers.
func (f *Files) CloseRetired(oldest int64) error {
	var kept []*IVFFiles
	var errs []error
	for _, c := range f.retiredIVF {
		if c == nil {
			continue
		}
		if c.version == 0 || c.version > oldest {
			kept = append(kept, c)
			continue
		}
		errs = append(errs, c.close())
	}
	f.retiredIVF = kept
	return errors.Join(errs...)
}
