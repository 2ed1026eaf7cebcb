package engines

import (
	"syscall"
	"time"
)

// spec is the order for a guard, sent as one line of JSON.
type spec struct {
	Args []string // the program, with its full path, and its arguments
	Env  []string // the program's complete environment
	Dir  string   // working directory
	Log  string   // file to which the output is appended

	// Isolated is set if the guard is in new network and mount namespaces, which must be prepared before the program
	// starts: loopback up, an empty /run.
	Isolated bool
	// Forward is the address in the namespace to which connections of the inherited listener are forwarded; "" if there
	// is no listener.
	Forward string

	Ready readiness
	// StopSignal is the signal that asks the program to end; 0: it is killed at once.
	StopSignal syscall.Signal
	// RemoveIfOrphaned is a directory to delete if the parent died; "" for none.
	RemoveIfOrphaned string

	// NATS is the server to run instead of a program, or nil.
	NATS *natsSpec
}

const (
	startTimeout = 90 * time.Second      // from the start of a program until it is ready
	stopTimeout  = 10 * time.Second      // from the stop signal until the program is killed
	readyEvery   = 25 * time.Millisecond // interval of readiness probes
	probeTimeout = 2 * time.Second       // timeout of one probe
)

// Words that the parent sends to a guard. The end of the input without a word means that the parent is dead.
const (
	commandStop = "stop"
	commandKill = "kill"
)

// report is a line of JSON from the guard to its parent: first whether the program is ready, later that it has ended by
// itself.
type report struct {
	Ready bool
	Fault string
}
