// Package loadtest puts load on a running service through its HTTP API and measures latencies. If a rate is set,
// requests start on schedule even if responses are slow (an open loop). Latency is measured from the time a request was
// due, so it includes waiting behind slow responses. See Gil Tene, "How NOT to Measure Latency".
package loadtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Limits on a Load's settings.
const (
	MaxRate    = 100_000        // requests per second
	MaxClients = 4096           // simultaneous requests
	MaxFor     = 24 * time.Hour // duration of the measurement
)

// Load describes the load to generate.
type Load struct {
	// Rate is the number of requests to start per second, even if responses are slow (an open loop). If it is 0, each
	// client sends its next request as soon as the previous one has been answered (a closed loop).
	Rate float64
	// Clients is the maximum number of simultaneous requests. If a rate is set, due requests wait for a free client,
	// and the wait counts as latency.
	Clients int
	// Warmup is how long to send requests before the measurement begins, and For is how long the measurement lasts.
	Warmup, For time.Duration
	// Grace is how long to wait for responses after the last request. Unanswered requests then count as failed.
	Grace time.Duration
	// Requests is the maximum number of requests, including warm-up requests; 0 means no limit.
	Requests int
}

// Validate returns an error if a field is invalid.
func (l Load) Validate() error {
	switch {
	case !(l.Rate >= 0 && l.Rate <= MaxRate):
		return fmt.Errorf("the rate is %v requests per second; it must be between 0 and %d", l.Rate, MaxRate)
	case l.Clients < 1 || l.Clients > MaxClients:
		return fmt.Errorf("the number of clients is %d; it must be between 1 and %d", l.Clients, MaxClients)
	case l.For <= 0 || l.For > MaxFor:
		return fmt.Errorf("the duration is %v; it must be more than 0 and at most %v", l.For, MaxFor)
	case l.Warmup < 0 || l.Warmup > MaxFor:
		return fmt.Errorf("the warm-up takes %v; it must be between 0 and %v", l.Warmup, MaxFor)
	case l.Requests < 0:
		return fmt.Errorf("the number of requests is %d; it must be 0 (no limit) or more", l.Requests)
	default:
		return nil
	}
}

// Request sends request number n, counted from 0, and records its timings in `take`. It returns when the response is
// complete.
type Request func(ctx context.Context, n int, take *Times) error

// Run generates the load and returns the results. If ctx ends early, it returns the results so far.
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
	r.drain(ctx, sending, giveUp)
	return r.report(time.Now()), nil
}

// run is the state of a running load test.
type run struct {
	load    Load
	request Request
	*recorder

	requests sync.WaitGroup
}

// open starts requests when they are due.
func (r *run) open(sending, answering context.Context, begun time.Time) {
	free := make(chan struct{}, r.load.Clients)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; r.load.Requests == 0 || n < r.load.Requests; n++ {
		due := begun.Add(time.Duration(float64(n) / r.load.Rate * float64(time.Second)))
		if !due.Before(r.until) {
			<-sending.Done() // every request has been sent; wait for the measurement to end
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
			// No client was free for this request, nor for any that came due after it.
			r.recordUnsent(due, time.Now(), r.load.Rate)
			return
		}
		r.requests.Go(func() {
			defer func() { <-free }()
			r.send(answering, n, due)
		})
	}
}

// closed runs a closed loop: each client sends its requests one after another.
func (r *run) closed(sending, answering context.Context) {
	var next atomic.Int64
	for range r.load.Clients {
		r.requests.Go(func() {
			for sending.Err() == nil {
				n := int(next.Add(1)) - 1
				if r.load.Requests > 0 && n >= r.load.Requests {
					return
				}
				r.send(answering, n, time.Now())
			}
		})
	}
}

// send sends request number n, which was due at `due`.
func (r *run) send(ctx context.Context, n int, due time.Time) {
	take := &Times{due: due, of: r.recorder}
	if r.load.Rate > 0 {
		take.Since("sent late") // nonzero if no client was free or this machine was busy
	}
	err := r.request(ctx, n, take)
	r.record(due, time.Now(), err)
}

// drain waits for outstanding responses. After Load.Grace, it cancels the remaining requests with giveUp.
func (r *run) drain(ctx, sending context.Context, giveUp func()) {
	answered := make(chan struct{})
	go func() { r.requests.Wait(); close(answered) }()
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

// errGivenUp is the error for a request left unanswered at the end of the grace period.
var errGivenUp = errors.New("no response by the end of the measurement")
