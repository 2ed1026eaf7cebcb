package extract

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"

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
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

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
