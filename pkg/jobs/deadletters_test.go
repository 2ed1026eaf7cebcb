package jobs

import (
	"context"
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
	w := work(t, b, domain.LaneIngest, WorkerOptions{MaxFailures: 3}, func(context.Context, domain.Job) error {
		runs.Add(1)
		panic("index out of range")
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
		w := work(t, b, domain.LaneIngest, WorkerOptions{AckWait: shortAckWait}, func(context.Context, domain.Job) error {
			t.Error("the message was passed to the handler")
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
	}
	// A job must affect only the datasource in its subject.
	msg, err := jobMessage(good)
	if err != nil {
		t.Fatal(err)
	}
	msg.Subject = subject
	if _, err := b.js.PublishMsg(testContext(t), msg); err != nil {
		t.Fatal(err)
	}
	w := work(t, b, domain.LaneIngest, WorkerOptions{AckWait: shortAckWait}, func(context.Context, domain.Job) error {
		t.Error("a job on a foreign subject was handed out")
		return nil
	})
	if out := receive(t, w.outcomes, "the foreign job"); out.Result != Dead {
		t.Errorf("outcome is %+v", out)
	}
}
