package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

func TestRepair(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	api := openBroker(t, connect(t, srv), Options{})
	far, err := Attach(testContext(t), connect(t, srv), Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	applied := make(chan string, 100)
	consume(t, api, func(_ context.Context, ev domain.Event) error { applied <- ev.JobID; return nil })
	work(t, far, domain.LaneIngest, WorkerOptions{}, func(ctx context.Context, j domain.Job) error {
		return far.Emit(ctx, event(j, domain.EventSynched))
	})
	highest := uint64(0)
	round := func(when string) {
		t.Helper()
		job := newJob(domain.JobIngest)
		generation := publish(t, api, job)
		if generation <= highest {
			t.Errorf("%s: generation is %d, and %d was given out before", when, generation, highest)
		}
		highest = generation
		if id := receive(t, applied, "the event "+when); id != job.ID {
			t.Errorf("%s: event is of job %s, want %s", when, id, job.ID)
		}
	}
	round("before any loss")
	if repaired, err := api.Repair(ctx, highest); err != nil || len(repaired.Lines()) != 0 {
		t.Errorf("repair of what is whole: %+v, %v", repaired, err)
	}
	for _, lost := range [][]string{{StreamJobs}, {StreamEvents}, {StreamDeadLetters}, {streamAttempts}, allStreams} {
		for _, name := range lost {
			if err := api.js.DeleteStream(ctx, name); err != nil {
				t.Fatal(err)
			}
		}
		if err := api.Ready(ctx); !errors.Is(err, ErrStreamLost) {
			t.Errorf("without %v: ready is %v, want ErrStreamLost", lost, err)
		}
		if lost[0] == StreamJobs {
			if _, err := api.Publish(ctx, newJob(domain.JobIngest)); !errors.Is(err, ErrStreamLost) {
				t.Errorf("publishing without %v: error is %v, want ErrStreamLost", lost, err)
			}
			if err := api.PurgeDatastore(ctx, domain.NewID()); !errors.Is(err, ErrStreamLost) {
				t.Errorf("purging without %v: error is %v, want ErrStreamLost", lost, err)
			}
		}
		if lost[0] == StreamEvents {
			if err := far.Emit(ctx, event(newJob(domain.JobIngest), domain.EventRunning)); !errors.Is(err, ErrStreamLost) {
				t.Errorf("reporting without %v: error is %v, want ErrStreamLost", lost, err)
			}
		}
		repaired, err := api.Repair(ctx, 0) // this process has published more jobs than the catalog knows about
		want := Repaired{Streams: lost}
		if lost[0] == StreamJobs {
			want.JobsReset, want.FirstGeneration = true, highest+generationGap
		}
		if diff := cmp.Diff(want, repaired); err != nil || diff != "" {
			t.Errorf("repair of %v: %v (-want +got):\n%s", lost, err, diff)
		}
		if err := api.Ready(ctx); err != nil {
			t.Errorf("after the repair of %v: %v", lost, err)
		}
		round("after the loss of " + lost[0])
	}
}

func TestTwoProcessesRepairAtOnce(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	for _, name := range allStreams {
		if err := b.js.DeleteStream(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 4)
	for range cap(ended) {
		go func() {
			_, err := b.Repair(ctx, 100)
			ended <- err
		}()
	}
	for range cap(ended) {
		if err := receive(t, ended, "a repair"); err != nil {
			t.Error(err)
		}
	}
	if got := publish(t, b, newJob(domain.JobIngest)); got != 100+generationGap {
		t.Errorf("first generation is %d, want %d", got, 100+generationGap)
	}
}

func TestADeletedConsumerIsRestoredAtItsPosition(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	runs := make(chan string, 100)
	work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: 1}, func(_ context.Context, j domain.Job) error {
		runs <- j.ID
		return nil
	})
	applied := make(chan string, 100)
	consume(t, b, func(_ context.Context, ev domain.Event) error { applied <- ev.JobID; return nil })
	both := func(when string) {
		t.Helper()
		job := newJob(domain.JobIngest)
		publish(t, b, job)
		emit(t, b, event(job, domain.EventSynched))
		if got := receive(t, runs, "the job "+when); got != job.ID {
			t.Errorf("%s: job %s ran, want %s: what was done is done again", when, got, job.ID)
		}
		if got := receive(t, applied, "the event "+when); got != job.ID {
			t.Errorf("%s: the event of job %s was applied, want that of %s", when, got, job.ID)
		}
	}
	for range 5 {
		both("at first")
	}
	for { // until the last acknowledgement has arrived
		backlog, err := b.Backlog(ctx, domain.LaneIngest)
		if err != nil {
			t.Fatal(err)
		}
		info, err := b.js.Consumer(ctx, StreamEvents, ConsumerCatalog)
		if err != nil {
			t.Fatal(err)
		}
		if backlog == (Backlog{}) && info.CachedInfo().NumAckPending == 0 {
			break
		}
		wait(ctx, time.Millisecond)
	}
	if err := b.checkpointAll(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.js.DeleteConsumer(ctx, StreamJobs, ConsumerOf(domain.LaneIngest)); err != nil {
		t.Fatal(err)
	}
	if err := b.js.DeleteConsumer(ctx, StreamEvents, ConsumerCatalog); err != nil {
		t.Fatal(err)
	}
	both("after its consumers were deleted")
}
