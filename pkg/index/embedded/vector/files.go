package vector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// FileName is the name of the file of vectors in a space's directory.
const FileName = "vectors.f32"

// Files are the open files of a space's vectors. They belong to the writer of the space, whose lock the caller of every
// method holds. drawCells is the exception: one caller at a time may run it next to the writer.
type Files struct {
	Dir          string
	Full         *slotfile.File   // nil without vectors
	Bits         *slotfile.File   // nil without codes
	Int8         *slotfile.File   // nil without codes
	retiredCodes []*slotfile.File // files that older snapshots may still read

	ivf      *IVFFiles   // nil without lists
	Retired  []*IVFFiles // that older snapshots may still read
	ivfEpoch int         // of the list files that were made last; drawCells changes it
}

// Open opens the files of a set, and removes files of codes and lists that it does not know.
func (f *Files) Open(snap *Set) (err error) {
	if snap.Dimensions == 0 {
		return nil
	}
	if f.Full, err = slotfile.Open(filepath.Join(f.Dir, FileName), slotfile.Records(snap.Dimensions*4, 4), snap.Slots); err != nil {
		return err
	}
	snap.Full = f.Full.View
	if snap.HasCodes() {
		if f.Bits, err = slotfile.Open(f.codesPath(snap.Epoch), bitsLayout(snap.Dimensions), snap.Slots); err != nil {
			return err
		}
		if f.Int8, err = slotfile.Open(f.finePath(snap.Epoch), slotfile.Records(quant.FineBytes(snap.Dimensions), int8Align), snap.Slots); err != nil {
			return err
		}
		snap.Bits, snap.Int8 = f.Bits.View, f.Int8.View
	}
	if err := f.removeOtherCodes(snap.Epoch); err != nil {
		return err
	}
	if snap.IVF != nil {
		f.ivfEpoch = snap.IVF.Epoch
	}
	return f.openIVF(snap)
}

// each lists what is open.
func (f *Files) Close() error {
	var errs []error
	for _, file := range append(f.retiredCodes, f.Full, f.Bits, f.Int8) {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	for _, c := range append(f.Retired, f.ivf) {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}

// Publish shows a set what has been written to the files.
func (f *Files) Publish(next *Set) {
	if f.Full != nil {
		next.Full = f.Full.View
	}
	if f.Bits != nil {
		next.Bits, next.Int8 = f.Bits.View, f.Int8.View
	}
}

// RenewCodes makes new files of codes when they are due. It reads all vectors, which costs some ten seconds of processor time for a
// million, shared by several goroutines; it happens once per fourfold growth, inside a write.
func (f *Files) RenewCodes(ctx context.Context, next *Set) error {
	if !next.NeedsCodes() {
		return nil
	}
	return f.makeCodes(ctx, next)
}

// makeCodes makes new files of codes around the centre of a snapshot's vectors.
func (f *Files) makeCodes(ctx context.Context, next *Set) error {
	centre, err := centroidOf(next)
	if err != nil {
		return err
	}
	file, err := slotfile.Create(f.codesPath(next.Epoch+1), bitsLayout(next.Dimensions))
	if err != nil {
		return err
	}
	f.retiredCodes = append(f.retiredCodes, file) // until it is known to be committed, and for closing in every case
	fine, err := slotfile.Create(f.finePath(next.Epoch+1), slotfile.Records(quant.FineBytes(next.Dimensions), int8Align))
	if err != nil {
		return err
	}
	f.retiredCodes = append(f.retiredCodes, fine)
	if err := errors.Join(file.Grow(next.Slots), fine.Grow(next.Slots)); err != nil {
		return err
	}
	err = parallel(ctx, int(next.Rows), next.Groups(), func(int) func(from, to int) error {
		coder := quant.NewCoder(centre)
		return func(from, to int) error { return next.writeCodes(coder, from, to, file, fine) }
	})
	if err == nil {
		err = errors.Join(file.Sync(), fine.Sync())
	}
	if err == nil {
		err = durable.Dir(f.Dir)
	}
	if err != nil {
		return err
	}
	next.Epoch++
	next.CodedAt = next.Slots
	next.Centroid = centre
	next.Bits, next.Int8 = file.View, fine.View
	next.IVF, next.Assigned = nil, bitmap.Bitmap{} // which repeat the codes before
	return nil
}

// AdoptCodes makes the files of codes that a commit has brought those that the writer goes on with.
func (f *Files) AdoptCodes() {
	last := len(f.retiredCodes) - 2
	codes, fine := f.retiredCodes[last], f.retiredCodes[last+1]
	f.retiredCodes = f.retiredCodes[:last]
	if f.Bits != nil {
		f.retiredCodes = append(f.retiredCodes, f.Bits, f.Int8)
	}
	f.Bits, f.Int8 = codes, fine
}

// codesPath is where the codes of an epoch lie.
func (f *Files) codesPath(epoch int) string {
	return filepath.Join(f.Dir, fmt.Sprintf("codes-%d.bits", epoch))
}

// finePath is where the fine codes of an epoch lie.
func (f *Files) finePath(epoch int) string {
	return filepath.Join(f.Dir, fmt.Sprintf("codes-%d.bytes", epoch))
}

// removeOtherCodes removes files of codes but those of an epoch, and the sign bits that earlier programs had.
func (f *Files) removeOtherCodes(epoch int) error {
	for _, pattern := range []string{"codes-*.bits", "codes-*.bytes", "signs-*.bits"} {
		files, err := filepath.Glob(filepath.Join(f.Dir, pattern))
		if err != nil {
			return fmt.Errorf("listing files of codes: %w", err)
		}
		for _, path := range files {
			if path != f.codesPath(epoch) && path != f.finePath(epoch) {
				if err := os.Remove(path); err != nil {
					return fmt.Errorf("removing old codes: %w", err)
				}
			}
		}
	}
	return nil
}
