package domain

import "time"

// Pace is how a host may be asked.
type Pace struct {
	Concurrency int           // requests at once; 0: any number
	Delay       time.Duration // between the starts of two requests
	Lease       time.Duration // after which a turn that was never given back counts as ended: its crawler has died
}

// Turn is the answer to a crawler that wants to ask a host.
type Turn struct {
	Granted bool
	// Wait is, of a granted turn, how long until the request may start, and else how long until it is worth asking again.
	Wait time.Duration
	// Release ends a granted turn. It must be called once, when the request has ended; nil if the turn was not granted.
	Release func()
}
