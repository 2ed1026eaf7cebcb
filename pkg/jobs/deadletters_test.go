package jobs

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestWorkGivesUpAfterMaxFailures(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	job := newJob(domain.JobIngest)
	var runs atomic.Int32
	fail := atomic.Bool{}
	fail.Store(true)
	w := work(t, b, domain.LaneIngest, WorkerOptions{MaxFailures: 3}, func(context.Context, domain.Job) error {
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
	if last := events[len(events)-1]; len(events) != 3 || last.Type != domain.EventError || last.Error != dl.Error {
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
	w := work(t, b, domain.LaneIngest, WorkerOptions{MaxFailures: 1}, func(_ context.Context, j domain.Job) error {
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

func TestAMessageThatIsNotAJobBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	good := newJob(domain.JobIngest)
	subject := jobSubject(domain.LaneIngest, domain.NewID(), domain.NewID())
	for _, data := range []string{"{", `{"id":"x"}`, "null", "\xff\x00"} {
		if _, err := b.js.Publish(testContext(t), subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
		w := work(t, b, domain.LaneIngest, WorkerOptions{}, func(context.Context, domain.Job) error {
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
	// A job must not affect a datasource other than the one in its subject.
	msg, err := jobMessage(good)
	if err != nil {
		t.Fatal(err)
	}
	msg.Subject = subject
	if _, err := b.js.PublishMsg(testContext(t), msg); err != nil {
		t.Fatal(err)
	}
	w := work(t, b, domain.LaneIngest, WorkerOptions{}, func(context.Context, domain.Job) error {
		t.Error("a job on a foreign subject was handed out")
		return nil
	})
	if out := receive(t, w.outcomes, "the foreign job"); out.Result != Dead {
		t.Errorf("outcome is %+v", out)
	}
}
