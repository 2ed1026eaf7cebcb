package domain

import "time"

// Pace limits how fast a host is requested.
type Pace struct {
	Concurrency int           // concurrent requests; 0 means unlimited
	Delay       time.Duration // minimum time between the starts of two requests
	Lease       time.Duration // maximum time to hold a slot; after that, the crawler has probably died, so the slot is freed
}

// HostSlot is the reply to a crawler's request for a slot at a host.
type HostSlot struct {
	Granted bool
	// If a slot was granted, Wait is how long to wait before starting the request. Otherwise, it is how long to wait
	// before asking again.
	Wait time.Duration
	// Release releases a granted slot. Call it exactly once, when the request is complete. It is nil if no slot was
	// granted.
	Release func()
}
