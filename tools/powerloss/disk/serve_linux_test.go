package disk

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestADiskIsServedAsAFile uses raw system calls: the functions in os would poll the file and wait for this process.
func TestADiskIsServedAsAFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	d := New(1 << 20)
	served, err := d.Serve(t.TempDir())
	if err != nil {
		t.Skipf("this machine has no FUSE: %v", err)
	}
	defer func() {
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	}()
	fd, err := unix.Open(served.Path(), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Size != d.Size() {
		t.Errorf("the file has %d bytes, want %d: %v", stat.Size, d.Size(), err)
	}
	if _, err := unix.Pwrite(fd, filled('a', 4), 3*Block); err != nil {
		t.Fatal(err)
	}
	if got := d.Unflushed(); got != 4 {
		t.Errorf("after a write, %d blocks are not flushed, want 4", got)
	}
	if err := unix.Fsync(fd); err != nil || d.Unflushed() != 0 {
		t.Errorf("after fsync, %d blocks are not flushed: %v", d.Unflushed(), err)
	}
	if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4*Block, Block); err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, 10); err == nil {
		t.Error("the disk was made smaller")
	}
	p := make([]byte, 4*Block)
	if n, err := unix.Pread(fd, p, 3*Block); err != nil || n != len(p) {
		t.Fatalf("read %d bytes: %v", n, err)
	}
	want := filled('a', 4)
	clear(want[Block : 2*Block])
	if !bytes.Equal(p, want) || !bytes.Equal(whole(t, d)[3*Block:7*Block], want) {
		t.Error("the file has other content than what was written")
	}
	if got := after(t, d, KeepNone, 1); got[4*Block] != 'a' {
		t.Error("a hole that was not flushed survives")
	}
}
