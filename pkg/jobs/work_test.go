package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

func TestWorkRunsAJob(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	job.Metadata = map[string]any{"author": "Ada"}
	job.Original = &domain.Original{Key: "k", SHA256: "s", Size: 1}
	got := make(chan domain.Job, 1)
	w := work(t, b, domain.JobIngest, WorkerOptions{}, func(_ context.Context, j domain.Job) error { got <- j; return nil })
	job.Generation, job.Delivery = publish(t, b, job), 1
	if diff := cmp.Diff(job, receive(t, got, "the job")); diff != "" {
		t.Errorf("job (-published +handed out):\n%s", diff)
	}
	if out := receive(t, w.outcomes, "the outcome"); out.Result != Done || out.Err != nil {
		t.Errorf("outcome is %+v", out)
	}
	if jobs := lastJobs(t, b, job.DatastoreID); len(jobs) != 1 {
		t.Errorf("%d jobs are in the log after the acknowledgement, want 1", len(jobs))
	}
	if tl, err := b.attempts.load(testContext(t), job.Generation); err != nil || tl.Starts != 0 {
		t.Errorf("attempts of a finished job are %+v, %v", tl, err)
	}
}

func TestWorkGivesEachKindItsOwn(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	got := make(chan domain.JobKind, 10)
	h := func(_ context.Context, j domain.Job) error { got <- j.Kind; return nil }
	w := work(t, b, domain.JobCrawl, WorkerOptions{}, h)
	publish(t, b, newJob(domain.JobIngest))
	publish(t, b, newJob(domain.JobCrawl))
	receive(t, w.outcomes, "the crawl job")
	if kind := receive(t, got, "a kind"); kind != domain.JobCrawl || len(got) != 0 {
		t.Errorf("the crawler was given %s and %d more", kind, len(got))
	}
	if err := b.Work(testContext(t), "sweep", WorkerOptions{}, h); !errors.Is(err, ErrInvalid) {
		t.Errorf("unknown kind: error is %v", err)
	}
}

func TestWorkHonoursConcurrency(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	const slots, jobs = 3, 12
	var now atomic.Int32
	begun, release := make(chan int32, jobs), make(chan struct{})
	w := work(t, b, domain.JobIngest, WorkerOptions{Concurrency: slots}, func(context.Context, domain.Job) error {
		begun <- now.Add(1)
		defer now.Add(-1)
		<-release
		return nil
	})
	for range jobs {
		publish(t, b, newJob(domain.JobIngest))
	}
	for range slots { // all slots are taken while none has finished
		receive(t, begun, "a run")
	}
	backlog, err := b.Backlog(testContext(t), domain.JobIngest)
	if want := (Backlog{Waiting: jobs - slots, Taken: slots}); err != nil || backlog != want {
		t.Errorf("backlog is %+v, %v, want %+v", backlog, err, want)
	}
	close(release)
	for range jobs {
		receive(t, w.outcomes, "an outcome")
	}
	for range jobs - slots {
		if n := receive(t, begun, "a run"); n > slots {
			t.Errorf("%d jobs ran at once, the limit is %d", n, slots)
		}
	}
}

func TestWorkErrors(t *testing.T) {
	t.Parallel()
	b := newBroker(t)

	t.Run("a permanent error ends the job with its message", func(t *testing.T) {
		for name, c := range map[string]struct {
			err  error
			want string
		}{
			"plain error":  {errors.New("the file is encrypted"), "the file is encrypted"},
			"wrapped":      {fmt.Errorf("ingesting: %w", domain.Errorf(domain.CodeInvalid, "The page answers 404.")), "The page answers 404."},
			"broken UTF-8": {errors.New("bad \xff name"), "bad \uFFFD name"},
			"endless text": {errors.New(strings.Repeat("é", maxMessageText)), strings.Repeat("é", maxMessageText/2) + "…"},
		} {
			job := newJob(domain.JobIngest)
			ctx, cancel := context.WithCancel(context.Background())
			outcomes := make(chan Outcome, 1)
			ended := make(chan error, 1)
			go func() {
				ended <- b.Work(ctx, domain.JobIngest, WorkerOptions{Observe: func(o Outcome) { outcomes <- o }},
					func(context.Context, domain.Job) error { return Permanent(c.err) })
			}()
			gen := publish(t, b, job)
			out := receive(t, outcomes, name)
			cancel()
			if err := receive(t, ended, "Work"); err != nil {
				t.Errorf("%s: Work returned %v", name, err)
			}
			if out.Result != Failed || !errors.Is(out.Err, c.err) {
				t.Errorf("%s: outcome is %+v", name, out)
			}
			events := allEvents(t, b, job.DatastoreID)
			if len(events) != 1 {
				t.Fatalf("%s: %d events", name, len(events))
			}
			ev := events[0]
			if ev.Type != domain.EventError || ev.Error != c.want || ev.JobID != job.ID || ev.Generation != gen ||
				ev.JobKind != job.Kind || ev.WorkspaceID != job.WorkspaceID || ev.At.IsZero() {
				t.Errorf("%s: event is %+v", name, ev)
			}
			if dead := deadLetters(t, b, job.DatastoreID); len(dead) != 0 {
				t.Errorf("%s: a permanent error made a dead letter: %+v", name, dead)
			}
		}
	})
	t.Run("nil stays nil", func(t *testing.T) {
		if Permanent(nil) != nil || RetryAfter(time.Second, nil) != nil {
			t.Error("no error became one")
		}
	})
}

func TestWorkRetriesUntilItSucceeds(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	deliveries := make(chan int, 10)
	w := work(t, b, domain.JobIngest, WorkerOptions{}, func(_ context.Context, j domain.Job) error {
		deliveries <- j.Delivery
		if j.Delivery < 4 {
			return errors.New("the model server is down")
		}
		return nil
	})
	publish(t, b, job)
	for want := 1; want <= 4; want++ {
		if got := receive(t, deliveries, "a run"); got != want {
			t.Errorf("delivery is %d, want %d", got, want)
		}
		out := receive(t, w.outcomes, "an outcome")
		if wantResult := map[bool]Result{true: Retried, false: Done}[want < 4]; out.Result != wantResult {
			t.Errorf("outcome of run %d is %+v, want %s", want, out, wantResult)
		}
	}
	if events := allEvents(t, b, job.DatastoreID); len(events) != 0 {
		t.Errorf("a job that succeeded in the end made events: %+v", events)
	}
}

func TestWorkWaitsAsLongAsTheErrorAsks(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	const asked = 300 * time.Millisecond
	times := make(chan time.Time, 2)
	work(t, b, domain.JobIngest, WorkerOptions{}, func(_ context.Context, j domain.Job) error {
		times <- time.Now()
		if j.Delivery == 1 {
			return RetryAfter(asked, errors.New("429"))
		}
		return nil
	})
	publish(t, b, newJob(domain.JobIngest))
	first := receive(t, times, "the first run")
	if pause := receive(t, times, "the second run").Sub(first); pause < asked {
		t.Errorf("the job came back after %s, asked was %s", pause, asked)
	}
}

func TestAJobThatWaitsForItsTurnCountsAsNothing(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	gen := make(chan uint64, 1)
	turn := errors.New("the host is busy")
	w := work(t, b, domain.JobIngest, WorkerOptions{MaxFailures: 1, MaxCrashes: 1}, func(_ context.Context, j domain.Job) error {
		if j.Delivery < 4 {
			return Later(time.Millisecond, turn)
		}
		gen <- j.Generation
		return nil
	})
	publish(t, b, newJob(domain.JobIngest))
	for _, want := range []Result{HandedBack, HandedBack, HandedBack, Done} {
		out := receive(t, w.outcomes, "an outcome")
		if out.Result != want || (want == HandedBack) != errors.Is(out.Err, turn) {
			t.Errorf("outcome is %+v, want %s", out, want)
		}
	}
	if Later(time.Second, nil) != nil {
		t.Error("no error became one")
	}
}

func TestOutstanding(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	check := func(step string, j domain.Job, want bool) {
		t.Helper()
		if got, err := b.Outstanding(testContext(t), j); err != nil || got != want {
			t.Errorf("%s: outstanding is %t, %v, want %t", step, got, err, want)
		}
	}
	check("before it is published", job, false)
	publish(t, b, job)
	check("before the first worker", job, true)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	w := work(t, b, domain.JobIngest, WorkerOptions{}, func(context.Context, domain.Job) error {
		begun <- struct{}{}
		<-release
		return nil
	})
	receive(t, begun, "the run")
	check("while it runs", job, true)
	close(release)
	receive(t, w.outcomes, "the outcome")
	check("when it is done", job, false)
	newer := again(job)
	publish(t, b, newer)
	receive(t, w.outcomes, "the newer job")
	check("when another took its place", job, false)
	if _, err := b.Outstanding(testContext(t), domain.Job{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("what is not a job: error is %v", err)
	}
}

func TestWorkGivesUpAfterMaxFailures(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	var runs atomic.Int32
	fail := atomic.Bool{}
	fail.Store(true)
	w := work(t, b, domain.JobIngest, WorkerOptions{MaxFailures: 3}, func(context.Context, domain.Job) error {
		runs.Add(1)
		if fail.Load() {
			panic("index out of range")
		}
		return nil
	})
	gen := publish(t, b, job)
	for _, want := range []Result{Retried, Retried, Dead} {
		if out := receive(t, w.outcomes, "an outcome"); out.Result != want {
			t.Errorf("outcome is %+v, want %s", out, want)
		}
	}
	if runs.Load() != 3 {
		t.Errorf("the job was run %d times, want 3", runs.Load())
	}
	dead := deadLetters(t, b, job.DatastoreID)
	if len(dead) != 1 {
		t.Fatalf("%d dead letters, want 1", len(dead))
	}
	dl := dead[0]
	if dl.Generation != gen || dl.Failures != 3 || dl.Crashes != 0 || dl.Job == nil || dl.Job.ID != job.ID ||
		!strings.Contains(dl.Error, "3 attempts") || !strings.Contains(dl.Error, "index out of range") {
		t.Errorf("dead letter is %+v", dl)
	}
	events := allEvents(t, b, job.DatastoreID)
	if len(events) != 1 || events[0].Type != domain.EventError || events[0].Error != dl.Error {
		t.Errorf("events are %+v", events)
	}

	fail.Store(false)
	next, err := b.ReplayDeadLetter(testContext(t), dl.Sequence)
	if err != nil || next <= gen {
		t.Fatalf("replay gave generation %d, %v", next, err)
	}
	if out := receive(t, w.outcomes, "the replayed job"); out.Result != Done || out.JobID != job.ID || out.Generation != next {
		t.Errorf("outcome of the replay is %+v", out)
	}
	if dead := deadLetters(t, b, ""); len(dead) != 0 {
		t.Errorf("the dead letter is still there: %+v", dead)
	}
	if _, err := b.ReplayDeadLetter(testContext(t), dl.Sequence); !errors.Is(err, ErrNotFound) {
		t.Errorf("second replay: error is %v, want ErrNotFound", err)
	}
}

func TestReplayOfADeadLetterNeverReplacesANewerJob(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	w := work(t, b, domain.JobIngest, WorkerOptions{MaxFailures: 1}, func(_ context.Context, j domain.Job) error {
		if j.ID == job.ID {
			return errors.New("no")
		}
		return nil
	})
	publish(t, b, job)
	receive(t, w.outcomes, "the failure")
	publish(t, b, again(job))
	receive(t, w.outcomes, "the newer job")
	dead := deadLetters(t, b, "")
	if len(dead) != 1 {
		t.Fatalf("%d dead letters", len(dead))
	}
	if _, err := b.ReplayDeadLetter(testContext(t), dead[0].Sequence); !errors.Is(err, ErrSuperseded) {
		t.Errorf("error is %v, want ErrSuperseded", err)
	}
	for range 2 {
		if err := b.DeleteDeadLetter(testContext(t), dead[0].Sequence); err != nil {
			t.Errorf("deleting: %v", err)
		}
	}
}

func TestWorkKeepsALongJobToItself(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	const ackWait = 1500 * time.Millisecond // long enough for a busy machine to send its heartbeats in time
	var runs atomic.Int32
	w := work(t, b, domain.JobIngest, WorkerOptions{Concurrency: 2, AckWait: ackWait}, func(ctx context.Context, _ domain.Job) error {
		runs.Add(1)
		timer := time.NewTimer(2 * ackWait) // the length of the run is what is tested
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
	w := work(t, b, domain.JobIngest, WorkerOptions{Concurrency: 2}, func(context.Context, domain.Job) error {
		runs.Add(1)
		begun <- struct{}{}
		<-release
		return nil
	})
	gen := publish(t, b, newJob(domain.JobIngest))
	receive(t, begun, "the run")
	// To the server, a lease that ran out and a delivery that was refused are the same.
	ack := fmt.Sprintf("$JS.ACK.%s.%s.1.%d.1.0.0", StreamJobs, workerName(domain.JobIngest), gen)
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
	if backlog, err := b.Backlog(testContext(t), domain.JobIngest); err != nil || backlog.Unfinished() != 0 {
		t.Errorf("backlog is %+v, %v", backlog, err)
	}
}

func TestWorkBoundsTheRun(t *testing.T) {
	t.Parallel()

	t.Run("a run beyond MaxRun is a failure", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		w := work(t, b, domain.JobIngest, WorkerOptions{MaxRun: 20 * time.Millisecond, MaxFailures: 1}, func(ctx context.Context, _ domain.Job) error {
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
		w := work(t, b, domain.JobIngest, WorkerOptions{MaxRun: 10 * time.Millisecond, StopWait: 10 * time.Millisecond, MaxFailures: 1},
			func(context.Context, domain.Job) error { <-release; return nil })
		publish(t, b, newJob(domain.JobIngest))
		if out := receive(t, w.outcomes, "the outcome"); out.Result != Dead || !strings.Contains(out.Err.Error(), errLeftBehind.Error()) {
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
		for i := range 3 { // far beyond the limits, if it counted
			begun := make(chan struct{})
			w := work(t, b, domain.JobIngest, o, func(ctx context.Context, _ domain.Job) error {
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
		w := work(t, b, domain.JobIngest, o, func(context.Context, domain.Job) error { return nil })
		if out := receive(t, w.outcomes, "the last run"); out.Result != Done {
			t.Errorf("outcome is %+v", out)
		}
	})
	t.Run("a job may finish within the grace period", func(t *testing.T) {
		t.Parallel()
		b := newBroker(t)
		begun, release := make(chan struct{}), make(chan struct{})
		w := work(t, b, domain.JobIngest, WorkerOptions{Grace: patience}, func(ctx context.Context, _ domain.Job) error {
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
		w := work(t, b, domain.JobIngest, WorkerOptions{StopWait: 10 * time.Millisecond}, func(context.Context, domain.Job) error {
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

func TestAJobWhoseErrorCannotBeToldIsNotAcknowledged(t *testing.T) {
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
		w := work(t, b, domain.JobIngest, WorkerOptions{MaxFailures: 1, SettleTimeout: 100 * time.Millisecond},
			func(context.Context, domain.Job) error { return c.err })
		publish(t, b, job)
		if out := receive(t, w.outcomes, name); out.Result != Unsettled {
			t.Errorf("%s: outcome without events is %+v", name, out)
		}
		if _, _, err := ensureStream(ctx, b.js, Options{}.withDefaults().eventsConfig()); err != nil {
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
	w := work(t, b, domain.JobIngest, WorkerOptions{}, func(context.Context, domain.Job) error {
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
	if _, _, err := ensureStream(ctx, b.js, Options{}.withDefaults().eventsConfig()); err != nil {
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
		// A worker of its own connection, which is cut in the middle of the run: the server hears nothing more.
		conn, err := Connect(testContext(t), ConnectOptions{InProcess: srv, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		doomed, err := Attach(testContext(t), conn, Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		begun, release := make(chan struct{}), make(chan struct{})
		w := work(t, doomed, domain.JobIngest, o, func(context.Context, domain.Job) error {
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
	w := work(t, b, domain.JobIngest, o, func(context.Context, domain.Job) error {
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

func TestAMessageThatIsNotAJobIsBuried(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	good := newJob(domain.JobIngest)
	subject := jobSubject(domain.JobIngest, domain.NewID(), domain.NewID())
	for _, data := range []string{"{", `{"id":"x"}`, "null", "\xff\x00"} {
		if _, err := b.js.Publish(testContext(t), subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
		w := work(t, b, domain.JobIngest, WorkerOptions{}, func(context.Context, domain.Job) error {
			t.Error("it was handed to the handler")
			return nil
		})
		if out := receive(t, w.outcomes, "the outcome"); out.Result != Dead || out.JobID != "" {
			t.Errorf("%q: outcome is %+v", data, out)
		}
		w.stop(t)
		dead := deadLetters(t, b, "")
		if len(dead) != 1 || string(dead[0].Raw) != data || dead[0].Job != nil || dead[0].Kind != domain.JobIngest {
			t.Fatalf("%q: dead letters are %+v", data, dead)
		}
		if _, err := b.ReplayDeadLetter(testContext(t), dead[0].Sequence); !errors.Is(err, ErrInvalid) {
			t.Errorf("replaying what is not a job: error is %v", err)
		}
	}
	// A job on a foreign subject would act on a datasource that its publisher did not name.
	msg, err := jobMessage(good)
	if err != nil {
		t.Fatal(err)
	}
	msg.Subject = subject
	if _, err := b.js.PublishMsg(testContext(t), msg); err != nil {
		t.Fatal(err)
	}
	w := work(t, b, domain.JobIngest, WorkerOptions{}, func(context.Context, domain.Job) error {
		t.Error("a job on a foreign subject was handed out")
		return nil
	})
	if out := receive(t, w.outcomes, "the foreign job"); out.Result != Dead {
		t.Errorf("outcome is %+v", out)
	}
}

func TestAJobReplacedWhileItRuns(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	begun, release := make(chan uint64, 2), make(chan struct{})
	w := work(t, b, domain.JobIngest, WorkerOptions{Concurrency: 2}, func(_ context.Context, j domain.Job) error {
		begun <- j.Generation
		<-release
		return nil
	})
	first := publish(t, b, job)
	if got := receive(t, begun, "the first run"); got != first {
		t.Fatalf("generation %d, want %d", got, first)
	}
	second := publish(t, b, again(job))
	if got := receive(t, begun, "the second run"); got != second {
		t.Fatalf("generation %d, want %d", got, second)
	}
	close(release)
	got := map[uint64]Result{}
	for range 2 {
		out := receive(t, w.outcomes, "an outcome")
		got[out.Generation] = out.Result
	}
	if diff := cmp.Diff(map[uint64]Result{first: Done, second: Done}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestAJobReplacedWhileItWaitsIsNeverRun(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	failed := make(chan struct{})
	runs := make(chan string, 10)
	w := work(t, b, domain.JobIngest, WorkerOptions{Concurrency: 1, RetryMin: time.Hour, RetryMax: time.Hour}, func(_ context.Context, j domain.Job) error {
		runs <- j.ID
		if j.ID == job.ID {
			close(failed)
			return errors.New("comes back in an hour")
		}
		return nil
	})
	publish(t, b, job)
	receive(t, w.outcomes, "the failure")
	var last domain.Job
	for range 10 { // ten edits in a second
		last = again(job)
		publish(t, b, last)
	}
	for {
		if out := receive(t, w.outcomes, "the last edit"); out.JobID == last.ID && out.Result == Done {
			break
		}
	}
	backlog, err := b.Backlog(testContext(t), domain.JobIngest)
	if err != nil || backlog.Unfinished() != 0 {
		t.Errorf("backlog is %+v, %v: the replaced job still waits", backlog, err)
	}
}
