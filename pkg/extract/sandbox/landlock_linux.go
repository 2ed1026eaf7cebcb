package sandbox

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File access rights that Landlock restricts, grouped by the first ABI version that supports them.
const (
	landlockFiles1 = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	landlockFiles2 = landlockFiles1 | unix.LANDLOCK_ACCESS_FS_REFER
	landlockFiles3 = landlockFiles2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	landlockFiles5 = landlockFiles3 | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockOwn is the set of rights that the child keeps in its own folders. They allow it to create, read, change and
// remove regular files and directories there.
const landlockOwn = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
	unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
	unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// limitFiles restricts the process to the files that are already open and to the given folders. It needs Landlock,
// which has been part of Linux since version 5.13 but has to be enabled. It returns an error if Landlock is not
// available.
func limitFiles(folders []string) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("querying Landlock support: %w", errno)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landlockFiles1}
	size := unsafe.Sizeof(attr.Handled_access_fs) // older kernels know only the first field
	switch {
	case version >= 5:
		attr.Handled_access_fs = landlockFiles5
	case version >= 3:
		attr.Handled_access_fs = landlockFiles3
	case version == 2:
		attr.Handled_access_fs = landlockFiles2
	}
	if version >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size += unsafe.Sizeof(attr.Handled_access_net)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("creating Landlock rules: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, folder := range folders {
		if err := allowFolder(int(fd), folder, attr.Handled_access_fs&landlockOwn); err != nil {
			return err
		}
	}
	// A ruleset applies to the calling thread and the threads that it starts later, so every thread must make the call.
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restricting file access with Landlock: %w", errno)
	}
	return nil
}

func allowFolder(ruleset int, folder string, access uint64) error {
	dir, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // a missing folder needs no rule
	} else if err != nil {
		return fmt.Errorf("opening the folder %s: %w", folder, err)
	}
	defer unix.Close(dir)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(dir)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allowing access to the folder %s: %w", folder, errno)
	}
	return nil
}
