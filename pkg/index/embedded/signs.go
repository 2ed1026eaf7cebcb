package embedded

import "math"

const (
	// signsFrom is from how many slots a space keeps sign bits; below it every search is exact anyway.
	signsFrom = 16_384
	// recentreFactor is by how much a space grows until the centre of its vectors is taken anew.
	recentreFactor = 4
	// centreSample is from how many vectors the centre is taken.
	centreSample = 16_384
)

// renewSigns makes a new file of sign bits when the space has outgrown the centre of the old one, or has none. It reads
// all vectors, which costs about a second for a million; it happens once per fourfold growth, inside a write. The caller
// holds writeMu and commits next.
func (s *space) renewSigns(next *snapshot) error {
	if s.vectors == nil || next.slots < signsFrom || (next.epoch > 0 && uint64(next.slots) < recentreFactor*uint64(next.signsAt)) {
		return nil
	}
	return s.makeSigns(next)
}

// makeSigns makes a new file of sign bits around the centre of a snapshot's vectors. The caller holds writeMu.
func (s *space) makeSigns(next *snapshot) error {
	centre, spread, err := centreOf(next)
	if err != nil {
		return err
	}
	path := s.signsPath(next.epoch + 1)
	file, err := newSlotFile(path, signWords(next.dimensions)*8, 8)
	if err != nil {
		return err
	}
	s.retired = append(s.retired, file) // until it is known to be committed, and for closing in every case
	if err := file.grow(next.slots); err != nil {
		return err
	}
	var slots []uint32
	var payloads [][]byte
	flush := func() error {
		err := file.write(slots, payloads)
		slots, payloads = slots[:0], payloads[:0]
		return err
	}
	err = next.each(next.vectors, func(slot uint32) error {
		slots = append(slots, slot)
		payloads = append(payloads, signs(floatsOf(next.vectors.record(slot)), centre))
		if len(slots) == extentSlots {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = file.sync()
	}
	if err == nil {
		err = syncDir(s.dir)
	}
	if err != nil {
		return err
	}
	next.epoch++
	next.signsAt = next.slots
	next.centre, next.spread = centre, spread
	next.signs = file.view
	return nil
}

// adoptSigns makes the file of sign bits that a commit has brought the one that the writer goes on with.
func (s *space) adoptSigns(before int) {
	if s.current.epoch == before {
		return
	}
	last := len(s.retired) - 1
	file := s.retired[last]
	s.retired = s.retired[:last]
	if s.signs != nil {
		s.retired = append(s.retired, s.signs)
	}
	s.signs = file
}

// centreOf returns the mean of a sample of the live vectors, and how far their components are from it on average.
func centreOf(s *snapshot) (centre, spread []float32, err error) {
	step := max(1, int(s.rows)/centreSample)
	mean := func(dst []float32, component func(d int, x float32) float64) error {
		sums := make([]float64, s.dimensions)
		i, n := 0, 0
		err := s.each(s.vectors, func(slot uint32) error {
			if i++; i%step != 0 {
				return nil
			}
			n++
			for d, x := range floatsOf(s.vectors.record(slot)) {
				sums[d] += component(d, x)
			}
			return nil
		})
		for d, sum := range sums {
			dst[d] = float32(sum / float64(max(n, 1)))
		}
		return err
	}
	centre, spread = make([]float32, s.dimensions), make([]float32, s.dimensions)
	if err := mean(centre, func(_ int, x float32) float64 { return float64(x) }); err != nil {
		return nil, nil, err
	}
	err = mean(spread, func(d int, x float32) float64 { return math.Abs(float64(x) - float64(centre[d])) })
	return centre, spread, err
}
