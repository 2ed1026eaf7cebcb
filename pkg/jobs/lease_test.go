package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

func TestWorkKeepsALongJobToItself(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	const ackWait = 1500 * time.Millisecond // long enough for a busy machine to extend leases in time
	var runs atomic.Int32
	w := work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: 2, AckWait: ackWait}, func(ctx context.Context, _ domain.Job) error {
		runs.Add(1)
		timer := time.NewTimer(2 * ackWait) // the test is about runs longer than AckWait
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	publish(t, b, newJob(domain.JobIngest))
	if out := receive(t, w.outcomes, "the outcome"); out.Result != Done || runs.Load() != 1 {
		t.Errorf("outcome is %+v after %d runs, want one run", out, runs.Load())
	}
}

func TestAJobWhoseLeaseWasLostIsNotRunTwiceByItsWorker(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	var runs atomic.Int32
	begun, release := make(chan struct{}, 2), make(chan struct{})
	w := work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: 2}, func(context.Context, domain.Job) error {
		runs.Add(1)
		begun <- struct{}{}
		<-release
		return nil
	})
	gen := publish(t, b, newJob(domain.JobIngest))
	receive(t, begun, "the run")
	// The server can't tell an expired lease from a refused delivery.
	ack := fmt.Sprintf("$JS.ACK.%s.%s.1.%d.1.0.0", StreamJobs, ConsumerOf(domain.LaneIngest), gen)
	if err := b.conn.nc.Publish(ack, []byte("-NAK")); err != nil {
		t.Fatal(err)
	}
	if out := receive(t, w.outcomes, "the second delivery"); out.Result != Held || out.Generation != gen {
		t.Errorf("outcome is %+v, want it held", out)
	}
	close(release)
	if out := receive(t, w.outcomes, "the outcome"); out.Result != Done || runs.Load() != 1 {
		t.Errorf("outcome is %+v after %d runs", out, runs.Load())
	}
	if backlog, err := b.Backlog(testContext(t), domain.LaneIngest); err != nil || backlog != (Backlog{}) {
		t.Errorf("backlog is %+v, %v", backlog, err)
	}
}

func TestWorkBoundsTheRun(t *testing.T) {
	t.Parallel()

	t.Run("a run beyond MaxRun is a failure", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		w := work(t, b, domain.LaneIngest, WorkerOptions{MaxRun: 20 * time.Millisecond, MaxFailures: 1}, func(ctx context.Context, _ domain.Job) error {
			<-ctx.Done()
			return ctx.Err()
		})
		publish(t, b, newJob(domain.JobIngest))
		if out := receive(t, w.outcomes, "the outcome"); out.Result != Dead {
			t.Errorf("outcome is %+v", out)
		}
	})
	t.Run("a handler that does not stop is left behind", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		release := make(chan struct{})
		defer close(release)
		w := work(t, b, domain.LaneIngest, WorkerOptions{MaxRun: 10 * time.Millisecond, StopWait: 10 * time.Millisecond, MaxFailures: 1},
			func(context.Context, domain.Job) error { <-release; return nil })
		publish(t, b, newJob(domain.JobIngest))
		if out := receive(t, w.outcomes, "the outcome"); out.Result != Dead || !strings.Contains(out.Err.Error(), errAbandoned.Error()) {
			t.Errorf("outcome is %+v", out)
		}
	})
}

func TestStoppingIsNotFailing(t *testing.T) {
	t.Parallel()

	t.Run("a job cut short goes back at once and counts as nothing", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		job := newJob(domain.JobIngest)
		gen := publish(t, b, job)
		o := WorkerOptions{AckWait: time.Minute, MaxFailures: 1, MaxCrashes: 1}
		for i := range 3 { // too many if these runs counted
			begun := make(chan struct{})
			w := work(t, b, domain.LaneIngest, o, func(ctx context.Context, _ domain.Job) error {
				close(begun)
				<-ctx.Done()
				return fmt.Errorf("embedding: %w", ctx.Err())
			})
			signalled(t, begun, "the run")
			w.stop(t)
			if out := receive(t, w.outcomes, "the outcome"); out.Result != HandedBack {
				t.Fatalf("outcome %d is %+v", i, out)
			}
		}
		if tl, err := b.attempts.load(testContext(t), gen); err != nil || tl.HandBacks != 3 || tl.Failures != 0 || tl.crashes() != 0 {
			t.Errorf("attempts are %+v, %v", tl, err)
		}
		w := work(t, b, domain.LaneIngest, o, func(context.Context, domain.Job) error { return nil })
		if out := receive(t, w.outcomes, "the last run"); out.Result != Done {
			t.Errorf("outcome is %+v", out)
		}
	})
	t.Run("a job may finish within the grace period", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		begun, release := make(chan struct{}), make(chan struct{})
		w := work(t, b, domain.LaneIngest, WorkerOptions{Grace: testTimeout}, func(ctx context.Context, _ domain.Job) error {
			close(begun)
			<-release
			return ctx.Err()
		})
		publish(t, b, newJob(domain.JobIngest))
		signalled(t, begun, "the run")
		w.cancel()
		close(release)
		if out := receive(t, w.outcomes, "the outcome"); out.Result != Done {
			t.Errorf("outcome is %+v", out)
		}
	})
	t.Run("a handler that ignores the stop does not hold it up", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		begun, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		w := work(t, b, domain.LaneIngest, WorkerOptions{StopWait: 10 * time.Millisecond}, func(context.Context, domain.Job) error {
			close(begun)
			<-release
			return nil
		})
		publish(t, b, newJob(domain.JobIngest))
		signalled(t, begun, "the run")
		w.stop(t)
		if out := receive(t, w.outcomes, "the outcome"); out.Result != HandedBack {
			t.Errorf("outcome is %+v", out)
		}
	})
}

func TestAJobWhoseErrorCannotBeReportedIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	for name, c := range map[string]struct {
		err  error
		want Result
	}{
		"a permanent error": {Permanent(errors.New("encrypted")), Failed},
		"the last failure":  {errors.New("out of memory"), Dead},
	} {
		job := newJob(domain.JobIngest)
		if err := b.js.DeleteStream(ctx, StreamEvents); err != nil {
			t.Fatal(err)
		}
		w := work(t, b, domain.LaneIngest, WorkerOptions{MaxFailures: 1, SettleTimeout: 100 * time.Millisecond},
			func(context.Context, domain.Job) error { return c.err })
		publish(t, b, job)
		if out := receive(t, w.outcomes, name); out.Result != Unsettled {
			t.Errorf("%s: outcome without events is %+v", name, out)
		}
		if _, _, err := quorum.Ensure(ctx, b.js, b.opts.eventsConfig()); err != nil {
			t.Fatal(err)
		}
		for {
			out := receive(t, w.outcomes, name)
			if out.Result == c.want {
				break
			}
			if out.Result != Unsettled {
				t.Fatalf("%s: outcome is %+v", name, out)
			}
		}
		if events := allEvents(t, b, job.DatastoreID); len(events) != 1 {
			t.Errorf("%s: events are %+v", name, events)
		}
		w.stop(t)
	}
}

func TestAnOutcomeSurvivesAShortAbsenceOfItsStream(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	job := newJob(domain.JobIngest)
	begun, release := make(chan struct{}), make(chan struct{})
	w := work(t, b, domain.LaneIngest, WorkerOptions{}, func(context.Context, domain.Job) error {
		close(begun)
		<-release
		return Permanent(errors.New("encrypted"))
	})
	publish(t, b, job)
	signalled(t, begun, "the run")
	if err := b.js.DeleteStream(ctx, StreamEvents); err != nil {
		t.Fatal(err)
	}
	close(release)
	if _, _, err := quorum.Ensure(ctx, b.js, b.opts.eventsConfig()); err != nil {
		t.Fatal(err)
	}
	if out := receive(t, w.outcomes, "the outcome"); out.Result != Failed {
		t.Errorf("outcome is %+v", out)
	}
}

func TestWorkersThatDieAreCounted(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	b := openBroker(t, connect(t, srv), Options{})
	job := newJob(domain.JobIngest)
	gen := publish(t, b, job)
	o := WorkerOptions{Concurrency: 1, AckWait: 100 * time.Millisecond, StopWait: time.Millisecond, MaxCrashes: 2}
	for range 2 {
		// This worker has its own connection. It is cut during the run, so that nothing more from the worker reaches
		// the server.
		conn, err := Connect(testContext(t), ConnectOptions{InProcess: srv, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		doomed, err := Attach(testContext(t), conn, Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		begun, release := make(chan struct{}), make(chan struct{})
		w := work(t, doomed, domain.LaneIngest, o, func(context.Context, domain.Job) error {
			close(begun)
			<-release
			return nil
		})
		signalled(t, begun, "the doomed run")
		conn.Close()
		close(release)
		if out := receive(t, w.outcomes, "the doomed outcome"); out.Result != Unsettled {
			t.Fatalf("outcome without a connection is %+v", out)
		}
		w.stop(t)
	}
	w := work(t, b, domain.LaneIngest, o, func(context.Context, domain.Job) error {
		t.Error("the job was run again")
		return nil
	})
	if out := receive(t, w.outcomes, "the verdict"); out.Result != Dead || out.Generation != gen {
		t.Errorf("outcome is %+v", out)
	}
	dead := deadLetters(t, b, job.DatastoreID)
	if len(dead) != 1 || dead[0].Crashes != 2 || dead[0].Failures != 0 || !strings.Contains(dead[0].Error, "2 times") {
		t.Errorf("dead letters are %+v", dead)
	}
	if events := allEvents(t, b, job.DatastoreID); len(events) != 1 || events[0].Error != dead[0].Error {
		t.Errorf("events are %+v", events)
	}
}
