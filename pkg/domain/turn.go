package domain

import "time"

// Pace limits the requests to a host.
type Pace struct {
	Concurrency int           // concurrent requests; 0: unlimited
	Delay       time.Duration // minimum time between the starts of two requests
	Lease       time.Duration // time after which an unreleased turn counts as ended, because its crawler has died
}

// Turn is the answer to a crawler's request for a slot at a host.
type Turn struct {
	Granted bool
	// Wait is the time until the request may start or, if the turn is not granted, until asking again is worthwhile.
	Wait time.Duration
	// Release ends a granted turn. The caller must call it once, when the request has ended. It is nil if the turn was
	// not granted.
	Release func()
}
