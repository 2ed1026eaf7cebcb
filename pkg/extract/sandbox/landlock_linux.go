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

// landlockOwn are the child's rights in its own folders: create, read, change and remove regular files and directories.
const landlockOwn = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
	unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
	unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// Rights that a program keeps: reading and executing files. It needs both rights for its libraries, because these
// include the loader, which is executed.
const (
	landlockRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockExecute = landlockRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	// landlockFileRights are the rights that a rule for a single file may contain.
	landlockFileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
)

// grant allows access to a file, or to a folder and everything in it.
type grant struct {
	path   string
	access uint64
}

// ownFolders grants landlockOwn in each of the folders.
func ownFolders(folders []string) []grant {
	grants := make([]grant, len(folders))
	for i, f := range folders {
		grants[i] = grant{f, landlockOwn}
	}
	return grants
}

// inAllThreads makes a system call in every thread of the process. It fails in programs built with cgo.
func inAllThreads(call, a1, a2, a3 uintptr) syscall.Errno {
	_, _, errno := syscall.AllThreadsSyscall(call, a1, a2, a3)
	return errno
}

// inThisThread makes a system call in the current thread. For a process about to become another program that's enough,
// because the program inherits the thread's rights.
func inThisThread(call, a1, a2, a3 uintptr) syscall.Errno {
	_, _, errno := unix.RawSyscall(call, a1, a2, a3)
	return errno
}

// limitFiles restricts the process to files that are already open or allowed by `grants`. It returns an error unless
// the system is Linux 5.13 or later with Landlock enabled. `restrict` is inAllThreads or inThisThread.
func limitFiles(grants []grant, restrict func(call, a1, a2, a3 uintptr) syscall.Errno) error {
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
	for _, g := range grants {
		if err := g.allow(int(fd), attr.Handled_access_fs); err != nil {
			return err
		}
	}
	// A ruleset applies to the calling thread and threads it starts later, so every thread must make the call.
	if errno := restrict(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restricting file access with Landlock: %w", errno)
	}
	return nil
}

// allow adds the grant to a ruleset, without rights that the ruleset does not handle.
func (g grant) allow(ruleset int, handled uint64) error {
	file, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // a missing file or folder needs no rule
	} else if err != nil {
		return fmt.Errorf("opening %s: %w", g.path, err)
	}
	defer unix.Close(file)
	access := g.access & handled
	var info unix.Stat_t
	if err := unix.Fstat(file, &info); err != nil {
		return fmt.Errorf("opening %s: %w", g.path, err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= landlockFileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(file)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allowing access to %s: %w", g.path, errno)
	}
	return nil
}
