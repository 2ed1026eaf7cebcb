package engines

import (
	"syscall"
	"time"
)

// spec tells a guard process what to run. The parent sends it as one line of JSON.
type spec struct {
	Args []string // the program, with its full path, and its arguments
	Env  []string // the program's complete environment
	Dir  string   // working directory
	Log  string   // the program's output is appended to this file

	// Isolated means that the guard process is in new network and mount namespaces. Before starting the program, the
	// guard process must bring loopback up and mount an empty /run.
	Isolated bool
	// Forward is an address in the guard process's network namespace. The guard process forwards connections from the
	// inherited listener to it. It is "" if there is no listener.
	Forward string

	Ready readiness
	// StopSignal is the signal that asks the program to exit. If it is 0, the program is killed at once.
	StopSignal syscall.Signal
	// RemoveIfOrphaned is a directory to delete if the parent died; "" for none.
	RemoveIfOrphaned string

	// NATS is the server to run instead of a program, or nil.
	NATS *natsSpec
}

const (
	startTimeout = 90 * time.Second      // maximum time from starting a program until it is ready
	stopTimeout  = 10 * time.Second      // maximum time from the stop signal until the program is killed
	readyEvery   = 25 * time.Millisecond // interval between readiness probes
	probeTimeout = 2 * time.Second       // timeout for one probe
)

// Commands sent by the parent to a guard process. If the input ends without a command, the parent has died.
const (
	commandStop = "stop"
	commandKill = "kill"
)

// report is a line of JSON sent by the guard process to its parent. The first report says whether the program is ready.
// A later report says that the program has exited by itself.
type report struct {
	Ready bool
	Fault string
}
