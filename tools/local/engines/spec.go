package engines

import (
	"syscall"
	"time"
)

// spec tells a guard process what to run. The parent sends it as a line of JSON.
type spec struct {
	Args []string // full path of the program, and arguments
	Env  []string // complete environment
	Dir  string   // working directory
	Log  string   // file to append the program's output to

	// Isolated means that the guard process has its own network and mount namespaces. Before starting the program, it must
	// bring loopback up and mount an empty /run.
	Isolated bool
	// Forward is an address in the guard's network namespace. The guard forwards the inherited listener's connections
	// there. "" means that there is no listener.
	Forward string

	Ready readiness
	// StopSignal asks the program to exit. If it is 0, the program is killed at once.
	StopSignal syscall.Signal
	// RemoveIfOrphaned is a directory to delete if the parent dies, or "".
	RemoveIfOrphaned string

	// NATS, if set, is the server to run; no program is started then.
	NATS *natsSpec
}

const (
	startTimeout = 90 * time.Second      // from starting a program until it is ready
	stopTimeout  = 10 * time.Second      // from the stop signal until the program is killed
	readyEvery   = 25 * time.Millisecond // between readiness probes
	probeTimeout = 2 * time.Second       // per probe
)

// Commands from the parent to a guard process. If the input ends without one, the parent has died.
const (
	commandStop = "stop"
	commandKill = "kill"
)

// report is a line of JSON from the guard process to its parent. The first one says whether the program is ready, and a
// later one that the program has exited by itself.
type report struct {
	Ready bool
	Fault string
}
