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
	"github.com/sluice/sluice/pkg/sleep"
)

// Handler processes one job. Its error decides what happens next:
//
//	nil               the job is done
//	Permanent(err)    the job ends with an error event
//	Rescheduled(err)  the job ends; another job does the work later
//	RetryAfter(d, e)  the job is retried after d or later
//	Snooze(d, err)    the job is retried after d; the run does not count
//	any other error   the job is retried after a growing delay, and abandoned after MaxFailures
//
// A panic counts as an error. The context is cancelled when the job has run for MaxRun or the worker stops. A run
// interrupted by a stopping worker does not count, and the job is redelivered.
type Handler func(ctx context.Context, job domain.Job) error

// WorkerOptions configure a worker. All of a lane's workers share AckWait and MaxAckPending. Since the last worker to
// start sets them for all, every worker should use the same values.
type WorkerOptions struct {
	// Concurrency is how many of one workspace's jobs may run at a time in this process. One additional job may run if
	// its workspace has no other job running in this process. Default 2.
	Concurrency int
	// AckWait is how long a worker may be silent before its jobs are redelivered. A worker extends its running jobs'
	// leases three times in that period. AckWait must be longer than a leader election, because extensions sent during
	// an election are lost and jobs would run twice. Default 30 s. If workers and server share a process, 5 s is
	// enough.
	AckWait time.Duration
	// MaxAckPending is the maximum number of the lane's jobs that may be running or waiting for a retry. Once it is
	// reached, no more jobs are delivered. It must be larger than the admission window. Default 1,000.
	MaxAckPending int
	// MaxFailures is the number of failed attempts after which a job is abandoned. Default 25, which takes an hour and
	// three quarters with the default delays.
	MaxFailures int
	// MaxCrashes is the number of crashes after which a job is abandoned. A run counts as a crash if its worker died.
	// Default 3.
	MaxCrashes int
	// RetryMin and RetryMax bound the delay between attempts. The delay doubles from RetryMin to RetryMax, plus a
	// random amount of up to a quarter. Defaults 1 s and 5 min.
	RetryMin, RetryMax time.Duration
	// MaxRun is the maximum time a handler may spend on one job. Default 1 h.
	MaxRun time.Duration
	// Grace is how long running jobs may continue once the worker is told to stop. Default 500 ms, so that another
	// worker gets an interrupted job within a second.
	Grace time.Duration
	// StopWait is how long a handler may take to return after its context is done. If it takes longer, its goroutine is
	// abandoned, and the job is redelivered or, if it exceeded MaxRun, counts as failed. Default 5 s.
	StopWait time.Duration
	// SettleTimeout is how long a worker keeps trying to store a run's outcome. If it cannot, the job is redelivered.
	// Stopping takes at most Grace, StopWait and SettleTimeout combined. Default 20 s.
	SettleTimeout time.Duration
	// Observe, if set, is called once for every delivery processed. It must not block.
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

// Result is the outcome of a delivery.
type Result string

// Outcomes of a delivery.
const (
	Done       Result = "done"        // the handler succeeded
	Postponed  Result = "postponed"   // the handler returned Rescheduled: another job does the work later
	Failed     Result = "failed"      // the handler returned Permanent
	Retried    Result = "retried"     // the job failed and will be retried
	HandedBack Result = "handed_back" // the worker stopped, or the handler returned Snooze; the run does not count
	Dead       Result = "dead"        // the job was abandoned
	Unsettled  Result = "unsettled"   // the outcome could not be stored; the job is redelivered
	Held       Result = "held"        // the job is already running in this process; its lease expired for a moment
)

// Outcome describes a processed delivery of a job.
type Outcome struct {
	Lane       domain.Lane
	Kind       domain.JobKind
	JobID      string // "" for a message that is not a job
	Generation uint64
	Result     Result
	Took       time.Duration // the handler's run time; 0 if it was not run
	Err        error         // the handler's error, or the reason for abandoning the job
}

// errStopping is the cancellation cause of handlers' contexts when the worker stops.
var errStopping = errors.New("the worker is stopping")

// errAbandoned means that a handler failed to return after its context was done.
var errAbandoned = errors.New("processing did not stop at its time limit")

// Work passes a lane's jobs to the handler until ctx is done. It then accepts no more jobs, cancels the running ones'
// contexts after Grace, returns unfinished jobs to the stream and returns nil. It returns an error only if it can't
// start.
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
		turns: newFairGate(o),
	}
	// If the servers are down now, the loop below waits for them.
	if _, err := w.consumer(ctx); err != nil && !errors.Is(err, ErrUnavailable) {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	var slots sync.WaitGroup
	for range o.Concurrency + 1 + prefetch(o.Concurrency) {
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
	<-finished // bounded by StopWait and SettleTimeout
	return nil
}

// worker holds the state shared by all slots in one Work call.
type worker struct {
	broker   *Broker
	lane     domain.Lane
	opts     WorkerOptions
	handler  Handler
	run      context.Context // the handlers' context; cancelled when the grace period after the stop is over
	stopping context.Context // ends when the worker must accept no more jobs
	retry    backoff
	log      *slog.Logger
	turns    *fairGate

	mu   sync.Mutex
	held map[uint64]bool // generations being processed
}

// claim marks a generation as being processed, or returns false if it already is. That can happen if a busy machine
// extends a job's lease too late and the job is redelivered. Running the job twice would make the machine even busier
// and count as a crash.
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

// consumer creates the lane's durable consumer or updates its configuration.
func (w *worker) consumer(ctx context.Context) (jetstream.Consumer, error) {
	c, err := w.broker.ensureConsumer(ctx, StreamJobs, jetstream.ConsumerConfig{
		Durable:       ConsumerOf(w.lane),
		Description:   "workers of lane " + string(w.lane),
		FilterSubject: jobSubject(w.lane, "*", "*"),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       w.opts.AckWait,
		MaxDeliver:    -1, // no limit, because the server would silently stop delivering; attempts are counted instead
		MaxAckPending: w.opts.MaxAckPending,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the consumer for %s jobs: %w", w.lane, err)
	}
	return c, nil
}

// requestHeartbeat is the interval between the server's heartbeats for a pending request. If two are missed, the client
// repeats its request, because a consumer's new leader doesn't know about requests sent to the old one.
const requestHeartbeat = 2 * time.Second

// loop runs one of the worker's slots. It requests one job at a time, so that no job sits in a buffer while its lease
// is running out.
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
		level := slog.LevelWarn
		if failures == 1 { // common at startup, in every slot: the servers may still be creating the consumer
			level = slog.LevelDebug
		}
		w.log.Log(ctx, level, "cannot receive jobs; retrying", "error", err, "failures", failures)
		wait(ctx, pause.delay(failures))
	}
}

// take processes jobs until a request for more fails or ctx is done.
func (w *worker) take(ctx context.Context) error {
	// Recreate the consumer after every failure, because it may have been deleted along with its stream.
	consumer, err := w.consumer(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		msg, err := consumer.Next(jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(requestHeartbeat))
		switch {
		case err == nil && ctx.Err() != nil:
			// The job arrived during the shutdown and never started, so there is nothing to count.
			return msg.Nak()
		case err == nil:
			w.deliver(msg)
		case errors.Is(err, nats.ErrTimeout), ctx.Err() != nil: // nothing to do for a while
		default:
			return fmt.Errorf("requesting the next %s job: %w", w.lane, err)
		}
	}
	return nil
}

// wait pauses for d or until ctx is done.
func wait(ctx context.Context, d time.Duration) { _ = sleep.For(ctx, d) }
