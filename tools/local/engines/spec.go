package engines

import (
	"syscall"
	"time"
)

// spec is what a guard is told to run. It travels as one line of JSON.
type spec struct {
	Args []string // the program, by its full path, and its arguments
	Env  []string // the whole environment of the program
	Dir  string   // its working directory
	Log  string   // file that its output is appended to

	// Isolated says that the guard is in network and mount namespaces of its own, to be furnished before the
	// program starts: loopback up, an empty /run.
	Isolated bool
	// Forward is the address within the namespace that connections to the inherited listener go to, "" for no
	// listener.
	Forward string

	Ready readiness
	// StopSignal asks the program to end; 0 means that it is killed at once.
	StopSignal syscall.Signal
	// RemoveIfOrphaned is a directory to delete when the parent ended without a word, "" for none.
	RemoveIfOrphaned string

	// NATS, if given, is the server to be instead of running a program.
	NATS *natsSpec
}

const (
	startTimeout = 90 * time.Second      // of a program, from its start until it serves
	stopTimeout  = 10 * time.Second      // from the stop signal until it is killed
	readyEvery   = 25 * time.Millisecond // between two looks whether it serves
	probeTimeout = 2 * time.Second       // of one look
)

// Words that the parent sends to a guard. The end of the input without one of them means that the parent is dead.
const (
	wordStop = "stop"
	wordKill = "kill"
)

// report is what a guard tells its parent, one line of JSON each: first whether the program serves, later that it
// ended by itself.
type report struct {
	Ready bool
	Fault string
}
