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
)

func TestWorkRunsAJob(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	job.Metadata = map[string]any{"author": "Ada"}
	job.Original = &domain.Original{Key: "k", SHA256: "s", Size: 1}
	got := make(chan domain.Job, 1)
	w := work(t, b, domain.LaneIngest, WorkerOptions{}, func(_ context.Context, j domain.Job) error { got <- j; return nil })
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
	w := work(t, b, domain.LaneCrawl, WorkerOptions{}, h)
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
	w := work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: slots}, func(context.Context, domain.Job) error {
		begun <- now.Add(1)
		defer now.Add(-1)
		<-release
		return nil
	})
	for range jobs {
		publish(t, b, newJob(domain.JobIngest))
	}
	for range slots { // all slots are in use before any job finishes
		receive(t, begun, "a run")
	}
	backlog, err := b.Backlog(testContext(t), domain.LaneIngest)
	if err != nil || backlog.Waiting+backlog.Taken != jobs || backlog.Taken < slots {
		t.Errorf("backlog is %+v, %v, want %d jobs, of which %d or more are taken", backlog, err, jobs, slots)
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

// TestWorkspacesTakeTurns lets one workspace occupy all the slots it may use while many more of its jobs are waiting.
// Another workspace's jobs must still run, one after another. After that, the rest of the first workspace's jobs must
// run, too.
func TestWorkspacesTakeTurns(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	const slots, jobs = 2, 30
	release := make(chan struct{})
	many, few := make(chan struct{}, jobs), make(chan struct{}, jobs)
	w := work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: slots}, func(_ context.Context, j domain.Job) error {
		if j.WorkspaceID != workspace {
			few <- struct{}{}
			return nil
		}
		many <- struct{}{}
		<-release
		return nil
	})
	for range jobs {
		publish(t, b, newJob(domain.JobIngest))
	}
	for range slots {
		receive(t, many, "a run")
	}
	for range 3 {
		job := newJob(domain.JobIngest)
		job.WorkspaceID = domain.NewID()
		publish(t, b, job)
		receive(t, few, "a run of another workspace")
		if out := receive(t, w.outcomes, "an outcome"); out.Result != Done || out.JobID != job.ID {
			t.Errorf("outcome is %+v", out)
		}
	}
	if n := len(many); n > 0 {
		t.Errorf("%d more jobs run than there are slots", n)
	}
	close(release)
	for range jobs {
		if out := receive(t, w.outcomes, "an outcome"); out.Result != Done {
			t.Errorf("outcome is %+v", out)
		}
	}
}

// TestReturnedJobsLeaveTimeForOthers returns more and more jobs to the stream. The more jobs have been returned, the
// longer their delay must be, so that the worker has time to receive new jobs.
func TestReturnedJobsLeaveTimeForOthers(t *testing.T) {
	t.Parallel()
	o := newFairGate(WorkerOptions{Concurrency: 8, AckWait: time.Minute})
	now := time.Now()
	for n := uint64(1); n <= 100; n++ {
		received := time.Duration(float64(n) / float64(o.prefetch) * float64(o.wait)) // time needed to receive all returned jobs
		if got := o.delay(n, now); got < received || got > 3*received+2*o.wait {
			t.Errorf("after %d jobs the delay is %v", n, got)
		}
	}
	for n := uint64(1); n <= 99; n++ {
		o.forget(n)
	}
	if got := o.delay(100, now); got != 2*o.wait {
		t.Errorf("after all others have run, the delay is %v", got)
	}
	if got := o.delay(200, now.Add(time.Hour)); got != 2*o.wait || len(o.returned) != 1 {
		t.Errorf("after an hour the delay is %v", got)
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
				ended <- b.Work(ctx, domain.LaneIngest, WorkerOptions{Observe: func(o Outcome) { outcomes <- o }},
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
	w := work(t, b, domain.LaneIngest, WorkerOptions{}, func(_ context.Context, j domain.Job) error {
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
	events := allEvents(t, b, job.DatastoreID)
	if len(events) != 3 {
		t.Fatalf("three failed attempts made %d events: %+v", len(events), events)
	}
	for i, ev := range events {
		if want := fmt.Sprintf("Attempt %d of 25 failed", i+1); ev.Type != domain.EventProgress || !strings.Contains(ev.Error, want) {
			t.Errorf("event %d is %+v, want progress that says %q", i, ev, want)
		}
	}
}

func TestWorkWaitsAsLongAsTheErrorAsks(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	const asked = 300 * time.Millisecond
	times := make(chan time.Time, 2)
	work(t, b, domain.LaneIngest, WorkerOptions{}, func(_ context.Context, j domain.Job) error {
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

func TestARescheduledJobHasEndedAndDoesNotCountAsDone(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	slot := errors.New("the host is busy")
	w := work(t, b, domain.LaneIngest, WorkerOptions{}, func(context.Context, domain.Job) error { return Rescheduled(slot) })
	publish(t, b, newJob(domain.JobIngest))
	if out := receive(t, w.outcomes, "an outcome"); out.Result != Postponed || !errors.Is(out.Err, slot) {
		t.Errorf("outcome is %+v, want %s", out, Postponed)
	}
	if n, err := b.Backlog(t.Context(), domain.LaneIngest); err != nil || n != (Backlog{}) {
		t.Errorf("the job is still there: %+v, %v", n, err)
	}
	if Rescheduled(nil) != nil {
		t.Error("no error became one")
	}
}

func TestASnoozedJobCountsNoAttempt(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	gen := make(chan uint64, 1)
	slot := errors.New("the host is busy")
	w := work(t, b, domain.LaneIngest, WorkerOptions{MaxFailures: 1, MaxCrashes: 1}, func(_ context.Context, j domain.Job) error {
		if j.Delivery < 4 {
			return Snooze(time.Millisecond, slot)
		}
		gen <- j.Generation
		return nil
	})
	publish(t, b, newJob(domain.JobIngest))
	for _, want := range []Result{HandedBack, HandedBack, HandedBack, Done} {
		out := receive(t, w.outcomes, "an outcome")
		if out.Result != want || (want == HandedBack) != errors.Is(out.Err, slot) {
			t.Errorf("outcome is %+v, want %s", out, want)
		}
	}
	if Snooze(time.Second, nil) != nil {
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
	w := work(t, b, domain.LaneIngest, WorkerOptions{}, func(context.Context, domain.Job) error {
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
		t.Errorf("an empty job: error is %v", err)
	}
}

func TestAJobReplacedWhileItRuns(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	begun, release := make(chan uint64, 2), make(chan struct{})
	w := work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: 2}, func(_ context.Context, j domain.Job) error {
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
	w := work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: 1, RetryMin: time.Hour, RetryMax: time.Hour}, func(_ context.Context, j domain.Job) error {
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
	for range 10 { // ten changes within a second
		last = again(job)
		publish(t, b, last)
	}
	for {
		if out := receive(t, w.outcomes, "the last edit"); out.JobID == last.ID && out.Result == Done {
			break
		}
	}
	backlog, err := b.Backlog(testContext(t), domain.LaneIngest)
	if err != nil || backlog != (Backlog{}) {
		t.Errorf("backlog is %+v, %v: the replaced job still waits", backlog, err)
	}
}

func TestWorkersOfALaneGetItsJobsOnly(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	local := newJob(domain.JobIngest)
	local.Places = []domain.Place{{Engine: domain.EngineEmbedded, Model: "builtin"}}
	far := newJob(domain.JobIngest)
	far.Places = []domain.Place{{Engine: domain.EngineMilvus, Model: "builtin"}}
	localScan, farScan := newJob(domain.JobScan), newJob(domain.JobScan)
	localScan.Places, farScan.Places = local.Places, far.Places
	crawl := newJob(domain.JobCrawl)
	lanes := map[string]domain.Lane{
		local.ID: domain.LaneLocal, far.ID: domain.LaneIngest, crawl.ID: domain.LaneCrawl, localScan.ID: domain.LaneLocalScan, farScan.ID: domain.LaneScan,
	}
	for _, job := range []domain.Job{local, far, crawl, localScan, farScan} {
		publish(t, b, job)
	}
	for _, lane := range domain.Lanes() {
		if backlog, err := b.Backlog(testContext(t), lane); err != nil || backlog != (Backlog{Waiting: 1}) {
			t.Errorf("backlog of lane %s is %+v, %v", lane, backlog, err)
		}
		w := work(t, b, lane, WorkerOptions{}, func(_ context.Context, j domain.Job) error {
			if lanes[j.ID] != lane {
				t.Errorf("lane %s was given a job of lane %s", lane, lanes[j.ID])
			}
			return nil
		})
		if out := receive(t, w.outcomes, "the job of lane "+string(lane)); out.Lane != lane || lanes[out.JobID] != lane {
			t.Errorf("outcome is %+v, want one of lane %s", out, lane)
		}
	}
	if err := b.Work(testContext(t), "fast", WorkerOptions{}, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("unknown lane: error is %v", err)
	}
}

func TestPurgingADatasourceCoversAllItsLanes(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	inLanes := func() (domain.Job, uint64) {
		job, highest := newJob(domain.JobCrawl), uint64(0)
		for _, kind := range []domain.JobKind{domain.JobCrawl, domain.JobIngest, domain.JobIngest} {
			job = again(job)
			job.Kind = kind
			highest = publish(t, b, job)
			if kind == domain.JobIngest {
				job.Places = []domain.Place{{Engine: domain.EngineEmbedded}}
			}
		}
		return job, highest
	}
	first, _ := inLanes()
	second, highest := inLanes()
	if got := stored(t, b); got != 6 {
		t.Fatalf("%d jobs are stored, want 6: two datasources in three lanes", got)
	}
	if err := b.PurgeDatasource(ctx, first.DatastoreID, first.DatasourceID, domain.AllGenerations); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, b); got != 3 {
		t.Errorf("%d jobs are left, want 3", got)
	}
	if err := b.PurgeDatasource(ctx, second.DatastoreID, second.DatasourceID, highest); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, b); got != 1 {
		t.Errorf("%d jobs are left, want that of the bound", got)
	}
}

func TestWithdrawnCrawlsLeaveTheStreamAlone(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	crawl := newJob(domain.JobCrawl)
	withdrawn := publish(t, b, crawl)
	ingest := again(crawl)
	ingest.Kind = domain.JobIngest
	last := publish(t, b, ingest)
	if err := b.PurgeCrawls(ctx, crawl.DatastoreID, crawl.DatasourceID, withdrawn); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, b); got != 2 {
		t.Errorf("%d jobs are left, want both: the bound itself stays", got)
	}
	for range 2 { // the second call finds nothing to remove
		if err := b.PurgeCrawls(ctx, crawl.DatastoreID, crawl.DatasourceID, last+1); err != nil {
			t.Fatal(err)
		}
	}
	if got := stored(t, b); got != 1 {
		t.Errorf("%d jobs are left, want the ingest job alone", got)
	}
	if err := b.PurgeCrawls(ctx, crawl.DatastoreID, "*", last); !errors.Is(err, ErrInvalid) {
		t.Errorf("purging datasource *: error is %v, want ErrInvalid", err)
	}
}

// stored returns the number of messages in JOBS.
func stored(t testing.TB, b *Broker) uint64 {
	t.Helper()
	info, err := b.jobs.Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}
