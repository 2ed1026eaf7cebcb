package disk

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// seeded returns a random source that is the same in each run.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// filled returns n blocks filled with one byte value.
func filled(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n*Block) }

func write(t *testing.T, d *Disk, p []byte, off int64) {
	t.Helper()
	if n, err := d.WriteAt(p, off); err != nil || n != len(p) {
		t.Fatalf("wrote %d of %d bytes at %d: %v", n, len(p), off, err)
	}
}

func zero(t *testing.T, d *Disk, off, length int64) {
	t.Helper()
	if err := d.Zero(off, length); err != nil {
		t.Fatal(err)
	}
}

// whole returns a disk's content.
func whole(t *testing.T, d *Disk) []byte {
	t.Helper()
	p := make([]byte, d.Size())
	if n, err := d.ReadAt(p, 0); n != len(p) || err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("read %d of %d bytes: %v", n, len(p), err)
	}
	return p
}

// after returns what survives if the power fails now.
func after(t *testing.T, d *Disk, keep Keep, seed uint64) []byte {
	t.Helper()
	image, _ := d.Cut(keep, seeded(seed), nil)
	return whole(t, image)
}

func TestFlushedBlocksSurvive(t *testing.T) {
	t.Parallel()
	d := New(8 * Block)
	write(t, d, filled('a', 3), Block)
	d.Flush()
	for _, keep := range []Keep{KeepNone, KeepHalf, KeepAll} {
		if got := after(t, d, keep, 1); !bytes.Equal(got, whole(t, d)) || got[Block] != 'a' || got[0] != 0 {
			t.Errorf("flushed blocks changed, keeping %s", keep)
		}
	}
}

func TestUnflushedBlocksMayBeLost(t *testing.T) {
	t.Parallel()
	d := New(64 * Block)
	write(t, d, filled('a', 64), 0)
	d.Flush()
	write(t, d, filled('b', 64), 0)
	if got := after(t, d, KeepNone, 1); !bytes.Equal(got, filled('a', 64)) {
		t.Error("an unflushed block survives")
	}
	if got := after(t, d, KeepAll, 1); !bytes.Equal(got, filled('b', 64)) {
		t.Error("an unflushed block is lost, though all are kept")
	}
	image, loss := d.Cut(KeepHalf, seeded(3), nil)
	if loss.Unflushed != 64 || loss.Kept < 16 || loss.Kept > 48 || loss.Torn == 0 || loss.Torn > loss.Kept {
		t.Errorf("the loss is %+v, want about half of 64 blocks, of which some are torn", loss)
	}
	kept := 0
	for block := range slices.Chunk(whole(t, image), Block) {
		if block[0] == 'b' {
			kept++
		}
	}
	if kept != loss.Kept {
		t.Errorf("%d blocks have new content, want %d", kept, loss.Kept)
	}
	if !bytes.Equal(whole(t, d), filled('b', 64)) {
		t.Error("a cut changes the disk that it is taken from")
	}
}

func TestASeedGivesTheSameImage(t *testing.T) {
	t.Parallel()
	d := New(64 * Block)
	write(t, d, filled('a', 64), 0)
	first := after(t, d, KeepHalf, 5)
	if !bytes.Equal(first, after(t, d, KeepHalf, 5)) {
		t.Error("the same seed gives another image")
	}
	if bytes.Equal(first, after(t, d, KeepHalf, 6)) {
		t.Error("another seed gives the same image")
	}
}

// TestAnyContentSinceTheFlushMaySurvive writes a block several times. After a power cut, the block may have any of
// these contents. The order of writes to different blocks doesn't matter.
func TestAnyContentSinceTheFlushMaySurvive(t *testing.T) {
	t.Parallel()
	d := New(2 * Block)
	write(t, d, filled('a', 2), 0)
	d.Flush()
	write(t, d, filled('b', 1), 0)
	zero(t, d, 0, Block)
	write(t, d, filled('c', 1), 0)
	write(t, d, filled('z', 1), Block) // written last
	seen, later := map[byte]bool{}, false
	for seed := range uint64(400) {
		got := after(t, d, KeepHalf, seed)
		seen[got[0]] = true
		later = later || got[0] == 'a' && got[Block] == 'z'
	}
	for _, want := range []byte{'a', 'b', 0, 'c'} {
		if !seen[want] {
			t.Errorf("no image has content %q, which was on the disk or in its cache", want)
		}
	}
	if !later {
		t.Error("no image has a later write without an earlier one")
	}
	d.Flush()
	if got := after(t, d, KeepNone, 1); got[0] != 'c' || got[Block] != 'z' {
		t.Errorf("a flush keeps %q and %q, not the newest contents", got[0], got[Block])
	}
}

func TestTheCacheForgetsTheOldestContents(t *testing.T) {
	t.Parallel()
	d := New(Block)
	for i := range byte(3 * maxVersions) {
		write(t, d, filled(i+1, 1), 0)
	}
	if got := len(d.cached[0]); got != maxVersions {
		t.Errorf("the cache has %d contents of a block, want %d", got, maxVersions)
	}
	if got := after(t, d, KeepAll, 1); got[0] != 3*maxVersions {
		t.Errorf("the newest content is %d, want %d", got[0], 3*maxVersions)
	}
}

func TestATornBlockHasSectorsOfBothContents(t *testing.T) {
	t.Parallel()
	random := seeded(1)
	for range 100 {
		got := torn(filled('a', 1), filled('b', 1), random)
		boundary := bytes.IndexByte(got, 'a')
		if boundary <= 0 || boundary%Sector != 0 || bytes.IndexByte(got[boundary:], 'b') >= 0 {
			t.Fatalf("new content ends at byte %d, and is not a number of whole sectors", boundary)
		}
	}
	if got := torn(filled('a', 1), nil, random); got[0] != 0 || got[Block-1] != 'a' {
		t.Error("a hole is not torn like a write")
	}
}

func TestAHoleIsLostLikeAWrite(t *testing.T) {
	t.Parallel()
	d := New(4 * Block)
	write(t, d, filled('a', 4), 0)
	d.Flush()
	zero(t, d, Block/2, 2*Block) // half of the first block, the second, half of the third
	want := filled('a', 4)
	if got := after(t, d, KeepNone, 1); !bytes.Equal(got, want) {
		t.Error("an unflushed hole survives")
	}
	clear(want[Block/2 : Block/2+2*Block])
	if got := whole(t, d); !bytes.Equal(got, want) {
		t.Error("a read does not see the hole")
	}
	d.Flush()
	if got := after(t, d, KeepNone, 1); !bytes.Equal(got, want) {
		t.Error("a flushed hole is lost")
	}
	if _, ok := d.durable[1]; ok {
		t.Error("a flushed hole takes memory")
	}
	zero(t, New(1<<40), 0, 1<<30) // nothing to replace, so it takes no memory and little time
}

func TestAccessBeyondTheEndFails(t *testing.T) {
	t.Parallel()
	d := New(2 * Block)
	if n, err := d.WriteAt(filled('a', 1), 2*Block-1); err == nil || n != 0 {
		t.Errorf("a write beyond the end wrote %d bytes", n)
	}
	for _, r := range [][2]int64{{-1, 1}, {0, 2*Block + 1}, {1, 1<<63 - 1}, {0, -1}} {
		if err := d.Zero(r[0], r[1]); err == nil {
			t.Errorf("a hole of %d bytes at %d is accepted", r[1], r[0])
		}
	}
	p := make([]byte, Block)
	if n, err := d.ReadAt(p, 2*Block-10); n != 10 || !errors.Is(err, io.EOF) {
		t.Errorf("a read at the end returns %d bytes and %v, want 10 and EOF", n, err)
	}
	if n, err := d.ReadAt(p, 2*Block); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("a read beyond the end returns %d bytes and %v", n, err)
	}
}

// TestADiskBehavesLikeItsModel compares random operations with two byte arrays: the newest and the flushed content.
func TestADiskBehavesLikeItsModel(t *testing.T) {
	t.Parallel()
	const size = 16 * Block
	for seed := range uint64(4) {
		random := seeded(seed)
		d, newest, flushed := New(size), make([]byte, size), make([]byte, size)
		allowed := make([]map[byte]bool, size) // per byte, the values allowed after a cut
		settle := func() {
			for i, b := range flushed {
				allowed[i] = map[byte]bool{b: true}
			}
		}
		settle()
		for range 200 {
			off := random.Int64N(size)
			length := random.Int64N(min(size-off, 3*Block)) + 1
			switch random.IntN(10) {
			case 0:
				d.Flush()
				copy(flushed, newest)
				settle()
				continue
			case 1, 2:
				zero(t, d, off, length)
				clear(newest[off : off+length])
			default:
				p := make([]byte, length)
				for i := range p {
					p[i] = byte(random.IntN(256))
				}
				write(t, d, p, off)
				copy(newest[off:], p)
			}
			for i := off; i < off+length; i++ {
				allowed[i][newest[i]] = true
			}
		}
		if !bytes.Equal(whole(t, d), newest) {
			t.Fatalf("seed %d: the disk has other content than what was written", seed)
		}
		if got := after(t, d, KeepNone, seed); !bytes.Equal(got, flushed) {
			t.Fatalf("seed %d: without unflushed blocks, the image has other content than what was flushed", seed)
		}
		if got := after(t, d, KeepAll, seed); !bytes.Equal(got, newest) {
			t.Fatalf("seed %d: with all unflushed blocks, the image has other content than what was written", seed)
		}
		for i, b := range after(t, d, KeepHalf, seed) {
			if !allowed[i][b] {
				t.Fatalf("seed %d: byte %d is %d, which was never written there since the flush", seed, i, b)
			}
		}
	}
}

func TestACutAtAFlushComesBeforeIt(t *testing.T) {
	t.Parallel()
	d := New(Block)
	d.Flush() // doesn't count: there is nothing to flush
	images := make(chan *Disk, 1)
	var written, atCut byte
	go func() {
		image, _ := d.CutAtFlush(t.Context(), KeepNone, nil, func() { atCut = written })
		images <- image
	}()
	for written = 1; ; written++ { // one of these flushes is the cut
		write(t, d, filled(written, 1), 0)
		d.Flush()
		select {
		case image := <-images:
			if got := whole(t, image)[0]; atCut == 0 || got != atCut-1 {
				t.Errorf("the image has content %d, and flush %d was about to be carried out", got, atCut)
			}
			if got := after(t, d, KeepNone, 1)[0]; got != written {
				t.Errorf("the disk has content %d, want %d: every flush is carried out", got, written)
			}
			return
		default:
		}
	}
}

func TestACutWithoutAFlushEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d := New(Block)
	write(t, d, filled('a', 1), 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := 0
	image, loss := d.CutAtFlush(ctx, KeepAll, nil, func() { calls++ })
	if got := whole(t, image); got[0] != 'a' || calls != 1 || loss.Kept != 1 {
		t.Errorf("the image begins with %q after %d calls (%v)", got[0], calls, loss)
	}
	d.Flush()
	if calls != 1 {
		t.Error("a later flush cuts again")
	}
}

func TestAClonedDiskIsIndependent(t *testing.T) {
	t.Parallel()
	d := New(2 * Block)
	write(t, d, filled('a', 1), 0)
	clone := d.Clone()
	write(t, d, filled('b', 2), 0)
	d.Flush()
	write(t, clone, filled('c', 1), Block)
	if got := whole(t, clone); got[0] != 'a' || got[Block] != 'c' {
		t.Errorf("the clone has %q and %q, want a and c", got[0], got[Block])
	}
	if got := whole(t, d); got[0] != 'b' || got[Block] != 'b' {
		t.Errorf("the disk has %q and %q, want b and b", got[0], got[Block])
	}
}

func TestASparseFileHasTheNewestContent(t *testing.T) {
	t.Parallel()
	d := New(4 * Block)
	write(t, d, filled('a', 1), Block)
	d.Flush()
	write(t, d, filled('b', 1), 3*Block)
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Truncate(d.Size()), d.WriteSparse(f)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(f.Name())
	if err != nil || !bytes.Equal(got, whole(t, d)) {
		t.Errorf("the file has other content than the disk: %v", err)
	}
}
