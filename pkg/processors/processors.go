// Package processors returns the number of processors that are available for computation.
package processors

import (
	"os"
	"runtime"
)

// Value of GOMAXPROCS at the start of the process: the number of processors, or the limit of the control group.
var count = runtime.GOMAXPROCS(0)

// Count returns the number of goroutines that can compute at the same time without competing for processors. Use it to
// limit computation, and not GOMAXPROCS, which Spare changes.
func Count() int { return count }

// Spare raises GOMAXPROCS by one if there are several processors and the environment does not set GOMAXPROCS. Servers
// call it because of how the Go runtime polls the network: an idle processor notices new data at once, but while all
// processors are computing, the network is polled only every ten milliseconds. Until then, a connection that has just
// been answered can continue with its next request, although a request on another connection arrived earlier. With an
// additional processor, the operating system shares the real processors between threads, and no connection waits that
// long. GOMAXPROCS stays unchanged if there is only one processor, because the system's time slices are longer than
// most queries take.
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
