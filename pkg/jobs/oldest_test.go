package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

func TestTheOldestJobIsTheOneThatHasWaitedLongest(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	oldest := func(step string) time.Time {
		t.Helper()
		at, err := b.Oldest(ctx, domain.LaneIngest)
		if err != nil {
			t.Errorf("%s: %v", step, err)
		}
		return at
	}
	if at := oldest("before anything"); !at.IsZero() {
		t.Errorf("of no jobs the oldest is of %v", at)
	}
	before := time.Now().Add(-time.Second)
	publish(t, b, newJob(domain.JobCrawl)) // a job in another lane
	publish(t, b, newJob(domain.JobIngest))
	first := oldest("before the first worker")
	const more = 60 // more than a worker receives at once
	for range more {
		publish(t, b, newJob(domain.JobIngest))
	}
	if again := oldest("with another behind it"); first.Before(before) || !again.Equal(first) {
		t.Errorf("the oldest is of %v, then of %v", first, again)
	}

	begun, release := make(chan struct{}), make(chan struct{})
	w := work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: 1}, func(context.Context, domain.Job) error {
		begun <- struct{}{}
		<-release
		return nil
	})
	receive(t, begun, "the first run")
	if second := oldest("while the first runs"); !second.After(first) {
		t.Errorf("the first is taken, and the oldest of %v, not after %v", second, first)
	}
	go func() {
		for range more {
			<-begun
		}
	}()
	close(release)
	for range 1 + more {
		receive(t, w.outcomes, "an outcome")
	}
	if at := oldest("when all is done"); !at.IsZero() {
		t.Errorf("of no jobs the oldest is of %v", at)
	}
	if _, err := b.Oldest(ctx, "nonsense"); err == nil {
		t.Error("a lane that is none has an oldest job")
	}
}

func TestMessagesCarryTheTraceOfTheirJob(t *testing.T) {
	t.Parallel()
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, want := range map[string]string{"of a trace": trace, "of none": ""} {
		job := newJob(domain.JobIngest)
		job.Trace = want
		msg, err := jobMessage(job)
		if err != nil || msg.Header.Get("traceparent") != want {
			t.Errorf("%s: %v, %v", name, msg.Header, err)
		}
		if again, err := decodeJob(msg.Subject, msg.Data); err != nil || again.Trace != want {
			t.Errorf("%s: %q, %v", name, again.Trace, err)
		}
	}
}
