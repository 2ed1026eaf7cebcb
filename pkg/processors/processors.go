// Package processors says for how much computing at once there is room.
package processors

import (
	"os"
	"runtime"
)

// count is what GOMAXPROCS was when the process began: as many as there are, or as its control group leaves it.
var count = runtime.GOMAXPROCS(0)

// Count is how many goroutines can compute at once without taking the processors from one another. Whatever bounds computing
// goes by it, and not by GOMAXPROCS, which Spare changes.
func Count() int { return count }

// Spare has the runtime run one goroutine more at once than there are processors, where there are several and GOMAXPROCS is not set
// in the environment: a server's. The runtime looks for what has come from the network when it has nothing else to run, or else every
// ten milliseconds. Where all that it may run at once computes, a connection that has just been answered goes on at once with what
// its client asks next, and another one, whose question came before, is found that much later. With one to spare it is the
// system that has the processors shared, which does not overlook anybody. A single processor it would share in slices that are
// longer than most questions take.
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
