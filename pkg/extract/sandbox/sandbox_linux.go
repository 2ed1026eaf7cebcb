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

// executable is the running program itself, also after its file was replaced by another version.
func executable() (string, error) { return "/proc/self/exe", nil }

// limitMemory lets the process map that many bytes more than it has mapped now. Go reserves address space at
// start that it does not use, so a limit on the total would mean little.
func limitMemory(bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return fmt.Errorf("reading the size of this process: %w", err)
	}
	size, _, _ := strings.Cut(string(statm), " ")
	pages, err := strconv.ParseUint(size, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the size of this process: %w", err)
	}
	limit := pages*uint64(os.Getpagesize()) + uint64(bytes)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("limiting the memory of this process: %w", err)
	}
	return nil
}

// Bounds of a child beside memory and time.
const (
	maxOpenFiles = 64        // it needs some ten
	maxFileSize  = 512 << 20 // bytes of a temporary file; the largest hold an unpacked sheet
)

// confine takes from the process what reading documents does not need, for good and for all its threads: files outside
// the folders, the network, other programs and processes, capabilities and new privileges. It returns what this
// system does not let it give up; the rest is given up then. What the parent did not mean to pass on is closed.
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
	report("capabilities", dropCapabilities())
	report("privileges", refusePrivileges())
	report("files", limitFiles(folders))
	report("system calls", limitCalls())
	return missing
}

// refusePrivileges holds for every thread; programs built with cgo cannot make calls on all, and do so in limitCalls.
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

// closeInherited closes the descriptors that came with the process's start, but for those it works with: they are open
// without the mark that closes them on exec, which Go sets on all that it opens.
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
			_ = unix.Close(fd) // closed is closed, whatever it says
		}
	}
	unix.CloseOnExec(handoverFD)
	return nil
}

// dropCapabilities matters where the service runs as root, as some containers do.
func dropCapabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return errno
	}
	return nil
}

// childAttributes have the system end the child when the thread that started it ends, with its process or before.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// endOnCPU installs the end of a process that has used up its time: Go ignores the signal unless asked.
var endOnCPU sync.Once

// limitCPU lets the process use that many more seconds of processor time, then ends it. The hard limit is left
// alone, as it could not be raised again for the next document.
func limitCPU(seconds uint64) error {
	if seconds == 0 {
		return nil
	}
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return fmt.Errorf("reading the processor time of this process: %w", err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CPU, &limit); err != nil {
		return fmt.Errorf("reading the limit of processor time: %w", err)
	}
	limit.Cur = min(limit.Max, uint64(use.Utime.Sec+use.Stime.Sec)+seconds+1)
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &limit); err != nil {
		return fmt.Errorf("limiting the processor time of this process: %w", err)
	}
	endOnCPU.Do(func() {
		exceeded := make(chan os.Signal, 1)
		signal.Notify(exceeded, unix.SIGXCPU)
		go func() {
			<-exceeded
			os.Exit(exitCPU)
		}()
	})
	return nil
}
