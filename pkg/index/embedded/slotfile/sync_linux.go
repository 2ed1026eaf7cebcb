package slotfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes a file's content durable, without waiting for times that nobody reads.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
