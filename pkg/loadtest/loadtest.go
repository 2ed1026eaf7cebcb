// Package loadtest loads a running service over its HTTP API and tells how long it takes, at a rate that does not depend
// on its answers (an open loop): a request's latency counts from when it should have been sent, so that what waits behind
// a slow answer is seen, see Gil Tene, "How NOT to Measure Latency".
package loadtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a load.
const (
	MaxRate    = 100_000        // requests a second
	MaxClients = 4096           // requests at once
	MaxFor     = 24 * time.Hour // of measuring
)

// Load says how requests are sent.
type Load struct {
	// Rate is how many requests are begun a second, whatever becomes of them. 0: each client sends its next request when
	// its last is answered (a closed loop).
	Rate float64
	// Clients is how many requests may be under way at once. With a rate, those for which none is free wait, and their
	// latency runs.
	Clients int
	// Warmup is how long requests are sent before those that are measured, For how long those are sent.
	Warmup, For time.Duration
	// Grace is how long answers are waited for after the last request was sent; what has none by then has failed.
	Grace time.Duration
	// Requests, unless it is 0, ends the load after so many, warm-up included.
	Requests int
}

// Validate returns what is wrong with the load, nil for nothing.
func (l Load) Validate() error {
	switch {
	case !(l.Rate >= 0 && l.Rate <= MaxRate):
		return fmt.Errorf("a rate of %v requests a second: must be 0 to %d", l.Rate, MaxRate)
	case l.Clients < 1 || l.Clients > MaxClients:
		return fmt.Errorf("%d clients: must be 1 to %d", l.Clients, MaxClients)
	case l.For <= 0 || l.For > MaxFor:
		return fmt.Errorf("a load of %v: must be more than 0 and at most %v", l.For, MaxFor)
	case l.Warmup < 0 || l.Warmup > MaxFor:
		return fmt.Errorf("a warm-up of %v: must be 0 to %v", l.Warmup, MaxFor)
	case l.Requests < 0:
		return fmt.Errorf("%d requests: must be 0 (as many as there is time for) or more", l.Requests)
	default:
		return nil
	}
}

// Request makes the n-th request, from 0, takes its times, and returns when all of its answer is there.
type Request func(ctx context.Context, n int, take *Times) error

// Run sends the load's requests and reports how they went. When ctx ends, so does the load, with what was measured until
// then.
func Run(ctx context.Context, l Load, request Request) (Report, error) {
	if err := l.Validate(); err != nil {
		return Report{}, err
	}
	begun := time.Now()
	r := &run{load: l, request: request, recorder: newRecorder(begun.Add(l.Warmup), begun.Add(l.Warmup+l.For))}
	sending, stopSending := context.WithDeadline(ctx, r.until)
	defer stopSending()
	answering, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	if l.Rate > 0 {
		r.open(sending, answering, begun)
	} else {
		r.closed(sending, answering)
	}
	r.finish(ctx, sending, giveUp)
	return r.report(time.Now()), nil
}

// run is a load under way.
type run struct {
	load    Load
	request Request
	*recorder

	underway sync.WaitGroup
}

// open begins requests when they are due.
func (r *run) open(sending, answering context.Context, begun time.Time) {
	free := make(chan struct{}, r.load.Clients)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; r.load.Requests == 0 || n < r.load.Requests; n++ {
		due := begun.Add(time.Duration(float64(n) / r.load.Rate * float64(time.Second)))
		if !due.Before(r.until) {
			<-sending.Done() // the rest of the time counts, too
			return
		}
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
		case <-sending.Done():
			return
		}
		select {
		case free <- struct{}{}:
		case <-sending.Done():
			// What was due by now would have been sent if there had been a free client.
			r.unsent(due, time.Now(), r.load.Rate)
			return
		}
		r.underway.Go(func() {
			defer func() { <-free }()
			r.one(answering, n, due)
		})
	}
}

// closed has every client send request after request.
func (r *run) closed(sending, answering context.Context) {
	var next atomic.Int64
	for range r.load.Clients {
		r.underway.Go(func() {
			for sending.Err() == nil {
				n := int(next.Add(1)) - 1
				if r.load.Requests > 0 && n >= r.load.Requests {
					return
				}
				r.one(answering, n, time.Now())
			}
		})
	}
}

// one makes a request that was due at a time.
func (r *run) one(ctx context.Context, n int, due time.Time) {
	take := &Times{due: due, of: r.recorder}
	if r.load.Rate > 0 {
		take.Since("sent late") // a free client was missing, or this machine was busy
	}
	err := r.request(ctx, n, take)
	r.ended(due, time.Now(), err)
}

// finish waits for the answers that are still to come.
func (r *run) finish(ctx, sending context.Context, giveUp func()) {
	answered := make(chan struct{})
	go func() { r.underway.Wait(); close(answered) }()
	select {
	case <-answered:
		return
	case <-sending.Done():
	}
	grace := time.NewTimer(r.load.Grace)
	defer grace.Stop()
	select {
	case <-answered:
		return
	case <-grace.C:
	case <-ctx.Done():
	}
	giveUp()
	<-answered
}

// errGivenUp is what a request fails with whose answer did not come within the grace.
var errGivenUp = errors.New("no answer by the end")
