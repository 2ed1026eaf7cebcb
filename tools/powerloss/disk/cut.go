package disk

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
)

// Keep says which unflushed blocks survive a power cut.
type Keep string

// Values of Keep.
const (
	KeepNone Keep = "none"
	// KeepHalf keeps a random half of the blocks. If a block was written several times, any of the contents may survive.
	// One in tornShare of the surviving blocks is torn.
	KeepHalf Keep = "a random half"
	KeepAll  Keep = "all"
)

// One in tornShare of the surviving blocks is torn.
const tornShare = 8

// Loss counts the blocks that were unflushed when the power failed.
type Loss struct {
	Unflushed int // unflushed blocks
	Kept      int // of these, how many survived
	Torn      int // of these, how many survived only in part
}

// String implements fmt.Stringer.
func (l Loss) String() string {
	return fmt.Sprintf("%d of %d unflushed blocks kept, %d torn", l.Kept, l.Unflushed, l.Torn)
}

// Cut returns a disk with the data that survives if the power fails now. The original disk keeps working. At the moment
// of the cut, while the disk accepts neither writes nor flushes, Cut calls `at`, unless `at` is nil.
func (d *Disk) Cut(keep Keep, random *rand.Rand, at func()) (*Disk, Loss) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at != nil {
		at()
	}
	return d.survivors(keep, random)
}

// CutAtFlush is like Cut, but the power fails just before the next flush is carried out. If a service acknowledges data
// before flushing it, this cut loses the data. If ctx is done first, the power fails at that moment.
func (d *Disk) CutAtFlush(ctx context.Context, keep Keep, random *rand.Rand, at func()) (*Disk, Loss) {
	type image struct {
		disk *Disk
		loss Loss
	}
	cut := make(chan image, 1)
	d.mu.Lock()
	d.atFlush = func() {
		if at != nil {
			at()
		}
		survivors, loss := d.survivors(keep, random)
		cut <- image{survivors, loss}
	}
	d.mu.Unlock()
	select {
	case i := <-cut:
		return i.disk, i.loss
	case <-ctx.Done():
	}
	d.mu.Lock()
	f := d.atFlush
	d.atFlush = nil
	if f != nil {
		f()
	}
	d.mu.Unlock()
	i := <-cut
	return i.disk, i.loss
}

func (d *Disk) survivors(keep Keep, random *rand.Rand) (*Disk, Loss) {
	image := &Disk{size: d.size, durable: maps.Clone(d.durable), cached: map[int64][]content{}}
	loss := Loss{Unflushed: len(d.cached)}
	for _, block := range slices.Sorted(maps.Keys(d.cached)) { // sorted, so that a seed always gives the same image
		versions := d.cached[block]
		survivor := versions[len(versions)-1]
		switch keep {
		case KeepNone:
			continue
		case KeepHalf:
			if random.IntN(2) == 0 {
				continue
			}
			n := random.IntN(len(versions))
			survivor = versions[n]
			if random.IntN(tornShare) == 0 {
				before := d.durable[block]
				if n > 0 {
					before = versions[n-1]
				}
				survivor = torn(before, survivor, random)
				loss.Torn++
			}
		}
		loss.Kept++
		if survivor == nil {
			delete(image.durable, block)
		} else {
			image.durable[block] = survivor
		}
	}
	return image, loss
}

// torn returns a block whose write stopped after a random number of sectors, at least one but not all.
func torn(before, after content, random *rand.Rand) content {
	c := make(content, Block)
	copy(c, before)
	written := Sector * (1 + random.IntN(Block/Sector-1))
	clear(c[:written])
	copy(c[:written], after)
	return c
}

// Clone returns a copy of the disk on which everything counts as flushed.
func (d *Disk) Clone() *Disk {
	clone, _ := d.Cut(KeepAll, nil, nil)
	return clone
}

// WriteSparse writes the newest content to `w`, skipping all-zero blocks. `w` must be all zeros.
func (d *Disk) WriteSparse(w io.WriterAt) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := maps.Clone(d.durable)
	for block := range d.cached {
		all[block] = d.newest(block)
	}
	for _, block := range slices.Sorted(maps.Keys(all)) {
		if all[block] == nil {
			continue
		}
		if _, err := w.WriteAt(all[block], block*Block); err != nil {
			return err
		}
	}
	return nil
}
