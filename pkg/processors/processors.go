// Package processors returns the number of processors that are available for computation.
package processors

import (
	"os"
	"runtime"
)

// Value of GOMAXPROCS when the process started: the number of processors, or the CPU limit of the control group.
var count = runtime.GOMAXPROCS(0)

// Count returns the number of goroutines that can compute at the same time without competing for processors. Use it to
// limit computation. Do not use GOMAXPROCS for this, because Spare changes it.
func Count() int { return count }

// Spare raises GOMAXPROCS by one if there are several processors and the environment does not set GOMAXPROCS. Servers
// call it because of how the Go runtime polls the network. An idle processor notices new data at once, but while all
// processors are computing, the network is polled only every ten milliseconds. A request on another connection may have
// to wait for that poll. If GOMAXPROCS is one higher, the operating system divides the processors among the threads,
// and no connection waits that long. With only one processor, GOMAXPROCS stays unchanged, because the system's time
// slices are longer than most queries take.
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
