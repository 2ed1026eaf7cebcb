package domain

import "time"

// Pace limits the requests to a host.
type Pace struct {
	Concurrency int           // concurrent requests; 0: unlimited
	Delay       time.Duration // minimum time between the starts of two requests
	Lease       time.Duration // time after which an unreleased slot counts as released, because its crawler has died
}

// HostSlot is the answer to a crawler's request for a slot at a host.
type HostSlot struct {
	Granted bool
	// Wait is the time until the request may start or, if the slot is not granted, until asking again is worthwhile.
	Wait time.Duration
	// Release releases a granted slot. The caller must call it once, when the request has ended. It is nil if the slot
	// was not granted.
	Release func()
}
