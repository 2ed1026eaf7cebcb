package domain

import "time"

// Pace limits the requests to a host.
type Pace struct {
	Concurrency int           // concurrent requests; 0: unlimited
	Delay       time.Duration // minimum time between the starts of two requests
	Lease       time.Duration // how long a crawler may hold a slot; after that it has probably died, and the slot is free again
}

// HostSlot is the answer to a crawler's request for a slot at a host.
type HostSlot struct {
	Granted bool
	// Wait is how long to wait before starting the request. If no slot was granted, it is how long to wait before
	// asking again.
	Wait time.Duration
	// Release releases a granted slot. The caller must call it once, when the request is complete. It is nil if the
	// slot was not granted.
	Release func()
}
