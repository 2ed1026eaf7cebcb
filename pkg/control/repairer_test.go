package control

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
)

// repairFixture simulates everything a repair needs.
type repairFixture struct {
	streams jobs.Repaired
	made    bool         // whether the original store had to be recreated
	last    []domain.Job // the job log
	fault   error        // returned when the job log is read
	prune   bool

	request  *catalog.RepairRequest
	lines    []string
	finished string
}

func (s *repairFixture) Repair(context.Context, uint64) (jobs.Repaired, error) { return s.streams, nil }
func (s *repairFixture) MaxGeneration(context.Context) (uint64, error)         { return 7, nil }
func (s *repairFixture) Outstanding(context.Context, domain.Job) (bool, error) { return false, nil }
func (s *repairFixture) AddRepairLines(_ context.Context, _ string, l ...string) error {
	s.lines = append(s.lines, l...)
	return nil
}
func (s *repairFixture) FinishRepair(_ context.Context, _, failure string) error {
	s.finished = "finished " + failure
	return nil
}
func (s *repairFixture) ClaimRepair(context.Context, string) (*catalog.RepairRequest, error) {
	r := s.request
	s.request = nil
	return r, nil
}
func (s *repairFixture) LastJobs(_ context.Context, _ uint64, f func(domain.Job) error) error {
	for _, job := range s.last {
		if err := f(job); err != nil {
			return err
		}
	}
	return s.fault
}

// testStreams simulates an original store. Its value is the result of Repair, that is, whether the store had to be
// recreated.
type testStreams bool

func (r testStreams) Repair(context.Context) (bool, error) { return bool(r), nil }

func TestARepairReportsItsActions(t *testing.T) {
	t.Parallel()
	synched := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	whole := []index.Stored{{DatasourceID: "src", Generation: 7, Rows: 3}}
	for name, test := range map[string]struct {
		stage     repairFixture
		rows      []index.Stored
		originals kept
		want      []string
		finished  string
	}{
		"that all agree": {rows: whole, want: []string{"1 datasource checked: index, originals, job log and catalog agree"}},
		"that streams were gone": {
			stage: repairFixture{streams: jobs.Repaired{Streams: []string{"JOBS"}, JobsReset: true, FirstGeneration: 1000}, made: true}, rows: whole,
			want: []string{
				"stream JOBS was missing; created an empty one",
				"the job log was lost and starts again at generation 1000; unfinished jobs must be published again",
				"the store of originals was missing; created an empty one",
				"1 datasource checked",
			},
		},
		"that rows are missing": {
			want: []string{
				"datastore store (s): rows of 1 datasource are missing in embedded with m; their documents will be indexed again",
				"1 datasource checked: 1 to be indexed again",
			},
		},
		"that there is too much": {
			rows: append([]index.Stored{{DatasourceID: "x", Generation: 5, Rows: 2}}, whole...), originals: kept{"uploads/x": synched},
			want: []string{
				"datastore store (s): 2 stray rows in embedded with m will be removed", "1 stray original will be removed",
				"1 datasource checked: stray rows: 2, stray originals: 1",
			},
		},
		"what is lost": {
			originals: kept{"uploads/src": {}},
			want: []string{
				"datasource src (a.pdf) has lost its original and its rows",
				"rows and originals of 1 datasource are lost; upload again any content that is still needed, and delete the rest with: sluice repair --prune",
				"1 datasource checked: 1 without rows and without an original",
			},
		},
		"what is damaged": {
			rows: whole, originals: kept{"uploads/src": spoiled},
			want: []string{
				"the original of datasource src (a.pdf) is damaged",
				"originals of 1 datasource are damaged; their content stays searchable, but upload it again before re-indexing",
				"1 datasource checked: 1 with a damaged original",
			},
		},
		"what it deletes of that when it is told to": {
			stage: repairFixture{prune: true}, originals: kept{"uploads/src": {}},
			want: []string{
				"datasource src (a.pdf) has lost its original and its rows: deleted", "deleted 1 datasource that had neither rows nor an original",
				"1 datasource checked: 1 deleted",
			},
		},
		"what the job log knows better": {
			stage: repairFixture{last: []domain.Job{{
				ID: domain.NewID(), Kind: domain.JobIngest, WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "late", Type: domain.TypeFile, Name: "b.pdf",
				Places: []domain.Place{here}, Original: &domain.Original{Key: "uploads/src"}, Generation: 9,
			}}},
			rows: whole,
			want: []string{
				"datasource late (b.pdf): restored from the job log",
				"2 datasources checked: 1 imported from the job log; still being processed and possibly incomplete: 1",
			},
		},
		"what it could not look at, and the rest": {
			stage: repairFixture{fault: errDown}, rows: whole, want: []string{"1 datasource checked"}, finished: "reading the job log: engine is down",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testCatalog(t, synched)
			now := func() time.Time { return synched.Add(2 * time.Hour) }
			originals := kept{"uploads/src": synched}
			for key, at := range test.originals {
				if originals[key] = at; at.IsZero() {
					delete(originals, key)
				}
			}
			s := &test.stage
			s.request = &catalog.RepairRequest{ID: "repair", Prune: s.prune}
			rescuer := &Rescuer{Waiting: c, Stream: s, Log: quiet, Now: now}
			r := Repairer{
				Requests: s, Log: quiet,
				Streams: &StreamKeeper{Streams: s, Originals: testStreams(s.made), Marks: s, Rescuer: rescuer, Log: quiet},
				Auditor: &Auditor{Catalog: c, Engines: inventory{rows: test.rows}, Originals: originals, JobLog: s, Log: quiet, Now: now},
			}
			if more, err := r.round(t.Context()); err != nil || !more {
				t.Fatalf("more %v, err %v", more, err)
			}
			if diff := cmp.Diff(test.want, s.lines); diff != "" {
				t.Error(diff)
			}
			if want := "finished " + test.finished; s.finished != want {
				t.Errorf("the repair ended with %q, want %q", s.finished, want)
			}
			if more, err := r.round(t.Context()); err != nil || more {
				t.Errorf("without a request: more %v, err %v", more, err)
			}
		})
	}
}

func TestLostJobsAreReissuedAtOnce(t *testing.T) {
	t.Parallel()
	for lost, want := range map[string]int{"": 0, jobs.StreamEvents: 1, jobs.StreamDeadLetters: 0} {
		s := &repairFixture{}
		if lost != "" {
			s.streams.Streams = []string{lost}
		}
		w := &waiting{stuck: []catalog.StuckDatasource{{Datasource: domain.Datasource{ID: "lost", Processing: domain.Processing{JobID: "j"}}}}}
		k := StreamKeeper{Streams: s, Originals: testStreams(false), Marks: s, Rescuer: &Rescuer{Waiting: w, Stream: s, Log: quiet, Now: time.Now}, Log: quiet}
		if n, err := k.repair(t.Context(), t.Logf); err != nil || n != want {
			t.Errorf("without stream %q %d jobs are issued anew, want %d: %v", lost, n, want, err)
		}
	}
}

// otherAuditor is a catalog in which another process holds the audit lease.
type otherAuditor struct {
	AuditCatalog
	asked, audits, released atomic.Int32
}

func (e *otherAuditor) Lease(context.Context, string, string, time.Duration) (bool, error) {
	e.asked.Add(1)
	return false, nil
}
func (e *otherAuditor) Release(context.Context, string, string) error {
	e.released.Add(1)
	return nil
}
func (e *otherAuditor) EachDatastore(context.Context, func(domain.Datastore) error) error {
	e.audits.Add(1)
	return errors.New("there are none")
}

func TestAnAlarmStartsAnAuditDespiteTheLeaseOfAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, alarm := &otherAuditor{}, make(chan struct{}, 1)
		a := Auditor{Catalog: e, Every: time.Hour, Alarm: alarm, Log: quiet, Now: time.Now}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); a.Run(ctx) }()
		<-time.After(firstAudit + 2*a.Every) // on the bubble's clock
		if e.asked.Load() < 2 || e.audits.Load() != 0 {
			t.Errorf("%d audits out of turn, asked for it %d times", e.audits.Load(), e.asked.Load())
		}
		alarm <- struct{}{}
		synctest.Wait()
		if e.audits.Load() != 1 {
			t.Errorf("%d audits after the alarm", e.audits.Load())
		}
		stop()
		<-ended
		if e.released.Load() != 1 {
			t.Errorf("the turn was given back %d times", e.released.Load())
		}
	})
}
