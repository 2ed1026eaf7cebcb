package slotfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes a file's content durable, without its timestamps.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
