//go:build linux || darwin

package app

import "golang.org/x/sys/unix"

// freeBytes returns the free space on the directory's disk, in bytes, that is available to unprivileged users.
func freeBytes(dir string) (free int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:unconvert // the types differ by system
}
