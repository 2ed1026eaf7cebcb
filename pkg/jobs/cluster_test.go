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

// election bounds how long a cluster may take to answer again after it has lost a server. Its own timers are nine seconds
// at most; a split vote takes another round, and this machine may be busy.
const election = 30 * time.Second

func connectTo(t testing.TB, c *natstest.Cluster) *Conn {
	t.Helper()
	conn, err := Connect(testContext(t), ConnectOptions{URL: c.URL(), Log: quiet})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// openReplicated is a broker on a cluster of three, with everything kept three times.
func openReplicated(t testing.TB, c *natstest.Cluster) *Broker {
	t.Helper()
	return openBroker(t, connectTo(t, c), Options{Replicas: 3})
}

// leaderOf is the server that leads a stream.
func leaderOf(t testing.TB, b *Broker, c *natstest.Cluster, stream string) *natstest.Server {
	t.Helper()
	var name string
	err := b.do(testContext(t), func(ctx context.Context) error {
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

// whole waits until every server has everything: killing another before that is losing two.
func whole(t testing.TB, b *Broker) {
	t.Helper()
	ctx := testContext(t)
	for _, name := range allStreams {
		err := quorum.Do(ctx, 2*election, func(ctx context.Context) error {
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

// flow publishes jobs without end, which are worked on and reported, and keeps account.
type flow struct {
	t        testing.TB
	broker   *Broker
	mu       sync.Mutex
	wanted   map[string]uint64 // job: generation, as acknowledged
	doubtful map[string]bool   // job: reported without a word about whether that was stored
	runs     map[string]int
	applied  map[string]int
	slowest  time.Duration
	news     chan struct{} // closed when more events have been applied
}

// inFlight is how many jobs of a flow are unfinished at most.
const inFlight = 32

func startFlow(t testing.TB, publisher, worker *Broker) *flow {
	f := &flow{
		t: t, broker: publisher, wanted: map[string]uint64{}, runs: map[string]int{}, applied: map[string]int{}, doubtful: map[string]bool{}, news: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() {
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
	parts.Go(func() {
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
		parts.Wait()
	})
	return f
}

// publish puts jobs in until the channel is closed, one after the other.
func (f *flow) publish(until <-chan struct{}) {
	for {
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
			}
		}
		job := newJob(domain.JobIngest)
		began := time.Now()
		generation, err := f.broker.Publish(context.Background(), job)
		took := time.Since(began)
		f.mu.Lock()
		if f.slowest = max(f.slowest, took); err != nil {
			f.t.Errorf("publishing failed after %s: %v", took, err)
		} else {
			f.wanted[job.ID] = generation
		}
		f.mu.Unlock()
	}
}

// settle waits until every published job was worked on and reported, and checks the account.
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
	f.t.Logf("%d jobs, %d of them run more than once, the slowest publication took %s", len(f.wanted), twice, f.slowest.Round(time.Millisecond))
	// What was running when a server went may run again, and nothing else: four slots, and what was just acknowledged.
	if twice > 40 {
		f.t.Errorf("%d of %d jobs were run more than once", twice, len(f.wanted))
	}
	if f.slowest > election {
		f.t.Errorf("a publication took %s", f.slowest)
	}
}

// progress waits until more events have been applied than were under way.
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

// missing counts the jobs whose event has not been applied.
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
	stop, published := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(published)
		f.publish(stop)
	}()
	// Each in turn, the leader of the jobs first.
	first := leaderOf(t, api, c, StreamJobs)
	order := append([]*natstest.Server{first}, slices.DeleteFunc(slices.Clone(c.Servers), func(s *natstest.Server) bool { return s == first })...)
	if testing.Short() { // under the race detector what ours does matters, which is the same each time
		order = order[:1]
	}
	for _, s := range order {
		f.progress()
		s.Kill()
		publish(t, api, newJob(domain.JobCrawl)) // returns when there is a leader
		f.progress()
		s.Start()
		whole(t, api)
	}
	close(stop)
	<-published
	f.settle(2 * election)
}
