package vector

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

const (
	// Minimum number of slots for codes. Smaller spaces have no codes and are searched exactly.
	codesFrom = 16_384
	// RecentreFactor is the factor by which a space must grow before its centroid and codes are recomputed.
	RecentreFactor = 4
	// Number of vectors averaged for the centroid.
	centroidSample = 16_384
	// Number of codes per write.
	codesPerWrite = 1024
	// Alignment of int8 codes in bytes.
	int8Align = 4
)

// HasCodes reports whether there are 1-bit and int8 codes.
func (s *Set) HasCodes() bool { return len(s.Centroid) > 0 }

// NeedsCodes reports whether codes are missing or the space has outgrown their centroid.
func (s *Set) NeedsCodes() bool {
	return s.Dimensions > 0 && int(s.Slots) >= s.Thresholds.codesFrom() && (!s.HasCodes() || uint64(s.Slots) >= RecentreFactor*uint64(s.CodedAt))
}

// needsCodesSoon reports whether the codes will soon be replaced, which would also make an IVF built from them useless.
func (s *Set) needsCodesSoon() bool {
	const tenths = 9
	return s.HasCodes() && 10*uint64(s.Slots) >= tenths*RecentreFactor*uint64(s.CodedAt)
}

// writeCodes writes the codes of the live slots in groups [from, to).
func (s *Set) writeCodes(coder *quant.Coder, from, to int, file, fine *slotfile.File) error {
	var slots []uint32
	var codes, bytes [][]byte
	flush := func() error {
		err := errors.Join(file.Write(slots, codes), fine.Write(slots, bytes))
		slots, codes, bytes = slots[:0], codes[:0], bytes[:0]
		return err
	}
	err := s.eachGroup(nil, s.Full, from, to, func(w int, live uint64) error {
		for ; live != 0; live &= live - 1 {
			slot := uint32(w*64 + bits.TrailingZeros64(live))
			code, of := codesOf(coder, Floats(s.Full.Record(slot)))
			slots, codes, bytes = append(slots, slot), append(codes, code), append(bytes, of)
		}
		if len(slots) >= codesPerWrite {
			return flush()
		}
		return nil
	})
	return errors.Join(err, flush())
}

func bitsLayout(dimensions int) slotfile.Layout {
	return slotfile.Columns(quant.CodeBytes(dimensions), quant.Columns(dimensions))
}

// Encoder returns a function that quantises unit vectors around the set's centroid. The function is not safe for
// concurrent use.
func (s *Set) Encoder() func(v []float32) (code, fine []byte) {
	coder := quant.NewCoder(s.Centroid)
	return func(v []float32) (code, fine []byte) { return codesOf(coder, v) }
}

func codesOf(c *quant.Coder, v []float32) (code, fine []byte) {
	code, fine = make([]byte, quant.CodeBytes(len(v))), make([]byte, quant.Int8CodeBytes(len(v)))
	c.Encode(code, fine, v)
	return code, fine
}

func centroidOf(s *Set) ([]float32, error) {
	step := max(1, int(s.Rows)/centroidSample)
	sums := make([]float64, s.Dimensions)
	i, n := 0, 0
	err := s.each(s.Full, func(slot uint32) error {
		if i++; i%step != 0 {
			return nil
		}
		n++
		for d, x := range Floats(s.Full.Record(slot)) {
			sums[d] += float64(x)
		}
		return nil
	})
	centroid := make([]float32, s.Dimensions)
	for d, sum := range sums {
		centroid[d] = float32(sum / float64(max(n, 1)))
	}
	return centroid, err
}

// FileName is the name of the vector file in a space's directory.
const FileName = "vectors.f32"

// Files holds a space's open vector files. Callers must hold the space's write lock. Only BuildIVF may run concurrently
// with other methods, but not with itself.
type Files struct {
	Dir          string
	Full         *slotfile.File   // nil without vectors
	Bits         *slotfile.File   // nil without codes
	Int8         *slotfile.File   // nil without codes
	retiredCodes []*slotfile.File // older snapshots may still read them

	ivf        *IVFFiles   // nil without an IVF
	retiredIVF []*IVFFiles // older snapshots may still read them
	ivfEpoch   int         // epoch of the latest IVF files; only BuildIVF changes it
}

// Open opens a set's files and removes code and IVF files that don't belong to the set. It returns index.ErrCorrupt if
// vector or code files are missing or too short. If IVF files are missing or too short, it drops the IVF instead.
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
		if f.Int8, err = slotfile.Open(f.int8Path(snap.Epoch), slotfile.Records(quant.Int8CodeBytes(snap.Dimensions), int8Align), snap.Slots); err != nil {
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

// Close closes all files.
func (f *Files) Close() error {
	var errs []error
	for _, file := range append(f.retiredCodes, f.Full, f.Bits, f.Int8) {
		errs = append(errs, file.Close())
	}
	for _, c := range append(f.retiredIVF, f.ivf) {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// Publish gives a set the current views of the files.
func (f *Files) Publish(next *Set) {
	if f.Full != nil {
		next.Full = f.Full.View
	}
	if f.Bits != nil {
		next.Bits, next.Int8 = f.Bits.View, f.Int8.View
	}
}

// RenewCodes recomputes the centroid and all codes in new files if NeedsCodes returns true, i.e. whenever the space has
// grown fourfold. That takes about ten seconds of CPU time per million vectors, spread over several goroutines. The
// caller must commit `next` and then call AdoptCodes.
func (f *Files) RenewCodes(ctx context.Context, next *Set) error {
	if !next.NeedsCodes() {
		return nil
	}
	centroid, err := centroidOf(next)
	if err != nil {
		return err
	}
	file, err := slotfile.Create(f.codesPath(next.Epoch+1), bitsLayout(next.Dimensions))
	if err != nil {
		return err
	}
	f.retiredCodes = append(f.retiredCodes, file) // until AdoptCodes; otherwise, Close closes it
	fine, err := slotfile.Create(f.int8Path(next.Epoch+1), slotfile.Records(quant.Int8CodeBytes(next.Dimensions), int8Align))
	if err != nil {
		return err
	}
	f.retiredCodes = append(f.retiredCodes, fine)
	if err := errors.Join(file.Grow(next.Slots), fine.Grow(next.Slots)); err != nil {
		return err
	}
	err = parallel(ctx, int(next.Rows), next.Groups(), func(int) func(from, to int) error {
		coder := quant.NewCoder(centroid)
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
	next.Centroid = centroid
	next.Bits, next.Int8 = file.View, fine.View
	next.IVF, next.Assigned = nil, bitmap.Bitmap{} // they refer to the old codes
	return nil
}

// AdoptCodes makes the files from RenewCodes the current code files. Call it after committing.
func (f *Files) AdoptCodes() {
	last := len(f.retiredCodes) - 2
	codes, fine := f.retiredCodes[last], f.retiredCodes[last+1]
	f.retiredCodes = f.retiredCodes[:last]
	if f.Bits != nil {
		f.retiredCodes = append(f.retiredCodes, f.Bits, f.Int8)
	}
	f.Bits, f.Int8 = codes, fine
}

func (f *Files) codesPath(epoch int) string {
	return filepath.Join(f.Dir, fmt.Sprintf("codes-%d.bits", epoch))
}

func (f *Files) int8Path(epoch int) string {
	return filepath.Join(f.Dir, fmt.Sprintf("codes-%d.bytes", epoch))
}

// removeOtherCodes removes codes from other epochs and the sign bits of format 1.
func (f *Files) removeOtherCodes(epoch int) error {
	for _, pattern := range []string{"codes-*.bits", "codes-*.bytes", "signs-*.bits"} {
		files, err := filepath.Glob(filepath.Join(f.Dir, pattern))
		if err != nil {
			return fmt.Errorf("listing files of codes: %w", err)
		}
		for _, path := range files {
			if path != f.codesPath(epoch) && path != f.int8Path(epoch) {
				if err := os.Remove(path); err != nil {
					return fmt.Errorf("removing old codes: %w", err)
				}
			}
		}
	}
	return nil
}
