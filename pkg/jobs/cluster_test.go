package jobs

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natstest"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// election is the longest a cluster may take to elect leaders after losing a server. The election timeout is at most
// nine seconds, but a split vote requires another round, and a busy machine may need several.
const election = time.Minute

// electionContext returns a context for waiting until a cluster has elected its leaders.
func electionContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*election)
	t.Cleanup(cancel)
	return ctx
}

func connectTo(t testing.TB, c *natstest.Cluster) *Conn {
	t.Helper()
	conn, err := Connect(testContext(t), ConnectOptions{URL: c.URL(), Log: quiet})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// openReplicated opens a broker with three replicas of each stream. Its requests wait for leader elections.
func openReplicated(t testing.TB, c *natstest.Cluster) *Broker {
	t.Helper()
	return openBroker(t, connectTo(t, c), Options{Replicas: 3, RetryTimeout: 2 * election})
}

func leaderOf(t testing.TB, b *Broker, c *natstest.Cluster, stream string) *natstest.Server {
	t.Helper()
	var name string
	err := b.retry(electionContext(t), func(ctx context.Context) error {
		s, err := b.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		if name = s.CachedInfo().Cluster.Leader; name == "" {
			return ErrUnavailable
		}
		return nil
	})
	if err != nil {
		t.Fatalf("looking for the leader of %s: %v", stream, err)
	}
	return c.Named(name)
}

// whole waits until all replicas are up to date. Killing another server before that would be like losing two.
func whole(t testing.TB, b *Broker) {
	t.Helper()
	ctx := electionContext(t)
	for _, name := range allStreams {
		err := quorum.Retry(ctx, 2*election, func(ctx context.Context) error {
			s, err := b.js.Stream(ctx, name)
			if err != nil {
				return err
			}
			parts := []*jetstream.ClusterInfo{s.CachedInfo().Cluster}
			consumers := s.ListConsumers(ctx)
			for c := range consumers.Info() {
				parts = append(parts, c.Cluster)
			}
			if consumers.Err() != nil {
				return consumers.Err()
			}
			for _, p := range parts {
				if p == nil || p.Leader == "" || len(p.Replicas) < 2 || !p.Replicas[0].Current || !p.Replicas[1].Current {
					return ErrUnavailable
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("stream %s is not whole: %v", name, err)
		}
	}
}

// flow publishes jobs continuously and has a worker handle them and emit their events. It records what happens to each
// job.
type flow struct {
	t        testing.TB
	ctx      context.Context // ends before the test
	parts    sync.WaitGroup  // goroutines that must exit before the test
	broker   *Broker
	mu       sync.Mutex
	wanted   map[string]uint64 // generation of each acknowledged job, by job id
	doubtful map[string]bool   // ids of jobs that may have been stored although publishing failed
	runs     map[string]int
	applied  map[string]int
	news     chan struct{} // closed when more events have been applied
}

// inFlight is the maximum number of unfinished jobs in a flow.
const inFlight = 32

func startFlow(t testing.TB, publisher, worker *Broker) *flow {
	ctx, cancel := context.WithCancel(context.Background())
	f := &flow{
		t: t, ctx: ctx, broker: publisher, wanted: map[string]uint64{}, runs: map[string]int{}, applied: map[string]int{}, doubtful: map[string]bool{}, news: make(chan struct{}),
	}
	f.parts.Go(func() {
		o := WorkerOptions{Concurrency: 4, AckWait: 10 * time.Second}
		err := worker.Work(ctx, domain.LaneIngest, o, func(ctx context.Context, j domain.Job) error {
			f.mu.Lock()
			f.runs[j.ID]++
			f.mu.Unlock()
			return worker.Emit(ctx, event(j, domain.EventSynched))
		})
		if err != nil {
			t.Errorf("working: %v", err)
		}
	})
	f.parts.Go(func() {
		err := publisher.ConsumeBatches(ctx, MaxBatch, func(_ context.Context, evs []domain.Event) error {
			f.mu.Lock()
			for _, ev := range evs {
				f.applied[ev.JobID]++
			}
			close(f.news)
			f.news = make(chan struct{})
			f.mu.Unlock()
			return nil
		})
		if err != nil {
			t.Errorf("consuming: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		f.parts.Wait()
	})
	return f
}

// publishUntil publishes jobs in the background until `stop` is closed. The returned channel is closed once publishing
// has stopped.
func (f *flow) publishUntil(stop <-chan struct{}) <-chan struct{} {
	stopped := make(chan struct{})
	f.parts.Go(func() {
		defer close(stopped)
		f.publish(stop)
	})
	return stopped
}

// publish publishes jobs one after another until the channel is closed or the test ends.
func (f *flow) publish(until <-chan struct{}) {
	for f.ctx.Err() == nil {
		select {
		case <-until:
			return
		default:
		}
		for missing, news := f.missing(); missing >= inFlight; missing, news = f.missing() {
			select {
			case <-news:
			case <-until:
				return
			case <-f.ctx.Done():
				return
			}
		}
		job := newJob(domain.JobIngest)
		generation, err := f.broker.Publish(f.ctx, job)
		if f.ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		if err != nil {
			f.t.Errorf("publishing job %s: %v", job.ID, err)
		} else {
			f.wanted[job.ID] = generation
		}
		f.mu.Unlock()
	}
}

// settle waits until every published job has been handled and its event applied, then checks the records.
func (f *flow) settle(limit time.Duration) {
	f.t.Helper()
	deadline := time.After(limit)
	for missing, news := f.missing(); missing > 0; missing, news = f.missing() {
		select {
		case <-news:
		case <-deadline:
			f.t.Fatalf("%d jobs have not been reported after %s", missing, limit)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	generations, twice := map[uint64]bool{}, 0
	for id, g := range f.wanted {
		if generations[g] {
			f.t.Errorf("generation %d was given out twice", g)
		}
		generations[g] = true
		if f.runs[id] > 1 {
			twice++
		}
	}
	for id := range f.applied {
		if _, ok := f.wanted[id]; !ok && !f.doubtful[id] {
			f.t.Errorf("job %s was never acknowledged, and yet reported: Publish failed, or it was stored twice", id)
		}
	}
	f.t.Logf("%d jobs, %d of them run more than once", len(f.wanted), twice)
	// A job may run twice only if it was running or had just been acknowledged when a server was killed. There are few
	// such jobs per kill, because the worker has only four slots.
	if twice > 40 {
		f.t.Errorf("%d of %d jobs were run more than once", twice, len(f.wanted))
	}
}

// progress waits until more events have been applied than could have been in transit when it was called.
func (f *flow) progress() {
	f.t.Helper()
	deadline := time.After(2 * election)
	for first := -1; ; {
		f.mu.Lock()
		applied, news := len(f.applied), f.news
		f.mu.Unlock()
		if first < 0 {
			first = applied
		}
		if applied > first+inFlight {
			return
		}
		select {
		case <-news:
		case <-deadline:
			f.t.Fatalf("%d events have been applied in %s", applied-first, 2*election)
		}
	}
}

// missing counts the jobs whose event has not been applied yet. `news` is closed when more events have been applied.
func (f *flow) missing() (n int, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.wanted {
		if f.applied[id] == 0 {
			n++
		}
	}
	return n, f.news
}

func TestNothingIsLostWhileServersAreKilled(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	api, worker := openReplicated(t, c), openReplicated(t, c)
	f := startFlow(t, api, worker)
	stop := make(chan struct{})
	published := f.publishUntil(stop)
	// Kill each server in turn, starting with the leader of the jobs stream.
	first := leaderOf(t, api, c, StreamJobs)
	order := append([]*natstest.Server{first}, slices.DeleteFunc(slices.Clone(c.Servers), func(s *natstest.Server) bool { return s == first })...)
	if testing.Short() { // one round is enough for the race detector, because each round does the same
		order = order[:1]
	}
	for _, s := range order {
		f.progress()
		s.Kill()
		if _, err := api.Publish(electionContext(t), newJob(domain.JobCrawl)); err != nil { // waits for a leader
			t.Fatalf("publishing after a server was killed: %v", err)
		}
		f.progress()
		s.Start()
		whole(t, api)
	}
	close(stop)
	<-published
	f.settle(2 * election)
}
