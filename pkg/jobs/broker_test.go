package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

func TestPublish(t *testing.T) {
	t.Parallel()
	b := newBroker(t)

	t.Run("generations grow", func(t *testing.T) {
		t.Parallel()
		job := newJob(domain.JobIngest)
		first := publish(t, b, job)
		if second := publish(t, b, again(job)); second <= first {
			t.Errorf("second generation is %d, want more than %d", second, first)
		}
	})
	t.Run("a job id is taken once and keeps its generation", func(t *testing.T) {
		t.Parallel()
		job := newJob(domain.JobIngest)
		first := publish(t, b, job)
		if second := publish(t, b, job); second != first {
			t.Errorf("generation of the same job is %d, want %d", second, first)
		}
		if jobs := lastJobs(t, b, job.DatastoreID); len(jobs) != 1 {
			t.Errorf("%d jobs are stored, want 1", len(jobs))
		}
	})
	t.Run("a newer job replaces the older one of its datasource only", func(t *testing.T) {
		t.Parallel()
		old := newJob(domain.JobIngest)
		publish(t, b, old)
		other := newJob(domain.JobIngest)
		other.DatastoreID = old.DatastoreID
		otherGen := publish(t, b, other)
		newer := again(old)
		newerGen := publish(t, b, newer)
		got := map[string]uint64{}
		for _, j := range lastJobs(t, b, old.DatastoreID) {
			got[j.ID] = j.Generation
		}
		if diff := cmp.Diff(map[string]uint64{other.ID: otherGen, newer.ID: newerGen}, got); diff != "" {
			t.Errorf("job log (-want +got):\n%s", diff)
		}
	})
	t.Run("what cannot be stored is refused", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct {
			change func(*domain.Job)
			want   error
		}{
			"unknown kind":              {func(j *domain.Job) { j.Kind = "sweep" }, ErrInvalid},
			"no id":                     {func(j *domain.Job) { j.ID = "" }, ErrInvalid},
			"wildcard as datastore":     {func(j *domain.Job) { j.DatastoreID = "*" }, ErrInvalid},
			"dotted datasource":         {func(j *domain.Job) { j.DatasourceID = "a.b" }, ErrInvalid},
			"name beyond all measure":   {func(j *domain.Job) { j.Name = strings.Repeat("x", MaxJobBytes) }, ErrTooLarge},
			"metadata that is not JSON": {func(j *domain.Job) { j.Metadata = map[string]any{"f": func() {}} }, ErrInvalid},
		} {
			job := newJob(domain.JobIngest)
			c.change(&job)
			if _, err := b.Publish(testContext(t), job); !errors.Is(err, c.want) {
				t.Errorf("%s: error is %v, want %v", name, err, c.want)
			}
		}
	})
}

func TestPublishToAFullStreamFailsAndDropsNothing(t *testing.T) {
	t.Parallel()
	b := openBroker(t, connect(t, startServer(t, natsd.Options{NoSync: true})), Options{JobsMaxBytes: 4 << 10})
	job := newJob(domain.JobIngest)
	var stored int
	for {
		next := newJob(domain.JobIngest)
		next.DatastoreID = job.DatastoreID
		_, err := b.Publish(testContext(t), next)
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil {
			t.Fatalf("publishing: %v", err)
		}
		if stored++; stored > 1000 {
			t.Fatal("the stream never filled")
		}
	}
	if got := len(lastJobs(t, b, job.DatastoreID)); got != stored || stored == 0 {
		t.Errorf("%d jobs are stored, %d were acknowledged", got, stored)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()

	t.Run("opening again keeps what is stored", func(t *testing.T) {
		t.Parallel()
		conn := connect(t, startServer(t, natsd.Options{NoSync: true}))
		b := openBroker(t, conn, Options{})
		if !b.Reset() {
			t.Error("a fresh job log is not reported as such")
		}
		job := newJob(domain.JobIngest)
		gen := publish(t, b, job)
		b = openBroker(t, conn, Options{HighestGeneration: gen})
		if b.Reset() {
			t.Error("an existing job log is reported as reset")
		}
		if jobs := lastJobs(t, b, job.DatastoreID); len(jobs) != 1 || jobs[0].Generation != gen {
			t.Errorf("jobs are %+v, want one of generation %d", jobs, gen)
		}
	})
	t.Run("a fresh job log starts above the catalog's highest generation", func(t *testing.T) {
		t.Parallel()
		b := openBroker(t, connect(t, startServer(t, natsd.Options{NoSync: true})), Options{HighestGeneration: 41})
		if gen := publish(t, b, newJob(domain.JobIngest)); gen != 41+generationGap {
			t.Errorf("first generation is %d, want one far above 41", gen)
		}
	})
	t.Run("a job log older than the catalog moves above it", func(t *testing.T) {
		t.Parallel()
		conn := connect(t, startServer(t, natsd.Options{NoSync: true}))
		old := newJob(domain.JobIngest)
		publish(t, openBroker(t, conn, Options{}), old)
		b := openBroker(t, conn, Options{HighestGeneration: 1000})
		if !b.Reset() {
			t.Error("the reset is not reported")
		}
		if jobs := lastJobs(t, b, old.DatastoreID); len(jobs) != 0 {
			t.Errorf("%d jobs of the older log are left", len(jobs))
		}
		next := newJob(domain.JobIngest)
		if gen := publish(t, b, next); gen != 1000+generationGap {
			t.Errorf("next generation is %d, want one far above 1000", gen)
		}
		w := work(t, b, domain.LaneIngest, WorkerOptions{}, func(context.Context, domain.Job) error { return nil })
		if out := receive(t, w.outcomes, "the job after the reset"); out.JobID != next.ID || out.Result != Done {
			t.Errorf("outcome is %+v", out)
		}
	})
	t.Run("a worker process waits for the streams", func(t *testing.T) {
		t.Parallel()
		srv := startServer(t, natsd.Options{NoSync: true})
		attached := make(chan error, 1)
		workerConn := connect(t, srv)
		ctx := testContext(t)
		go func() {
			_, err := Attach(ctx, workerConn, Options{Log: quiet})
			attached <- err
		}()
		openBroker(t, connect(t, srv), Options{})
		if err := receive(t, attached, "Attach"); err != nil {
			t.Errorf("Attach: %v", err)
		}
	})
	t.Run("a worker process stops waiting with its context", func(t *testing.T) {
		t.Parallel()
		conn := connect(t, startServer(t, natsd.Options{NoSync: true}))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := Attach(ctx, conn, Options{Log: quiet}); err == nil {
			t.Error("Attach succeeded without streams")
		}
	})
}

func TestPurge(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	a := newJob(domain.JobIngest)
	sibling, stranger := again(a), newJob(domain.JobCrawl)
	sibling.DatasourceID = domain.NewID()
	for _, j := range []domain.Job{a, sibling, stranger} {
		publish(t, b, j)
		if err := b.Emit(ctx, event(j, domain.EventRunning)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(step string, want map[string]int) {
		t.Helper()
		got := map[string]int{}
		for _, id := range []string{a.DatastoreID, stranger.DatastoreID} {
			got["jobs "+id] = len(lastJobs(t, b, id))
			got["events "+id] = len(allEvents(t, b, id))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	if err := b.PurgeDatasource(ctx, a.DatastoreID, a.DatasourceID, domain.AllGenerations); err != nil {
		t.Fatal(err)
	}
	check("after purging a datasource", map[string]int{
		"jobs " + a.DatastoreID: 1, "events " + a.DatastoreID: 1,
		"jobs " + stranger.DatastoreID: 1, "events " + stranger.DatastoreID: 1,
	})
	for range 2 { // the second call finds nothing to remove
		if err := b.PurgeDatastore(ctx, a.DatastoreID); err != nil {
			t.Fatal(err)
		}
	}
	check("after purging a datastore", map[string]int{
		"jobs " + a.DatastoreID: 0, "events " + a.DatastoreID: 0,
		"jobs " + stranger.DatastoreID: 1, "events " + stranger.DatastoreID: 1,
	})
	for _, id := range []string{"*", ">", "", "a.b"} {
		if err := b.PurgeDatastore(ctx, id); !errors.Is(err, ErrInvalid) {
			t.Errorf("purging datastore %q: error is %v, want ErrInvalid", id, err)
		}
	}
}

func TestPurgingBelowAGenerationKeepsWhatWasPublishedSince(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := t.Context()
	job := newJob(domain.JobCrawl)
	generation, err := b.Publish(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.PurgeDatasource(ctx, job.DatastoreID, job.DatasourceID, generation); err != nil {
		t.Fatal(err)
	}
	if got := len(lastJobs(t, b, job.DatastoreID)); got != 1 {
		t.Fatalf("the job of the bound itself is gone")
	}
	if err := b.PurgeDatasource(ctx, job.DatastoreID, job.DatasourceID, generation+1); err != nil {
		t.Fatal(err)
	}
	if got := len(lastJobs(t, b, job.DatastoreID)); got != 0 {
		t.Fatalf("%d jobs below the bound are left", got)
	}
}

func TestLastJobs(t *testing.T) {
	t.Parallel()
	b := newBroker(t)

	t.Run("an empty log has none", func(t *testing.T) {
		if jobs := lastJobs(t, b, ""); len(jobs) != 0 {
			t.Errorf("%d jobs", len(jobs))
		}
	})
	t.Run("jobs published by the reader itself are not read", func(t *testing.T) {
		datastore := domain.NewID()
		const n = 3*scanBatch + 7
		for range n {
			job := newJob(domain.JobIngest)
			job.DatastoreID = datastore
			publish(t, b, job)
		}
		seen, last := 0, uint64(0)
		err := b.LastJobs(testContext(t), 1, func(j domain.Job) error {
			if j.Generation <= last {
				t.Errorf("generation %d after %d", j.Generation, last)
			}
			last = j.Generation
			if seen++; seen > n {
				return errors.New("the replay reads what it publishes")
			}
			publish(t, b, again(j))
			return nil
		})
		if err != nil || seen != n {
			t.Errorf("read %d jobs with error %v, want %d", seen, err, n)
		}
	})
	t.Run("the reader's error ends it", func(t *testing.T) {
		stop := errors.New("stop")
		publish(t, b, newJob(domain.JobIngest))
		if err := b.LastJobs(testContext(t), 1, func(domain.Job) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestBacklogCountsWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	check := func(step string, want Backlog) {
		t.Helper()
		got, err := b.Backlog(ctx, domain.LaneIngest)
		if err != nil || got != want {
			t.Errorf("%s: backlog is %+v, %v, want %+v", step, got, err, want)
		}
	}
	check("before anything", Backlog{})
	for range 3 {
		publish(t, b, newJob(domain.JobIngest))
	}
	publish(t, b, newJob(domain.JobCrawl))
	check("before the first worker", Backlog{Waiting: 3})

	begun, release := make(chan struct{}), make(chan struct{})
	w := work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: 1}, func(context.Context, domain.Job) error {
		begun <- struct{}{}
		<-release
		return nil
	})
	receive(t, begun, "the first run")
	if got, err := b.Backlog(testContext(t), domain.LaneIngest); err != nil || got.Waiting+got.Taken != 3 || got.Taken == 0 {
		t.Errorf("while one runs: backlog is %+v, %v, want 3 jobs, some of them taken", got, err)
	}
	go func() { <-begun; <-begun }()
	close(release)
	for range 3 {
		receive(t, w.outcomes, "an outcome")
	}
	check("when all is done", Backlog{})
}

func TestReady(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	b := openBroker(t, connect(t, srv), Options{})
	if err := b.Ready(testContext(t)); err != nil {
		t.Errorf("ready: %v", err)
	}
	if err := srv.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if b.Ready(ctx) == nil {
		t.Error("ready without a server")
	}
}

func lastJobs(t testing.TB, b *Broker, datastoreID string) []domain.Job {
	t.Helper()
	var all []domain.Job
	err := b.LastJobs(testContext(t), 1, func(j domain.Job) error {
		if datastoreID == "" || j.DatastoreID == datastoreID {
			all = append(all, j)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("reading the job log: %v", err)
	}
	return all
}

func event(j domain.Job, typ domain.EventType) domain.Event {
	return domain.Event{
		Type: typ, JobID: j.ID, JobKind: j.Kind, WorkspaceID: j.WorkspaceID, DatastoreID: j.DatastoreID,
		DatasourceID: j.DatasourceID, Generation: j.Generation,
	}
}
