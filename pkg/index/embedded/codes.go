package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

const (
	// codesFrom is from how many slots a space keeps codes; below it every search is exact anyway.
	codesFrom = 16_384
	// recentreFactor is by how much a space grows until the centre of its vectors is taken anew.
	recentreFactor = 4
	// centreSample is from how many vectors the centre is taken.
	centreSample = 16_384
	// codesAtOnce is how many codes are made until they are written.
	codesAtOnce = 1024
	// fineAlign is of what a fine code is a multiple.
	fineAlign = 4
)

// coded reports whether the snapshot has codes, and fine ones.
func (s *snapshot) coded() bool { return len(s.centre) > 0 }

// wantsCodes reports whether the space has outgrown the centre of its codes, or lacks codes.
func (s *snapshot) wantsCodes() bool {
	return s.dimensions > 0 && int(s.slots) >= s.sizes.codesFrom() && (!s.coded() || uint64(s.slots) >= recentreFactor*uint64(s.codedAt))
}

// wantsCodesSoon reports whether the space has grown by most of what its codes last for, so that what is made of them had better wait.
func (s *snapshot) wantsCodesSoon() bool {
	const tenths = 9
	return s.coded() && 10*uint64(s.slots) >= tenths*recentreFactor*uint64(s.codedAt)
}

// renewCodes makes new files of codes when they are due. It reads all vectors, which costs some ten seconds of processor time for a
// million, shared by several goroutines; it happens once per fourfold growth, inside a write. The caller holds writeMu and commits
// next.
func (s *space) renewCodes(ctx context.Context, next *snapshot) error {
	if !next.wantsCodes() {
		return nil
	}
	return s.makeCodes(ctx, next)
}

// makeCodes makes new files of codes around the centre of a snapshot's vectors. The caller holds writeMu.
func (s *space) makeCodes(ctx context.Context, next *snapshot) error {
	centre, err := centreOf(next)
	if err != nil {
		return err
	}
	file, err := newSlotFile(s.codesPath(next.epoch+1), codeShape(next.dimensions))
	if err != nil {
		return err
	}
	s.retired = append(s.retired, file) // until it is known to be committed, and for closing in every case
	fine, err := newSlotFile(s.finePath(next.epoch+1), recordsOf(quant.FineBytes(next.dimensions), fineAlign))
	if err != nil {
		return err
	}
	s.retired = append(s.retired, fine)
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
		err = durable.Dir(s.dir)
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

// writeCodes writes the codes of the live slots in some groups of 64.
func (s *snapshot) writeCodes(coder *quant.Coder, from, to int, file, fine *slotFile) error {
	var slots []uint32
	var codes, bytes [][]byte
	flush := func() error {
		err := errors.Join(file.write(slots, codes), fine.write(slots, bytes))
		slots, codes, bytes = slots[:0], codes[:0], bytes[:0]
		return err
	}
	err := s.eachGroup(nil, s.vectors, from, to, func(w int, live uint64) error {
		for ; live != 0; live &= live - 1 {
			slot := uint32(w*64 + bits.TrailingZeros64(live))
			code, of := codesOf(coder, floatsOf(s.vectors.record(slot)))
			slots, codes, bytes = append(slots, slot), append(codes, code), append(bytes, of)
		}
		if len(slots) >= codesAtOnce {
			return flush()
		}
		return nil
	})
	return errors.Join(err, flush())
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
	epoch := s.current.epoch
	if err := s.commit(ctx, func(_ *sql.Tx, next *snapshot) error { return s.renewCodes(ctx, next) }); err != nil {
		return false, fmt.Errorf("making codes of vectors: %w", err)
	}
	s.adoptCodes(epoch)
	return true, nil
}

// adoptCodes makes the files of codes that a commit has brought those that the writer goes on with.
func (s *space) adoptCodes(before int) {
	if s.current.epoch == before {
		return
	}
	last := len(s.retired) - 2
	codes, fine := s.retired[last], s.retired[last+1]
	s.retired = s.retired[:last]
	if s.codes != nil {
		s.retired = append(s.retired, s.codes, s.fine)
	}
	s.codes, s.fine = codes, fine
}

// codeShape is how codes lie in their file.
func codeShape(dimensions int) shape {
	return columnsOf(quant.CodeBytes(dimensions), quant.Columns(dimensions))
}

// makeCodesOf makes the codes that a snapshot's space keeps of the vectors of rows, unless they have them.
func makeCodesOf(rows []*prepared, of *snapshot) {
	if !of.coded() {
		return
	}
	coder := quant.NewCoder(of.centre)
	for _, p := range rows {
		if p.code == nil || p.epoch != of.epoch {
			p.code, p.fine = codesOf(coder, p.row.Vector)
			p.epoch = of.epoch
		}
	}
}

// codesOf returns a vector's code, and its fine code.
func codesOf(c *quant.Coder, v []float32) (code, fine []byte) {
	code, fine = make([]byte, quant.CodeBytes(len(v))), make([]byte, quant.FineBytes(len(v)))
	c.Encode(code, fine, v)
	return code, fine
}

// centreOf returns the mean of a sample of the live vectors.
func centreOf(s *snapshot) ([]float32, error) {
	step := max(1, int(s.rows)/centreSample)
	sums := make([]float64, s.dimensions)
	i, n := 0, 0
	err := s.each(s.vectors, func(slot uint32) error {
		if i++; i%step != 0 {
			return nil
		}
		n++
		for d, x := range floatsOf(s.vectors.record(slot)) {
			sums[d] += float64(x)
		}
		return nil
	})
	centre := make([]float32, s.dimensions)
	for d, sum := range sums {
		centre[d] = float32(sum / float64(max(n, 1)))
	}
	return centre, err
}

// codesPath is where the codes of an epoch lie.
func (s *space) codesPath(epoch int) string {
	return filepath.Join(s.dir, fmt.Sprintf("codes-%d.bits", epoch))
}

// finePath is where the fine codes of an epoch lie.
func (s *space) finePath(epoch int) string {
	return filepath.Join(s.dir, fmt.Sprintf("codes-%d.bytes", epoch))
}

// removeOtherCodes removes files of codes but those of an epoch, and the sign bits that earlier programs had.
func (s *space) removeOtherCodes(epoch int) error {
	for _, pattern := range []string{"codes-*.bits", "codes-*.bytes", "signs-*.bits"} {
		files, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil {
			return fmt.Errorf("listing files of codes: %w", err)
		}
		for _, f := range files {
			if f != s.codesPath(epoch) && f != s.finePath(epoch) {
				if err := os.Remove(f); err != nil {
					return fmt.Errorf("removing old codes: %w", err)
				}
			}
		}
	}
	return nil
}
