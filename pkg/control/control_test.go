package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	quiet   = slog.New(slog.NewTextHandler(io.Discard, nil))
	errDown = errors.New("engine is down")
)

// outbox simulates the catalog's outbox as a queue of jobs with a window.
type outbox struct {
	jobs      []domain.Job
	inFlight  int64
	published []domain.Job
	deferred  []string
	ended     []domain.Event
	wake      chan struct{}
}

func (o *outbox) Next(_ context.Context, _ *pipeline.Window, limit int) ([]domain.Job, error) {
	return append([]domain.Job(nil), o.jobs[:min(limit, len(o.jobs))]...), nil
}

func (o *outbox) PublishedAll(_ context.Context, jobs []domain.Job) error {
	o.published = append(o.published, jobs...)
	o.jobs = o.jobs[len(jobs):]
	o.inFlight += int64(len(jobs))
	return nil
}

func (o *outbox) DeferJob(_ context.Context, job domain.Job, _ time.Time) error {
	o.deferred = append(o.deferred, job.ID)
	return nil
}
func (o *outbox) Apply(_ context.Context, ev domain.Event) (catalog.Applied, error) {
	o.ended = append(o.ended, ev)
	return catalog.Applied{}, nil
}
func (o *outbox) InFlightByWorkspace(context.Context) (pipeline.InFlight, error) {
	return pipeline.InFlight{Other: map[string]int{"": int(o.inFlight)}}, nil
}
func (o *outbox) OutboxWake() <-chan struct{} { return o.wake }

type publish func(domain.Job) (uint64, error)

func (f publish) Publish(_ context.Context, job domain.Job) (uint64, error) { return f(job) }

func jobsNamed(ids ...string) (jobs []domain.Job) {
	for _, id := range ids {
		jobs = append(jobs, domain.Job{ID: id})
	}
	return jobs
}

func TestDispatcherFillsOnlyTheWindow(t *testing.T) {
	t.Parallel()
	o := &outbox{jobs: jobsNamed("a", "b", "c", "d"), inFlight: 1}
	generations := map[string]uint64{"a": 41, "b": 42}
	d := Dispatcher{Outbox: o, Window: 3, Log: quiet, Now: time.Now, Jobs: publish(func(j domain.Job) (uint64, error) { return generations[j.ID], nil })}
	more, err := d.round(t.Context())
	if err != nil || !more {
		t.Fatalf("more %v, err %v", more, err)
	}
	want := []domain.Job{{ID: "a", Generation: 41}, {ID: "b", Generation: 42}}
	if diff := cmp.Diff(want, o.published); diff != "" {
		t.Error(diff)
	}
	if more, err := d.round(t.Context()); more || err != nil || len(o.published) != 2 {
		t.Errorf("a full window was overfilled: more %v, err %v, %d published", more, err, len(o.published))
	}
}

func TestDispatcherMarksPublishedJobsDespiteAFailure(t *testing.T) {
	t.Parallel()
	o := &outbox{jobs: jobsNamed("a", "b", "c")}
	d := Dispatcher{Outbox: o, Window: 10, Log: quiet, Now: time.Now, Jobs: publish(func(j domain.Job) (uint64, error) {
		if j.ID == "b" {
			return 0, errDown
		}
		return 7, nil
	})}
	if _, err := d.round(t.Context()); !errors.Is(err, errDown) {
		t.Fatalf("err = %v", err)
	}
	if diff := cmp.Diff([]domain.Job{{ID: "a", Generation: 7}, {ID: "c", Generation: 7}}, o.published); diff != "" {
		t.Error(diff)
	}
}

// TestDispatcherPublishesManyAtOnce makes every Publish wait until all calls have begun.
func TestDispatcherPublishesManyAtOnce(t *testing.T) {
	t.Parallel()
	o := &outbox{}
	for i := range 2 * parallelPublishes {
		o.jobs = append(o.jobs, domain.Job{ID: fmt.Sprint(i)})
	}
	var mu sync.Mutex
	begun, all := 0, make(chan struct{})
	d := Dispatcher{Outbox: o, Window: 2 * parallelPublishes, Log: quiet, Now: time.Now, Jobs: publish(func(domain.Job) (uint64, error) {
		mu.Lock()
		if begun++; begun == parallelPublishes {
			close(all)
		}
		mu.Unlock()
		<-all
		return 7, nil
	})}
	if _, err := d.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(o.published) != 2*parallelPublishes {
		t.Errorf("%d of %d jobs are marked as published", len(o.published), 2*parallelPublishes)
	}
	for i, j := range o.published {
		if j.ID != fmt.Sprint(i) || j.Generation != 7 {
			t.Fatalf("job %d is %s of generation %d", i, j.ID, j.Generation)
		}
	}
}

func TestDispatcherDefersARefusedJob(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		refusal  error
		deferred []string
		ended    string // error shown to users
	}{
		"for a while when the stream is down": {refusal: errDown, deferred: []string{"a"}},
		"not at all when the stream is gone":  {refusal: fmt.Errorf("publishing: %w", jobs.ErrStreamLost)},
		"for good when the job is too large": {
			refusal: fmt.Errorf("publishing: %w", jobs.ErrTooLarge),
			ended:   "The content cannot be queued: its name, metadata and patterns together exceed 256 KiB. Shorten them.",
		},
		"for good when the job is not valid": {refusal: jobs.ErrInvalid, ended: "The content cannot be queued: its job is invalid."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &outbox{jobs: []domain.Job{{ID: "a", Kind: domain.JobCrawl, DatastoreID: "store", DatasourceID: "src"}}}
			d := Dispatcher{
				Outbox: o, Window: 3, Log: quiet, Now: func() time.Time { return now },
				Jobs: publish(func(domain.Job) (uint64, error) { return 0, test.refusal }),
			}
			if _, err := d.round(t.Context()); !errors.Is(err, test.refusal) {
				t.Fatalf("err = %v", err)
			}
			var ended []domain.Event
			if test.ended != "" {
				ev := o.jobs[0].Event(domain.EventError, now)
				ev.Error = test.ended
				ended = []domain.Event{ev}
			}
			if diff := cmp.Diff(ended, o.ended); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.deferred, o.deferred); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sweeps is a queue of sweeps.
type sweeps struct {
	tasks    []catalog.SweepTask
	finished []string
	deferred map[string]time.Time

	batches        int         // remaining batches of conversations to delete
	forgot         []time.Time // arguments to ForgetConversations
	failForgetting error
}

func (s *sweeps) ForgetConversations(_ context.Context, since time.Time) (bool, error) {
	s.forgot = append(s.forgot, since)
	s.batches--
	return s.batches > 0, s.failForgetting
}

func (s *sweeps) ForgetItemConversations(context.Context, time.Time) (bool, error) { return false, nil }

func (s *sweeps) ForgetResponses(context.Context, time.Time) (bool, error) { return false, nil }

func (s *sweeps) FailAbandoned(context.Context) error                      { return nil }
func (s *sweeps) Sweeps(context.Context, int) ([]catalog.SweepTask, error) { return s.tasks, nil }
func (s *sweeps) FinishSweep(_ context.Context, ids ...string) error {
	s.finished = append(s.finished, ids...)
	return nil
}
func (s *sweeps) DeferSweep(_ context.Context, id string, until time.Time, _ string) error {
	s.deferred[id] = until
	return nil
}
func (s *sweeps) RemoveDeleted(context.Context) (bool, error) { return false, nil }
func (s *sweeps) SweepWake() <-chan struct{}                  { return nil }

// engines records what sweeps do to the index, the originals and the job log. The datastore "store" is moving from
// `here` to `there`.
type engines struct {
	calls  []string
	failOn string
	store  error // returned when the datastore is read
}

var (
	here  = domain.Place{Engine: domain.EngineEmbedded, Model: "m"}
	there = domain.Place{Engine: domain.EngineMilvus, Model: "n"}
)

func (e *engines) call(what string) error {
	e.calls = append(e.calls, what)
	if what == e.failOn {
		return errDown
	}
	return nil
}
func (e *engines) DatastoreByID(_ context.Context, id string) (domain.Datastore, error) {
	return domain.Datastore{ID: id, Type: here.Engine, EmbeddingModel: here.Model, Move: &domain.Move{ID: "move", To: there}}, e.store
}
func (e *engines) Engines() []domain.Engine { return []domain.Engine{here.Engine, there.Engine} }
func (e *engines) Index(engine domain.Engine) (Index, error) {
	return engineRows{e, engine}, nil
}

// engineRows simulates the rows of one engine.
type engineRows struct {
	*engines
	engine domain.Engine
}

func (r engineRows) Spaces(_ context.Context, store string) ([]index.Space, error) {
	return []index.Space{{DatastoreID: store, Model: here.Model}, {DatastoreID: store, Model: there.Model}}, nil
}
func (r engineRows) Stored(context.Context, index.Space, func(index.Stored) error) error { return nil }
func (r engineRows) Count(context.Context, index.Space, string, uint64) (int64, error) {
	return 0, nil
}
func (r engineRows) DeleteGenerations(_ context.Context, s index.Space, which ...index.Generations) error {
	what := fmt.Sprintf("%s/%s rows", r.engine, s.Model)
	for _, g := range which {
		what += fmt.Sprintf(" %s %d-%d", g.DatasourceID, g.From, g.Below)
	}
	return r.call(what)
}
func (r engineRows) DropDatastore(_ context.Context, store string) error {
	return r.call(fmt.Sprintf("%s drop %s", r.engine, store))
}
func (e *engines) Delete(_ context.Context, key string) error { return e.call("original " + key) }
func (e *engines) PurgeDatasource(_ context.Context, _, source string, _ uint64) error {
	return e.call("purge " + source)
}
func (e *engines) PurgeCrawls(_ context.Context, _, source string, below uint64) error {
	return e.call(fmt.Sprintf("withdraw %s below %d", source, below))
}
func (e *engines) PurgeDatastore(_ context.Context, store string) error {
	return e.call("purge " + store)
}

func sweeper(s *sweeps, e *engines, now time.Time) Sweeper {
	return Sweeper{Sweeps: s, Stores: e, Engines: e, Originals: e, JobLog: e, Log: quiet, Now: func() time.Time { return now }}
}

func TestSweeperDeletesExpiredConversations(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	t.Run("a batch at a time until none is left", func(t *testing.T) {
		t.Parallel()
		q := &sweeps{batches: 3}
		s := sweeper(q, &engines{}, now)
		s.Retention = 24 * time.Hour
		if err := s.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		since := now.Add(-24 * time.Hour)
		if diff := cmp.Diff([]time.Time{since, since, since}, q.forgot); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("none where they are kept for ever", func(t *testing.T) {
		t.Parallel()
		q := &sweeps{batches: 3}
		s := sweeper(q, &engines{}, now)
		if err := s.Drain(t.Context()); err != nil || len(q.forgot) != 0 {
			t.Fatal(q.forgot, err)
		}
	})
	t.Run("and says when it cannot", func(t *testing.T) {
		t.Parallel()
		s := sweeper(&sweeps{failForgetting: errDown}, &engines{}, now)
		s.Retention = time.Hour
		if err := s.Drain(t.Context()); !errors.Is(err, errDown) {
			t.Fatal(err)
		}
	})
}

func TestSweeperKeepsOriginalsDuringABackup(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	s := &sweeps{deferred: map[string]time.Time{}, tasks: []catalog.SweepTask{
		{Sweep: domain.Sweep{ID: "1", DatastoreID: "store", DatasourceID: "src", Below: 7, Originals: []string{"k"}, Jobs: true}},
		{Sweep: domain.Sweep{ID: "2", DatastoreID: "store", DatasourceID: "src", Place: there, Below: 7}},
	}}
	e := &engines{}
	sw := sweeper(s, e, now)
	held := true
	sw.Holding = func() bool { return held }
	if _, err := sw.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2"}, s.finished); diff != "" || slices.Contains(e.calls, "original k") {
		t.Errorf("while a backup is made: %v, finished (-want +got):\n%s", e.calls, diff)
	}
	held = false
	if _, err := sw.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(e.calls, "original k") {
		t.Errorf("after it: %v", e.calls)
	}
}

func TestSweeperRemovesTheDataOfASweep(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sweep domain.Sweep
		store error
		want  []string
	}{
		"rows of older generations, in the place that is named": {
			sweep: domain.Sweep{DatastoreID: "store", DatasourceID: "src", Place: there, From: 2, Below: 7},
			want:  []string{"milvus/n rows src 2-7"},
		},
		"everything that was in a place": {
			sweep: domain.Sweep{DatastoreID: "store", Place: here, Below: 9}, want: []string{"embedded/m rows  0-9"},
		},
		"a deleted datasource, in every place of its datastore": {
			sweep: domain.Sweep{DatastoreID: "store", DatasourceID: "src", Below: 7, Originals: []string{"k"}, Jobs: true},
			want:  []string{"purge src", "embedded/m rows src 0-7", "milvus/n rows src 0-7", "original k"},
		},
		"a deleted datastore": {
			sweep: domain.Sweep{DatastoreID: "store", Below: domain.AllGenerations, Jobs: true},
			want:  []string{"purge store", "embedded drop store", "milvus drop store"},
		},
		"rows written late into a deleted datastore": {
			sweep: domain.Sweep{DatastoreID: "store", DatasourceID: "src", Below: domain.AllGenerations},
			store: domain.NotFound("datastore", "store"), want: []string{"embedded drop store", "milvus drop store"},
		},
		"withdrawn crawl jobs alone": {
			sweep: domain.Sweep{DatastoreID: "store", DatasourceID: "src", Crawls: 8}, want: []string{"withdraw src below 8"},
		},
		"an original alone": {sweep: domain.Sweep{Originals: []string{"k"}}, want: []string{"original k"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.sweep.ID = "1"
			s := &sweeps{tasks: []catalog.SweepTask{{Sweep: test.sweep}}}
			e := &engines{store: test.store}
			sw := sweeper(s, e, time.Now())
			if _, err := sw.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, e.calls); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"1"}, s.finished); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFailedSweepIsDeferredAndDoesNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &sweeps{deferred: map[string]time.Time{}, tasks: []catalog.SweepTask{
		{Sweep: domain.Sweep{ID: "1", Originals: []string{"bad"}}, Attempts: 3}, {Sweep: domain.Sweep{ID: "2", Originals: []string{"good"}}},
	}}
	sw := sweeper(s, &engines{failOn: "original bad"}, now)
	if _, err := sw.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2"}, s.finished); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]time.Time{"1": now.Add(8 * time.Second)}, s.deferred); diff != "" {
		t.Error(diff)
	}
}

type waiting struct {
	stuck    []catalog.StuckDatasource
	reissued []string
}

func (w *waiting) Stuck(context.Context, time.Time, int) ([]catalog.StuckDatasource, error) {
	return w.stuck, nil
}
func (w *waiting) Reissue(_ context.Context, id, _ string, _ domain.Job) (bool, error) {
	w.reissued = append(w.reissued, id)
	return true, nil
}

type outstanding map[string]bool

func (o outstanding) Outstanding(_ context.Context, job domain.Job) (bool, error) {
	return o[job.ID], nil
}

func TestRescuerReissuesOnlyLostJobs(t *testing.T) {
	t.Parallel()
	w := &waiting{stuck: []catalog.StuckDatasource{
		{Datasource: domain.Datasource{ID: "slow", Processing: domain.Processing{JobID: "j1"}}}, {Datasource: domain.Datasource{ID: "lost", Processing: domain.Processing{JobID: "j2"}}},
	}}
	r := Rescuer{Waiting: w, Stream: outstanding{"j1": true}, Log: quiet, Now: time.Now}
	n, err := r.Rescue(t.Context(), time.Minute)
	if err != nil || n != 1 {
		t.Fatalf("rescued %d, err %v", n, err)
	}
	if diff := cmp.Diff([]string{"lost"}, w.reissued); diff != "" {
		t.Error(diff)
	}
}

// silentDatasource simulates a catalog whose only datasource has been silent since a given time, and the stream that
// may contain its job.
type silentDatasource struct {
	since            time.Time
	waits, issuedNow atomic.Bool
}

func (s *silentDatasource) Stuck(_ context.Context, before time.Time, _ int) ([]catalog.StuckDatasource, error) {
	if s.issuedNow.Load() || !s.since.Before(before) {
		return nil, nil
	}
	return []catalog.StuckDatasource{{Datasource: domain.Datasource{ID: "page", Processing: domain.Processing{JobID: "j1"}}}}, nil
}

func (s *silentDatasource) Reissue(context.Context, string, string, domain.Job) (bool, error) {
	s.issuedNow.Store(true)
	return true, nil
}

func (s *silentDatasource) Outstanding(context.Context, domain.Job) (bool, error) {
	return s.waits.Load(), nil
}

func TestRescuerHasAShortTimeoutAfterARestore(t *testing.T) {
	t.Parallel()
	for name, suspect := range map[string]bool{
		"what may be stuck after a restore is looked at soon": true,
		"what is slow has time":                               false,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &silentDatasource{since: time.Now().Add(time.Second)} // published again after the restore
				s.waits.Store(true)
				r := &Rescuer{Waiting: s, Stream: s, Log: quiet, Now: time.Now}
				if suspect {
					r.ExpectLostJobs()
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go r.Run(ctx)
				synctest.Wait()
				if s.issuedNow.Load() {
					t.Fatal("an outstanding job was issued again")
				}
				s.waits.Store(false)
				time.Sleep(rescueEvery) // on the bubble's clock
				synctest.Wait()
				if got := s.issuedNow.Load(); got != suspect {
					t.Errorf("issued again after a round: %t, want %t", got, suspect)
				}
			})
		})
	}
}

func TestALoopBacksOffWhileItsEngineIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var at []time.Duration
		runLoop(ctx, quiet, nil, time.Hour, time.Minute, func(context.Context) (bool, error) {
			if at = append(at, time.Since(began)); len(at) == 4 {
				cancel()
			}
			return false, errDown
		})
		want := []time.Duration{0, 250 * time.Millisecond, 750 * time.Millisecond, 1750 * time.Millisecond}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error(diff)
		}
	})
}

func TestALoopRunsWhenWokenAndWhileThereIsMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		wake, rounds := make(chan struct{}, 1), 0
		wake <- struct{}{}
		runLoop(ctx, quiet, wake, time.Hour, time.Minute, func(context.Context) (bool, error) {
			if rounds++; rounds == 3 {
				cancel()
			}
			return rounds == 1, nil
		})
		if rounds != 3 {
			t.Errorf("%d rounds", rounds)
		}
	})
}

func TestARoundThatHangsIsCutShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		runLoop(ctx, quiet, nil, time.Hour, time.Minute, func(round context.Context) (bool, error) {
			<-round.Done()
			cancel()
			return false, round.Err()
		})
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the round took %v", took)
		}
	})
}
