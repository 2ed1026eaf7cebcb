package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// delivery holds the state of a message being processed in one of a worker's slots.
type delivery struct {
	*worker
	log      *slog.Logger // includes the job's ids
	msg      jetstream.Msg
	job      domain.Job
	counts   attemptCounts
	duration time.Duration
}

// deliver processes one message, from its arrival to its acknowledgement.
func (w *worker) deliver(msg jetstream.Msg) {
	d := &delivery{worker: w, log: w.log, msg: msg}
	meta, err := msg.Metadata()
	if err != nil { // cannot happen, because every message from a consumer has metadata
		w.log.Error("the message has no metadata", "subject", msg.Subject(), "error", err)
		return
	}
	if !w.claim(meta.Sequence.Stream) {
		// Another slot in this worker is running the job. That slot also extends this delivery's lease, because all
		// deliveries of a message share one lease.
		w.opts.Observe(Outcome{Lane: w.lane, Kind: w.lane.Kind(), Generation: meta.Sequence.Stream, Result: Held})
		return
	}
	defer w.release(meta.Sequence.Stream)
	if d.job, err = decodeJob(msg.Subject(), msg.Data()); err != nil {
		d.job = domain.Job{Generation: meta.Sequence.Stream}
		d.log = w.log.With("generation", d.job.Generation)
		d.settle(func(ctx context.Context) (Result, error) { return d.deadLetterForeign(ctx, err) })
		return
	}
	d.job.Generation = meta.Sequence.Stream
	d.log = w.log.With("job", d.job.ID, "datasource", d.job.DatasourceID, "generation", d.job.Generation)
	slot, ok := d.acquireSlot()
	if !ok {
		return
	}
	defer slot.Leave()
	runIt := false
	d.settle(func(ctx context.Context) (Result, error) {
		var r Result
		var err error
		r, runIt, err = d.begin(ctx)
		return r, err
	})
	if !runIt {
		return
	}
	err = d.work()
	d.settle(func(ctx context.Context) (Result, error) { return d.end(ctx, err) })
}

// settle calls `step`, which records what happens to a job, for example by acknowledging it. `step` gets up to
// SettleTimeout, even during a shutdown. If it fails, the job is redelivered. If it returns a result, settle passes
// that to the observer.
func (d *delivery) settle(step func(context.Context) (Result, error)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.stopping), d.opts.SettleTimeout)
	defer cancel()
	result, err := step(ctx)
	if err != nil && result == Unsettled {
		d.log.Warn("could not store the outcome of a job; it will be delivered again", "error", err)
		// If this request is lost, the job is redelivered after AckWait.
		_ = d.msg.NakWithDelay(d.retry.delay(d.counts.Failures + 1))
	}
	if result == "" {
		return
	}
	d.opts.Observe(Outcome{
		Lane: d.lane, Kind: d.lane.Kind(), JobID: d.job.ID, Generation: d.job.Generation, Result: result, Took: d.duration, Err: err,
	})
}

// persist retries a write until it succeeds, retrying becomes pointless, or ctx is done. That way, a few seconds
// without a leader don't waste an hour of work.
func persist(ctx context.Context, write func() error) error {
	pause := backoff{min: 50 * time.Millisecond, max: 2 * time.Second}
	for n := 1; ; n++ {
		err := write()
		if err == nil || isPointlessRetry(err) {
			return err
		}
		wait(ctx, pause.delay(n))
		if ctx.Err() != nil {
			return err
		}
	}
}

// errSourceGone means that the job's stream or consumer no longer exists.
var errSourceGone = errors.New("the job's stream is gone")

// isPointlessRetry reports whether a write that failed with err would certainly fail again.
func isPointlessRetry(err error) bool {
	for _, lasting := range []error{ErrInvalid, ErrTooLarge, nats.ErrConnectionClosed, jetstream.ErrMsgAlreadyAckd, errRevision, errSourceGone} {
		if errors.Is(err, lasting) {
			return true
		}
	}
	return false
}

func (d *delivery) count(ctx context.Context, f func(*attemptCounts)) error {
	return persist(ctx, func() error {
		next, err := d.broker.attempts.change(ctx, d.job.Generation, d.counts, f)
		if err == nil {
			d.counts = next
		}
		return err
	})
}

// begin counts the run about to start, or abandons a job that has failed or crashed its worker too often. If `run` is
// false, the job must not be run now, and `result` says what was done with it. The count is stored before the run, so
// that it includes runs that kill their worker.
func (d *delivery) begin(ctx context.Context) (result Result, run bool, err error) {
	// Most jobs are on their first delivery and have no counts to read, so try to write the first ones at once.
	err = persist(ctx, func() error {
		d.counts, err = d.broker.attempts.store(ctx, d.job.Generation, attemptCounts{Starts: 1, Started: d.broker.now()})
		return err
	})
	if err == nil {
		d.job.Delivery = 1
		return "", true, nil
	}
	if !errors.Is(err, errRevision) {
		return Unsettled, false, err
	}
	err = persist(ctx, func() error {
		d.counts, err = d.broker.attempts.load(ctx, d.job.Generation)
		return err
	})
	if err != nil {
		return Unsettled, false, err
	}
	if n := d.counts.crashes(); n >= d.opts.MaxCrashes {
		result, err = d.deadLetter(ctx, fmt.Sprintf(
			"Processing this content crashed the worker %d times, so it is not retried. The content is probably damaged or too large.", n))
		return result, false, err
	}
	if d.counts.Failures >= d.opts.MaxFailures { // abandoned earlier, but without storing the outcome
		result, err = d.deadLetter(ctx, d.failedTooOften())
		return result, false, err
	}
	if rest := d.crashDelay(); rest > 0 {
		result, err = d.delayAfterCrash(rest)
		return result, false, err
	}
	if err := d.count(ctx, func(t *attemptCounts) { t.Starts++; t.Started = d.broker.now() }); err != nil {
		return Unsettled, false, err
	}
	d.job.Delivery = d.counts.Starts
	return "", true, nil
}

// crashDelay returns how long to wait before rerunning a job whose worker died. The first crash may be a coincidence
// and causes no delay; after that, the delay doubles with each crash. A job that crashes its workers thus runs less and
// less often, while a job that just happened to be running during several crashes isn't abandoned right away.
func (d *delivery) crashDelay() time.Duration {
	n := d.counts.crashes()
	if n < 2 {
		return 0
	}
	delay := d.retry.delay(n)
	return min(d.counts.Started.Add(delay).Sub(d.broker.now()), delay) // min guards against a clock being set back
}

func (d *delivery) delayAfterCrash(rest time.Duration) (Result, error) {
	d.log.Debug("delaying a job whose worker died", "crashes", d.counts.crashes(), "delay", rest)
	if err := d.msg.NakWithDelay(rest); err != nil {
		return Unsettled, err
	}
	return HandedBack, nil
}

// work runs the handler, extending the lease until it is done.
func (d *delivery) work() error {
	ctx, cancel := context.WithTimeout(d.run, d.opts.MaxRun)
	defer cancel()
	began := time.Now()
	defer func() { d.duration = time.Since(began) }()

	done := make(chan error, 1) // buffered, so that an abandoned handler can exit
	go func() { done <- d.call(ctx) }()
	beat := time.NewTicker(d.opts.AckWait / 3)
	defer beat.Stop()
	ended := ctx.Done()
	var overdue <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-beat.C:
			if err := d.msg.InProgress(); err != nil {
				d.log.Warn("could not extend the lease of a job", "error", err)
			}
		case <-ended:
			ended = nil
			timer := time.NewTimer(d.opts.StopWait)
			defer timer.Stop()
			overdue = timer.C
		case <-overdue:
			d.log.Error("a handler did not stop in time and was abandoned")
			return errAbandoned
		}
	}
}

// call runs the handler, turning a panic into an error.
func (d *delivery) call(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			d.log.Error("a handler panicked", "panic", v, "stack", string(debug.Stack()))
			err = &panicError{value: v}
		}
	}()
	return d.handler(ctx, d.job)
}

// end stores a run's outcome. It stores the event that users see before acknowledging the job.
func (d *delivery) end(ctx context.Context, runErr error) (Result, error) {
	if runErr == nil {
		return d.finish(ctx, Done, nil)
	}
	if IsRescheduled(runErr) {
		return d.finish(ctx, Postponed, runErr)
	}
	isPermanent := IsPermanent(runErr) && !errors.Is(runErr, context.Canceled)
	if !isPermanent && d.stopped() {
		return d.handBack(ctx, runErr)
	}
	if isPermanent {
		if err := d.report(ctx, messageFor(runErr), stageOf(runErr)); err != nil {
			// Without the event, users don't know the outcome, so count the run as returned to the stream instead of
			// finished.
			return Unsettled, errors.Join(runErr, err, d.count(ctx, func(t *attemptCounts) { t.HandBacks++ }))
		}
		return d.finish(ctx, Failed, runErr)
	}
	if later, ok := errors.AsType[*snoozeError](runErr); ok {
		return d.postpone(ctx, later)
	}
	err := d.count(ctx, func(t *attemptCounts) {
		t.Failures++
		t.LastError = messageFor(runErr)
	})
	if err != nil {
		return Unsettled, errors.Join(runErr, err)
	}
	if d.counts.Failures >= d.opts.MaxFailures {
		return d.deadLetter(ctx, d.failedTooOften())
	}
	return d.nak(ctx, runErr)
}

// stopped reports whether the handler's context was cancelled because the worker is stopping.
func (d *delivery) stopped() bool { return errors.Is(context.Cause(d.run), errStopping) }

// nak requests redelivery after a delay. The consumer must not have a BackOff list, because the server would add that
// list's delay.
func (d *delivery) nak(ctx context.Context, runErr error) (Result, error) {
	delay := d.retry.delay(d.counts.Failures)
	if asked, ok := errors.AsType[*retryError](runErr); ok && asked.after > delay {
		delay = d.retry.jitter(asked.after)
	}
	d.log.Debug("job failed; will retry", "failures", d.counts.Failures, "delay", delay, "error", runErr)
	d.reportRetry(ctx, runErr)
	if err := d.msg.NakWithDelay(delay); err != nil {
		return Unsettled, errors.Join(runErr, err)
	}
	return Retried, runErr
}

// reportRetry emits an event that tells users why a job is taking so long. If it can't be stored, the job is retried
// anyway.
func (d *delivery) reportRetry(ctx context.Context, runErr error) {
	ev := d.event(domain.EventProgress)
	ev.Progress = &domain.Progress{Stage: domain.StageRetrying}
	ev.Error = fmt.Sprintf("Attempt %d of %d failed and will be retried: %s", d.counts.Failures, d.opts.MaxFailures, messageFor(runErr))
	if err := d.broker.Emit(ctx, ev); err != nil {
		d.log.Debug("could not report the retry of a job", "error", err)
	}
}

// postpone requests redelivery after the delay requested by the handler.
func (d *delivery) postpone(ctx context.Context, later *snoozeError) (Result, error) {
	if err := d.count(ctx, func(t *attemptCounts) { t.HandBacks++ }); err != nil {
		return Unsettled, errors.Join(later, err)
	}
	if err := d.msg.NakWithDelay(d.retry.jitter(max(later.after, d.opts.RetryMin))); err != nil {
		return Unsettled, errors.Join(later, err)
	}
	return HandedBack, later
}

// Time limit for storing the counts of a job returned to the stream and for sending the message.
const handBackTimeout = 2 * time.Second

// handBack returns an interrupted job to the stream for immediate redelivery. If storing the attempt counts fails,
// handBack returns the job anyway, and this run counts as a crash.
func (d *delivery) handBack(ctx context.Context, runErr error) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, handBackTimeout)
	defer cancel()
	if err := d.count(ctx, func(t *attemptCounts) { t.HandBacks++ }); err != nil {
		d.log.Warn("could not record that a worker returned a job", "error", err)
		var flush context.CancelFunc
		ctx, flush = context.WithTimeout(context.WithoutCancel(ctx), handBackTimeout)
		defer flush()
	}
	if err := d.msg.Nak(); err != nil {
		return Unsettled, errors.Join(runErr, err)
	}
	// Flush the message now: Work may return right afterwards, and its caller may close the connection.
	if err := d.broker.conn.nc.FlushWithContext(ctx); err != nil {
		return Unsettled, errors.Join(runErr, err)
	}
	return HandedBack, runErr
}

// finish acknowledges the job and deletes its counts.
func (d *delivery) finish(ctx context.Context, r Result, runErr error) (Result, error) {
	if err := persist(ctx, func() error { return d.broker.retry(ctx, d.acknowledge) }); err != nil {
		// If the acknowledgement is lost, the job is redelivered after AckWait, and the next attempt finds its work
		// already done. If the job's stream is gone, it isn't redelivered, which does no harm because the catalog
		// already knows from the event.
		return Unsettled, errors.Join(runErr, fmt.Errorf("acknowledging: %w", err))
	}
	if d.counts.Starts > 0 {
		if err := d.broker.attempts.forget(ctx, d.job.Generation); err != nil {
			d.log.Debug("could not delete the counts of a finished job; they will expire", "error", err)
		}
	}
	return r, runErr
}

// acknowledge acknowledges the job. If the job's stream or consumer was deleted, it fails with errSourceGone, so that
// the worker does not keep retrying.
func (d *delivery) acknowledge(ctx context.Context) error {
	err := d.msg.DoubleAck(ctx)
	if err == nil || errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return err
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackTimeout)
	defer cancel()
	_, gone := d.broker.js.Consumer(asking, StreamJobs, ConsumerOf(d.lane))
	if errors.Is(gone, jetstream.ErrStreamNotFound) || errors.Is(gone, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("%w: %w", errSourceGone, gone)
	}
	return err
}

func (d *delivery) failedTooOften() string {
	return clip(fmt.Sprintf("Gave up after %d attempts. The last error: %s", d.counts.Failures, d.counts.LastError))
}

// deadLetter stores a dead letter, reports the error to users and acknowledges the job, in this order. If any step
// fails, the job is redelivered, and its attempt counts prevent another run.
func (d *delivery) deadLetter(ctx context.Context, reason string) (Result, error) {
	d.log.Warn("giving up on a job", "failures", d.counts.Failures, "crashes", d.counts.crashes(), "reason", reason)
	job := d.job
	to := target{d.lane, job.DatastoreID, job.DatasourceID}
	dl := DeadLetter{
		Kind: job.Kind, Generation: job.Generation, Job: &job, Error: reason,
		Failures: d.counts.Failures, Crashes: d.counts.crashes(), At: d.broker.now(),
	}
	err := persist(ctx, func() error { return d.broker.storeDeadLetter(ctx, to, dl) })
	if err == nil {
		err = d.report(ctx, reason, "")
	}
	if err != nil {
		return Unsettled, err
	}
	return d.finish(ctx, Dead, errors.New(reason))
}

// deadLetterForeign turns a message that is not a job into a dead letter. It emits no event, since there is no job to
// report on.
func (d *delivery) deadLetterForeign(ctx context.Context, why error) (Result, error) {
	d.log.Error("received a message that is not a valid job", "subject", d.msg.Subject(), "error", why)
	to, err := parseSubject(d.msg.Subject())
	if err != nil {
		return Unsettled, err
	}
	dl := DeadLetter{
		Kind: to.lane.Kind(), Generation: d.job.Generation, Raw: d.msg.Data(),
		Error: clip("This message is not a valid job: " + why.Error()), At: d.broker.now(),
	}
	if err := persist(ctx, func() error { return d.broker.storeDeadLetter(ctx, to, dl) }); err != nil {
		return Unsettled, err
	}
	return d.finish(ctx, Dead, why)
}

// report emits the error event that ends a job. If `stage` is not "", the event includes it.
func (d *delivery) report(ctx context.Context, text, stage string) error {
	ev := d.event(domain.EventError)
	ev.Error = text
	if stage != "" {
		ev.Progress = &domain.Progress{Stage: stage}
	}
	return persist(ctx, func() error { return d.broker.Emit(ctx, ev) })
}

func (d *delivery) event(t domain.EventType) domain.Event { return d.job.Event(t, d.broker.now()) }
