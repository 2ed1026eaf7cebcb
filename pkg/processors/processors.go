// Package processors counts the CPUs available for computation.
package processors

import (
	"os"
	"runtime"
)

// Value of GOMAXPROCS when the process started: the number of CPUs, or the control group's CPU limit.
var count = runtime.GOMAXPROCS(0)

// Count returns how many goroutines can compute at the same time without competing for CPUs. Use it to limit
// computation. Do not use GOMAXPROCS for this, because Spare changes it.
func Count() int { return count }

// Spare raises GOMAXPROCS by one if there are several CPUs and the environment does not set GOMAXPROCS. Servers call it
// because of how the Go runtime polls the network. An idle CPU notices new data at once, but while all CPUs are
// computing, the network is polled only every ten milliseconds, and a request on another connection may have to wait
// that long. If GOMAXPROCS is one higher, the operating system divides the CPUs among the threads, so no connection
// waits that long. On a single CPU, GOMAXPROCS stays unchanged, because the system's time slices are longer than most
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
