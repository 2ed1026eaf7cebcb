// Package processors counts the CPUs available for computation.
package processors

import (
	"os"
	"runtime"
)

// Value of GOMAXPROCS when the process started: the number of CPUs, or the control group's CPU limit.
var count = runtime.GOMAXPROCS(0)

// Count returns how many goroutines can compute at the same time without competing for CPUs. Use it, not GOMAXPROCS, to
// limit computation, because Spare changes GOMAXPROCS.
func Count() int { return count }

// Spare raises GOMAXPROCS by one if there are several CPUs and the environment doesn't set it. Servers call it because
// of how the Go runtime polls the network. An idle CPU notices new data at once, but while all CPUs are computing, the
// network is polled only every ten milliseconds, so a request on another connection may wait that long. If there is one
// more thread than there are CPUs, the operating system shares the CPUs among the threads, and no request waits that
// long. On a single CPU, an additional thread wouldn't help, because the system's time slices are longer than most
// queries take.
func Spare() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(withSpare(count))
	}
}

func withSpare(count int) int {
	if count < 2 {
		return count
	}
	return count + 1
}
