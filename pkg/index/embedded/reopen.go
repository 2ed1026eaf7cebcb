package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// diskState says whether the disk accepts writes again after a failed commit.
type diskState uint8

const (
	diskUnknown  diskState = iota
	diskTesting            // unknown; a test is running
	diskReadOnly           // the last test failed; another will follow
	diskWritable
)

const (
	// Interval between disk tests.
	diskTestInterval = time.Second
	// Number of bytes written per disk test.
	diskTestBytes = 256 << 10
)

// needsReopen reports whether a broken space has to be reopened before its next use. If h.disk is diskWritable, the
// space may be closed. The caller must hold mu.
//
// A failed commit breaks a space. Opening a space writes to the disk, so on a read-only disk, a space that was closed
// couldn't even be read. A broken space therefore stays open until the disk accepts writes again: searches read the
// last commit, and writes fail.
func (x *Index) needsReopen(h *handle) bool {
	if !h.space.IsBroken() {
		return false
	}
	if !h.space.IsReadable() {
		h.disk = diskWritable
	}
	if h.disk == diskUnknown && !x.closed { // Close waits only for tests that started before it
		h.disk = diskTesting
		x.awaitWrites(h)
	}
	return h.disk != diskReadOnly
}

// awaitWrites tests the disk in the background until it accepts writes.
func (x *Index) awaitWrites(h *handle) {
	x.diskTests.Go(func() {
		tick := time.NewTicker(diskTestInterval)
		defer tick.Stop()
		for !x.testDisk(h) {
			select {
			case <-x.closing:
				return
			case <-tick.C:
			}
		}
	})
}

// testDisk tests the disk once and reports whether it accepts writes.
func (x *Index) testDisk(h *handle) bool {
	err := x.testWrite(x.dir)
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.broadcast()
	if err != nil {
		if h.disk == diskTesting {
			x.log.Error("an index cannot be written; it can still be searched", "datastore", h.key.datastore, "error", err)
		}
		h.disk = diskReadOnly
		return false
	}
	h.disk = diskWritable
	return true
}

// testWrite checks whether the disk that holds dir accepts writes. It returns nil if dir doesn't exist, because then
// the disk didn't cause the failure. If a crash leaves the test file behind, Open deletes it, recognising it by its
// name.
func testWrite(dir string) (err error) {
	f, err := os.CreateTemp(dir, droppedPrefix+"test-*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checking that the index is writable: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(make([]byte, diskTestBytes)); err != nil {
		return fmt.Errorf("checking that the index is writable: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("checking that the index is writable: %w", err)
	}
	return nil
}
