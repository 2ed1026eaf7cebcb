package jobs

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

func TestWorkAndConsumeOutliveAServerRestart(t *testing.T) {
	t.Parallel()
	o := natsd.Options{Dir: t.TempDir(), NoSync: true, Listen: "127.0.0.1:0", Token: "secret"}
	first := startServer(t, o)
	address := first.URL()
	conn, err := Connect(testContext(t), ConnectOptions{URL: address, Token: "secret", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b := openBroker(t, conn, Options{})
	applied := make(chan string, 10)
	consume(t, b, func(_ context.Context, ev domain.Event) error { applied <- ev.JobID; return nil })
	w := work(t, b, domain.LaneIngest, WorkerOptions{}, func(ctx context.Context, j domain.Job) error {
		return b.Emit(ctx, event(j, domain.EventSynched))
	})
	round := func(when string) {
		t.Helper()
		job := newJob(domain.JobIngest)
		publish(t, b, job)
		if out := receive(t, w.outcomes, "the job "+when); out.Result != Done || out.JobID != job.ID {
			t.Errorf("outcome %s is %+v", when, out)
		}
		if id := receive(t, applied, "the event "+when); id != job.ID {
			t.Errorf("event %s is of job %s, want %s", when, id, job.ID)
		}
	}
	round("before the restart")
	if err := first.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	o.Listen = strings.TrimPrefix(address, "nats://")
	startServer(t, o)
	round("after the restart")
}
