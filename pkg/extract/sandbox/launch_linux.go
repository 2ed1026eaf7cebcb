package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// programNiceness is added to a program's nice value. It is higher than the document readers' niceness, because
	// reading documents has priority over OCR.
	programNiceness = 15
	programFiles    = 64 // maximum number of open files
)

// Folders with the libraries that programs load, including the loader itself.
var (
	libraryFolders = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store"}
	sharedFiles    = []string{"/etc/ld.so.cache", "/usr/share", "/usr/local/share", "/dev/null"}
)

// become replaces this process with the program and drops most privileges. It returns only on failure.
func (l launch) become() error {
	runtime.LockOSThread() // never unlocked: the program keeps the rights of this thread
	yieldProcessor(programNiceness)
	grants := []grant{{l.Path, landlockExecute}}
	for _, f := range libraryFolders {
		grants = append(grants, grant{f, landlockExecute})
	}
	for _, f := range slices.Concat(sharedFiles, l.Files) {
		grants = append(grants, grant{f, landlockRead})
	}
	_ = closeInherited() // fails without /proc; the program then inherits whatever this process did
	for resource, to := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: programFiles, unix.RLIMIT_CPU: l.CPUSeconds} {
		if err := lowerLimit(resource, to); err != nil {
			return fmt.Errorf("limiting resource %d: %w", resource, err)
		}
	}
	// Ignore errors, because the system may not support these restrictions. The log says which of them document readers
	// lack.
	_ = dropCapabilities(inThisThread)
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	_ = limitFiles(grants, inThisThread)
	_ = limitCalls(deniedToPrograms)
	args := append([]string{l.Path}, l.Args...)
	// Limit the address space last: this process has already reserved more than the program may use.
	if err := lowerLimit(unix.RLIMIT_AS, uint64(l.Memory)); err != nil {
		return fmt.Errorf("limiting its memory: %w", err)
	}
	return &os.PathError{Op: "exec", Path: l.Path, Err: syscall.Exec(l.Path, args, l.Env)}
}

func openNoFollow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}
