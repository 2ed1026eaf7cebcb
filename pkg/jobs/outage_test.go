package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natstest"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

func TestWithoutAMajorityEverythingWaits(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	b := openReplicated(t, c)
	hasty := openBroker(t, connectTo(t, c), Options{Replicas: 3, RetryTimeout: 500 * time.Millisecond})
	f := startFlow(t, b, b)
	stop := make(chan struct{})
	published := f.publishUntil(stop)
	f.progress()
	close(stop)
	<-published

	leader := leaderOf(t, b, c, StreamJobs)
	leader.Kill()
	second := c.Servers[0]
	if second == leader {
		second = c.Servers[1]
	}
	second.Kill()
	for name, operation := range map[string]func() error{
		"publishing": func() error { _, err := hasty.Publish(testContext(t), newJob(domain.JobCrawl)); return err },
		"reporting": func() error {
			job := newJob(domain.JobCrawl)
			f.mu.Lock()
			f.doubtful[job.ID] = true
			f.mu.Unlock()
			return hasty.Emit(testContext(t), event(job, domain.EventRunning))
		},
		"looking for a job": func() error { _, err := hasty.Outstanding(testContext(t), newJob(domain.JobCrawl)); return err },
		"reading the log": func() error {
			return hasty.LastJobs(testContext(t), 1, func(domain.Job) error { return nil })
		},
		"counting attempts": func() error { _, err := hasty.attempts.store(testContext(t), 1, attemptCounts{Starts: 1}); return err },
		"repairing":         func() error { _, err := hasty.Repair(testContext(t), 1); return err },
	} {
		if err := operation(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s without a majority: error is %v, want ErrUnavailable", name, err)
		}
	}
	waiting := make(chan error, 1)
	late := newJob(domain.JobIngest)
	ctx := electionContext(t)
	go func() {
		_, err := b.Publish(ctx, late)
		waiting <- err
	}()
	second.Start()
	if err := <-waiting; err != nil {
		t.Errorf("publishing until there was a majority again: %v", err)
	}
	f.mu.Lock()
	f.wanted[late.ID] = 0
	f.mu.Unlock()
	f.settle(2 * election)
}

// TestReplicas runs all checks that can share a cluster without interfering with each other.
func TestReplicas(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	conn := connectTo(t, c)
	_, err := Open(testContext(t), conn, Options{Replicas: 5, Log: quiet, RetryTimeout: time.Second})
	if !errors.Is(err, quorum.ErrReplicas) {
		t.Errorf("five replicas on three servers: error is %v, want ErrReplicas", err)
	}
	first := openBroker(t, conn, Options{})
	generation := publish(t, first, newJob(domain.JobIngest))
	b := openBroker(t, conn, Options{Replicas: 3})
	whole(t, b) // wait until every stream has three replicas
	if got := publish(t, b, newJob(domain.JobIngest)); got != generation+1 {
		t.Errorf("generation after the change is %d, want %d", got, generation+1)
	}
	if b.Reset() {
		t.Error("more replicas are taken for a reset")
	}
}

func TestReplicasNeedACluster(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	_, err := Open(testContext(t), b.conn, Options{Replicas: 3, Log: quiet})
	if !errors.Is(err, quorum.ErrReplicas) {
		t.Errorf("error is %v, want ErrReplicas", err)
	}
}
