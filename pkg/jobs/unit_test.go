package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	still := backoff{min: time.Second, max: 5 * time.Minute, rand: func() float64 { return 0 }}
	for failures, want := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, 1 << 30: 5 * time.Minute,
	} {
		if got := still.delay(failures); got != want {
			t.Errorf("delay after %d failures is %s, want %s", failures, got, want)
		}
	}
	limit := backoff{min: time.Second, max: 5 * time.Minute, rand: func() float64 { return 1 }}
	if got, want := limit.delay(2), 2500*time.Millisecond; got != want {
		t.Errorf("longest delay after 2 failures is %s, want %s", got, want)
	}
}

func TestAJobIsDelayedAfterCrashes(t *testing.T) {
	t.Parallel()
	died := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	still := backoff{min: time.Second, max: 5 * time.Minute, rand: func() float64 { return 0 }}
	for clock, want := range map[time.Duration]time.Duration{
		0: 4 * time.Second, 3 * time.Second: time.Second, time.Hour: 4*time.Second - time.Hour,
		-time.Second: 4 * time.Second, -time.Hour: 4 * time.Second, -24 * time.Hour: 4 * time.Second,
	} {
		b := &Broker{now: func() time.Time { return died.Add(clock) }}
		d := &delivery{worker: &worker{broker: b, retry: still}, counts: attemptCounts{Starts: 3, Started: died}}
		if got := d.crashDelay(); got != want {
			t.Errorf("%v after the death it rests for %v, not %v", clock, got, want)
		}
	}
}

func TestAttemptsOfTwoWorkersAreCounted(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	one, err := b.attempts.store(ctx, 7, attemptCounts{Starts: 1})
	if err != nil {
		t.Fatal(err)
	}
	two := one // a second worker also has the job, because the first one was silent for too long
	if _, err := b.attempts.change(ctx, 7, one, func(t *attemptCounts) { t.Starts++ }); err != nil {
		t.Fatal(err)
	}
	got, err := b.attempts.change(ctx, 7, two, func(t *attemptCounts) { t.Failures++ })
	if err != nil || got.Starts != 2 || got.Failures != 1 || got.crashes() != 1 {
		t.Errorf("tally is %+v, %v", got, err)
	}
	for range 2 {
		if err := b.attempts.forget(ctx, 7); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.attempts.load(ctx, 7); err != nil || got != (attemptCounts{}) {
		t.Errorf("tally after forgetting is %+v, %v", got, err)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()

	t.Run("needs a server", func(t *testing.T) {
		t.Parallel()
		if _, err := Connect(testContext(t), ConnectOptions{Log: quiet}); err == nil {
			t.Error("connected to nothing")
		}
	})
	t.Run("tries until its context ends", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		if _, err := Connect(ctx, ConnectOptions{URL: "nats://127.0.0.1:1", Log: quiet}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("reaches a server of another process with its token", func(t *testing.T) {
		t.Parallel()
		srv := startServer(t, natsd.Options{NoSync: true, Listen: "127.0.0.1:0", Token: "secret"})
		b := openBroker(t, connect(t, srv), Options{})
		far, err := Connect(testContext(t), ConnectOptions{URL: srv.URL(), Token: "secret", Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer far.Close()
		if err := far.Ready(testContext(t)); err != nil {
			t.Errorf("ready: %v", err)
		}
		worker, err := Attach(testContext(t), far, Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		w := work(t, worker, domain.LaneIngest, WorkerOptions{}, func(context.Context, domain.Job) error { return nil })
		publish(t, b, newJob(domain.JobIngest))
		if out := receive(t, w.outcomes, "the job"); out.Result != Done {
			t.Errorf("outcome is %+v", out)
		}
		w.stop(t)
		far.Close() // a second call does nothing
	})
}

func FuzzDecodeJob(f *testing.F) {
	good, err := jobMessage(newJob(domain.JobIngest))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.Subject, good.Data)
	f.Add("jobs.ingest.a.b", []byte("{}"))
	f.Add("", []byte("null"))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		job, err := decodeJob(subject, data)
		if err != nil {
			return
		}
		if err := checkJob(job); err != nil {
			t.Errorf("decoded a job that cannot be published: %v", err)
		}
		to, err := parseSubject(subject)
		if err != nil || job.Kind != to.lane.Kind() || jobSubject(to.lane, job.DatastoreID, job.DatasourceID) != subject {
			t.Errorf("job of subject %q decodes as %+v", subject, job)
		}
	})
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add("events.a.b", []byte(`{"type":"running","datastore_id":"a","datasource_id":"b"}`))
	f.Add("events.a.b", []byte("{"))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		ev, err := decodeEvent(subject, data)
		if err == nil && eventSubject(ev.DatastoreID, ev.DatasourceID) != subject {
			t.Errorf("event of subject %q decodes as %+v", subject, ev)
		}
	})
}
