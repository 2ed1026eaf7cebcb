// Package processors returns the number of processors available for computation.
package processors

import (
	"os"
	"runtime"
)

// Value of GOMAXPROCS at the start of the process: the number of processors, or the limit of the control group.
var count = runtime.GOMAXPROCS(0)

// Count returns the number of goroutines that can compute at once without competing for processors. Limits on
// computation use it instead of GOMAXPROCS, which Spare changes.
func Count() int { return count }

// Spare raises GOMAXPROCS by one if there are several processors and the environment does not set GOMAXPROCS. Servers
// call it. The runtime polls the network when a processor is idle, otherwise only every ten milliseconds. If all
// processors compute, a connection that was just answered continues with its next request, while a request that arrived
// earlier on another connection waits for the next poll. With one more, the operating system shares the processors, and
// no connection waits that long. A single processor is left alone: the system's time slices are longer than most
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
