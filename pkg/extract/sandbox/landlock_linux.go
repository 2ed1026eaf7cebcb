package sandbox

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock restricts of files, by the version of its interface that has it first.
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

// landlockOwn is what stays allowed in the child's own folders: ordinary files and folders.
const landlockOwn = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
	unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
	unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// limitFiles leaves the process no files but those that are open and those in the folders. Landlock is in Linux since
// 5.13, where it is switched on; an error says that it is not to be had here.
func limitFiles(folders []string) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("asking for Landlock: %w", errno)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landlockFiles1}
	size := unsafe.Sizeof(attr.Handled_access_fs) // older kernels know the first field alone
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
		return fmt.Errorf("making rules for files: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, folder := range folders {
		if err := allowFolder(int(fd), folder, attr.Handled_access_fs&landlockOwn); err != nil {
			return err
		}
	}
	// A rule holds for the thread that asks for it and for those that it starts, so every thread must ask.
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("leaving files: %w", errno)
	}
	return nil
}

func allowFolder(ruleset int, folder string, access uint64) error {
	dir, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // what is not there needs no rule
	} else if err != nil {
		return fmt.Errorf("opening the folder %s: %w", folder, err)
	}
	defer unix.Close(dir)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(dir)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allowing the folder %s: %w", folder, errno)
	}
	return nil
}
