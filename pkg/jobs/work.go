package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// Handler works on one job. Its error decides what happens next:
//
//	nil               the job is done
//	Permanent(err)    the job ends with an error event
//	PutOff(err)       the job is done with: another one is to do it later
//	RetryAfter(d, e)  the job comes back, not before d
//	Later(d, err)     the job comes back after d, which counts as nothing
//	any other error   the job comes back after a growing delay; after MaxFailures it is given up
//
// A panic is an error like any other. The context ends when the job has run for MaxRun or the worker must stop; a
// handler that was cut short by a stop gives the job back, which counts as nothing.
type Handler func(ctx context.Context, job domain.Job) error

// WorkerOptions say how jobs of a lane are worked on. All workers of a lane share AckWait and MaxAckPending: the
// last one that started decides, so all should be given the same.
type WorkerOptions struct {
	Concurrency int // jobs at a time in this process; default 2
	// AckWait is how long a job stays with a worker that has gone silent. Running jobs are extended three times in
	// that time. It must be longer than a cluster takes to elect a leader, in which no extension arrives, or jobs are done
	// twice. Default 30 s; where workers and server share a process, silence means its end, and 5 s do.
	AckWait time.Duration
	// MaxAckPending bounds the jobs that are running or waiting for another attempt, over all workers of the lane;
	// beyond it nothing new is handed out. It must be larger than the window that admits jobs. Default 1,000.
	MaxAckPending int
	// MaxFailures is how many runs may end with an error before the job is given up. Default 25, which with the
	// default delays is an hour and three quarters.
	MaxFailures int
	// MaxCrashes is how many workers may die over a job before it is given up without being run again. Default 3.
	MaxCrashes int
	// RetryMin and RetryMax bound the delay between attempts, which doubles from one to the other and is lengthened
	// by up to a quarter at random. Defaults 1 s and 5 min.
	RetryMin, RetryMax time.Duration
	// MaxRun bounds one run. Default 1 h.
	MaxRun time.Duration
	// Grace is how long running jobs may go on once the worker was told to stop. Default 500 ms, so that a job is with
	// another worker within a second.
	Grace time.Duration
	// StopWait is how long a handler may take to return after its context has ended. One that takes longer is left
	// behind: the job goes back, or counts as failed if its time was up. Default 5 s.
	StopWait time.Duration
	// SettleTimeout is how long a worker tries to store what a run led to before it leaves the job to come back.
	// A stop takes at most Grace, StopWait and SettleTimeout together. Default 20 s.
	SettleTimeout time.Duration
	// Observe, if set, is called once for every delivery that was dealt with. It must not block.
	Observe func(Outcome)
}

func (o WorkerOptions) withDefaults() WorkerOptions {
	num := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	dur := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	num(&o.Concurrency, 2)
	num(&o.MaxAckPending, 1000)
	num(&o.MaxFailures, 25)
	num(&o.MaxCrashes, 3)
	dur(&o.AckWait, 30*time.Second)
	dur(&o.RetryMin, time.Second)
	dur(&o.RetryMax, 5*time.Minute)
	dur(&o.MaxRun, time.Hour)
	dur(&o.Grace, 500*time.Millisecond)
	dur(&o.StopWait, 5*time.Second)
	dur(&o.SettleTimeout, 20*time.Second)
	if o.Observe == nil {
		o.Observe = func(Outcome) {}
	}
	return o
}

// Result is how a delivery ended.
type Result string

// The results.
const (
	Done       Result = "done"        // the handler succeeded
	Postponed  Result = "postponed"   // the handler said PutOff: another job is to do it later
	Failed     Result = "failed"      // the handler said Permanent
	Retried    Result = "retried"     // the job comes back later
	HandedBack Result = "handed_back" // the worker stopped, or it was not the job's turn (Later): it comes back, uncounted
	Dead       Result = "dead"        // the job was given up
	Unsettled  Result = "unsettled"   // the outcome could not be stored; the job comes back later
	Held       Result = "held"        // the job is running in this process already: its lease was lost for a moment
)

// Outcome is what became of one delivery of a job.
type Outcome struct {
	Lane       domain.Lane
	Kind       domain.JobKind
	JobID      string // "" for a message that is not a job
	Generation uint64
	Result     Result
	Took       time.Duration // of the handler; 0 if it was not run
	Err        error         // what the handler returned, or why the job was given up
}

// errStopping is the cause with which a handler's context ends when the worker must stop.
var errStopping = errors.New("the worker is stopping")

// errLeftBehind says that a handler did not return after its context had ended.
var errLeftBehind = errors.New("the work did not stop when its time was up")

// Work hands the jobs of a lane to the handler until ctx ends. Then it takes no more, lets running jobs finish within
// Grace, ends their contexts, gives back what is not finished, and returns nil. It returns an error only if it
// cannot begin.
func (b *Broker) Work(ctx context.Context, lane domain.Lane, o WorkerOptions, h Handler) error {
	if !validLane(lane) {
		return fmt.Errorf("%w: lane %q", ErrInvalid, lane)
	}
	o = o.withDefaults()
	run, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	w := &worker{
		broker: b, lane: lane, opts: o, handler: h, run: run, stopping: ctx,
		retry: backoff{min: o.RetryMin, max: o.RetryMax},
		log:   b.log.With("lane", lane),
		held:  map[uint64]bool{},
	}
	// Servers that are away now are waited for, as they are later on.
	if _, err := w.consumer(ctx); err != nil && !errors.Is(err, ErrUnavailable) {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	var slots sync.WaitGroup
	for range o.Concurrency {
		slots.Go(func() { w.loop(ctx) })
	}
	finished := make(chan struct{})
	go func() {
		slots.Wait()
		close(finished)
	}()
	<-ctx.Done()
	grace := time.NewTimer(o.Grace)
	defer grace.Stop()
	select {
	case <-finished:
		return nil
	case <-grace.C:
		stop(errStopping)
	}
	<-finished // bounded: handlers by StopWait, what follows by SettleTimeout
	return nil
}

// worker is the part of Work that all slots share.
type worker struct {
	broker   *Broker
	lane     domain.Lane
	opts     WorkerOptions
	handler  Handler
	run      context.Context // of handlers: outlives stopping by the grace period
	stopping context.Context // ends when no more jobs are to be taken
	retry    backoff
	log      *slog.Logger

	mu   sync.Mutex
	held map[uint64]bool // generations that are being dealt with
}

// claim takes a generation, unless a slot of this worker has it. A machine too busy to send heartbeats in time is
// handed its own jobs a second time; running them twice would make it busier still, and count as a crash.
func (w *worker) claim(generation uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held[generation] {
		return false
	}
	w.held[generation] = true
	return true
}

func (w *worker) release(generation uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, generation)
}

// consumer makes the durable consumer of the lane or brings it up to date.
func (w *worker) consumer(ctx context.Context) (jetstream.Consumer, error) {
	c, err := w.broker.ensureConsumer(ctx, StreamJobs, jetstream.ConsumerConfig{
		Durable:       ConsumerOf(w.lane),
		Description:   "workers of lane " + string(w.lane),
		FilterSubject: jobSubject(w.lane, "*", "*"),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       w.opts.AckWait,
		MaxDeliver:    -1, // a message past its limit would stay in the stream, undelivered and unseen: we count
		MaxAckPending: w.opts.MaxAckPending,
	})
	if err != nil {
		return nil, fmt.Errorf("making the consumer of %s jobs: %w", w.lane, err)
	}
	return c, nil
}

// askBeat is how often the server shows that it still knows who is waiting for messages. A consumer's new leader does not
// know who was waiting at the old one, so after twice that they ask again.
const askBeat = 2 * time.Second

// loop is one slot: it asks for one job at a time, so that no job waits in a buffer while its lease runs.
func (w *worker) loop(ctx context.Context) {
	pause := backoff{min: 100 * time.Millisecond, max: 10 * time.Second}
	for failures := 0; ctx.Err() == nil; {
		err := w.take(ctx)
		if err == nil {
			failures = 0
			continue
		}
		failures++
		if ctx.Err() != nil {
			return
		}
		w.log.Warn("taking jobs is held up", "error", err, "failures", failures)
		wait(ctx, pause.delay(failures))
	}
}

// take works on jobs until asking for them fails or ctx ends.
func (w *worker) take(ctx context.Context) error {
	// Made anew after every failure: the consumer may have been removed with its stream.
	consumer, err := w.consumer(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		msg, err := consumer.Next(jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(askBeat))
		switch {
		case err == nil && ctx.Err() != nil:
			// It came as we were leaving and was not begun, so there is nothing to count.
			return msg.Nak()
		case err == nil:
			w.deliver(msg)
		case errors.Is(err, nats.ErrTimeout), ctx.Err() != nil: // nothing to do for a while
		default:
			return fmt.Errorf("asking for the next %s job: %w", w.lane, err)
		}
	}
	return nil
}

// wait pauses for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
