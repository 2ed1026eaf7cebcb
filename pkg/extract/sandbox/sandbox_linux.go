package sandbox

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// executable returns a path to the running program that stays valid even if its file is replaced.
func executable() (string, error) { return "/proc/self/exe", nil }

// limitMemory lets the process map the given number of bytes beyond what it has already mapped. A limit on the total
// size would be useless, because Go reserves address space at startup without using it.
func limitMemory(bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return fmt.Errorf("reading the memory size of this process: %w", err)
	}
	size, _, _ := strings.Cut(string(statm), " ")
	pages, err := strconv.ParseUint(size, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the memory size of this process: %w", err)
	}
	limit := pages*uint64(os.Getpagesize()) + uint64(bytes)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("limiting the memory of this process: %w", err)
	}
	return nil
}

// Other limits on a child.
const (
	maxOpenFiles = 64        // a child needs about ten
	maxFileSize  = 512 << 20 // size of a temporary file in bytes; the largest ones hold an unpacked sheet
)

// confine permanently drops all rights that reading documents does not require, in all threads: access to the network,
// to files outside `folders`, and to other programs and processes; capabilities; and the right to gain privileges. It
// also closes leaked file descriptors. It returns the rights that this system can't drop.
func confine(folders []string) (missing []string) {
	report := func(what string, err error) {
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", what, err))
		}
	}
	report("descriptors", closeInherited())
	report("core dumps", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}))
	report("open files", lowerLimit(unix.RLIMIT_NOFILE, maxOpenFiles))
	report("file size", lowerLimit(unix.RLIMIT_FSIZE, maxFileSize))
	report("capabilities", dropCapabilities(inAllThreads))
	report("privileges", refusePrivileges())
	report("files", limitFiles(ownFolders(folders), inAllThreads))
	report("system calls", limitCalls(deniedCalls))
	return missing
}

// refusePrivileges sets no_new_privs in every thread. In programs built with cgo, that's impossible, so limitCalls sets
// it instead.
func refusePrivileges() error {
	if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func lowerLimit(resource int, to uint64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(resource, &limit); err != nil {
		return err
	}
	limit.Cur, limit.Max = min(limit.Cur, to), min(limit.Max, to)
	return unix.Setrlimit(resource, &limit)
}

// closeInherited closes inherited file descriptors that the protocol doesn't use. They lack the close-on-exec flag,
// which Go sets on everything it opens.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= handoverFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // Close closes the descriptor even if it returns an error
		}
	}
	unix.CloseOnExec(handoverFD)
	return nil
}

// dropCapabilities drops all capabilities. The process has capabilities if the service runs as root, as in some
// containers. `call` is inAllThreads or inThisThread.
func dropCapabilities(call func(call, a1, a2, a3 uintptr) syscall.Errno) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if errno := call(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return errno
	}
	return nil
}

// childAttributes makes the system kill the child when the thread that started it exits. This also covers the death of
// the whole parent process.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// exitOnCPULimit installs the SIGXCPU handler once per process. Go ignores the signal if there is no handler.
var exitOnCPULimit sync.Once

// niceness is added to the child's nice value, because requests to the service have priority over reading documents. It
// is small, so that even on a busy machine, a child gets enough CPU time to finish within its wall-clock limit.
const niceness = 5

// yieldProcessor adds `nice` to all threads' nice value, lowering their priority. New threads inherit it.
func yieldProcessor(nice int) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return // the child then runs with normal priority
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, nice) // as above
		}
	}
}

// limitCPU terminates the process after another `seconds` of CPU time. It leaves the hard limit alone, because a
// lowered hard limit could not be raised again for the next document.
func limitCPU(seconds uint64) error {
	if seconds == 0 {
		return nil
	}
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return fmt.Errorf("reading the CPU time of this process: %w", err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CPU, &limit); err != nil {
		return fmt.Errorf("reading the CPU time limit: %w", err)
	}
	limit.Cur = min(limit.Max, uint64(use.Utime.Sec+use.Stime.Sec)+seconds+1)
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &limit); err != nil {
		return fmt.Errorf("limiting the CPU time of this process: %w", err)
	}
	exitOnCPULimit.Do(func() {
		exceeded := make(chan os.Signal, 1)
		signal.Notify(exceeded, unix.SIGXCPU)
		go func() {
			<-exceeded
			os.Exit(exitCPU)
		}()
	})
	return nil
}
