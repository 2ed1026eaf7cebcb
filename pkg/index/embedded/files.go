package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// vectorsName is the name of the file of vectors in a space's directory.
const vectorsName = "vectors.f32"

// vectorFiles are the open files of a space's vectors. They belong to the writer of the space, whose lock the caller of every
// method holds. drawCells is the exception: one caller at a time may run it next to the writer.
type vectorFiles struct {
	dir     string
	full    *slotFile   // nil without vectors
	codes   *slotFile   // nil without codes
	fine    *slotFile   // nil without codes
	retired []*slotFile // files that older snapshots may still read

	cells     *cellFiles   // nil without lists
	oldCells  []*cellFiles // that older snapshots may still read
	cellEpoch int          // of the list files that were made last; drawCells changes it
}

// open opens the files of a set, and removes files of codes and lists that it does not know.
func (f *vectorFiles) open(snap *vectorSet) (err error) {
	if snap.dimensions == 0 {
		return nil
	}
	if f.full, err = openSlotFile(filepath.Join(f.dir, vectorsName), recordsOf(snap.dimensions*4, 4), snap.slots); err != nil {
		return err
	}
	snap.vectors = f.full.view
	if snap.coded() {
		if f.codes, err = openSlotFile(f.codesPath(snap.epoch), codeShape(snap.dimensions), snap.slots); err != nil {
			return err
		}
		if f.fine, err = openSlotFile(f.finePath(snap.epoch), recordsOf(quant.FineBytes(snap.dimensions), fineAlign), snap.slots); err != nil {
			return err
		}
		snap.codes, snap.fine = f.codes.view, f.fine.view
	}
	if err := f.removeOtherCodes(snap.epoch); err != nil {
		return err
	}
	if snap.cells != nil {
		f.cellEpoch = snap.cells.epoch
	}
	return f.openCells(snap)
}

// each lists what is open.
func (f *vectorFiles) close() error {
	var errs []error
	for _, file := range append(f.retired, f.full, f.codes, f.fine) {
		if file != nil {
			errs = append(errs, file.close())
		}
	}
	for _, c := range append(f.oldCells, f.cells) {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}

// see shows a set what has been written to the files.
func (f *vectorFiles) see(next *vectorSet) {
	if f.full != nil {
		next.vectors = f.full.view
	}
	if f.codes != nil {
		next.codes, next.fine = f.codes.view, f.fine.view
	}
}

// renewCodes makes new files of codes when they are due. It reads all vectors, which costs some ten seconds of processor time for a
// million, shared by several goroutines; it happens once per fourfold growth, inside a write.
func (f *vectorFiles) renewCodes(ctx context.Context, next *vectorSet) error {
	if !next.wantsCodes() {
		return nil
	}
	return f.makeCodes(ctx, next)
}

// makeCodes makes new files of codes around the centre of a snapshot's vectors.
func (f *vectorFiles) makeCodes(ctx context.Context, next *vectorSet) error {
	centre, err := centreOf(next)
	if err != nil {
		return err
	}
	file, err := newSlotFile(f.codesPath(next.epoch+1), codeShape(next.dimensions))
	if err != nil {
		return err
	}
	f.retired = append(f.retired, file) // until it is known to be committed, and for closing in every case
	fine, err := newSlotFile(f.finePath(next.epoch+1), recordsOf(quant.FineBytes(next.dimensions), fineAlign))
	if err != nil {
		return err
	}
	f.retired = append(f.retired, fine)
	if err := errors.Join(file.grow(next.slots), fine.grow(next.slots)); err != nil {
		return err
	}
	err = share(ctx, int(next.rows), next.groups(), func(int) func(from, to int) error {
		coder := quant.NewCoder(centre)
		return func(from, to int) error { return next.writeCodes(coder, from, to, file, fine) }
	})
	if err == nil {
		err = errors.Join(file.sync(), fine.sync())
	}
	if err == nil {
		err = durable.Dir(f.dir)
	}
	if err != nil {
		return err
	}
	next.epoch++
	next.codedAt = next.slots
	next.centre = centre
	next.codes, next.fine = file.view, fine.view
	next.cells, next.listed = nil, bitset{} // which repeat the codes before
	return nil
}

// adoptCodes makes the files of codes that a commit has brought those that the writer goes on with.
func (f *vectorFiles) adoptCodes() {
	last := len(f.retired) - 2
	codes, fine := f.retired[last], f.retired[last+1]
	f.retired = f.retired[:last]
	if f.codes != nil {
		f.retired = append(f.retired, f.codes, f.fine)
	}
	f.codes, f.fine = codes, fine
}

// codesPath is where the codes of an epoch lie.
func (f *vectorFiles) codesPath(epoch int) string {
	return filepath.Join(f.dir, fmt.Sprintf("codes-%d.bits", epoch))
}

// finePath is where the fine codes of an epoch lie.
func (f *vectorFiles) finePath(epoch int) string {
	return filepath.Join(f.dir, fmt.Sprintf("codes-%d.bytes", epoch))
}

// removeOtherCodes removes files of codes but those of an epoch, and the sign bits that earlier programs had.
func (f *vectorFiles) removeOtherCodes(epoch int) error {
	for _, pattern := range []string{"codes-*.bits", "codes-*.bytes", "signs-*.bits"} {
		files, err := filepath.Glob(filepath.Join(f.dir, pattern))
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
