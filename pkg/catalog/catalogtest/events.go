package catalogtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

func testEvents(t *testing.T, open Open) {
	t.Run("progress shows while the job runs", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		p := domain.Progress{Stage: "embedding", Done: 3, Total: 9}
		done := w.apply(d, domain.EventProgress, func(ev *domain.Event) { ev.Progress = &p })
		equal(t, true, done.Found && done.Changed)
		equal(t, p, done.Datasource.Progress)
		equal(t, p, w.get(d.ID).Progress)
		equal(t, int64(1), w.inFlight())
	})
	t.Run("synched activates the generation, ends the job and is harmless again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		for range 2 {
			w.apply(d, domain.EventSynched, chunks(3), func(ev *domain.Event) { ev.Warnings = []string{"page 2 has no text"} })
			got := w.get(d.ID)
			equal(t, domain.StatusSynched, got.Status)
			equal(t, w.seq, got.ActiveGeneration)
			equal(t, int64(3), got.Chunks)
			equal(t, int64(300), got.TextBytes)
			equal(t, []string{"page 2 has no text"}, got.Warnings)
			equal(t, w.clock.now(), *got.LastSynch)
			equal(t, int64(0), w.inFlight())
			equal(t, 0, len(w.sweeps()))
		}
	})
	t.Run("a newer generation queues the sweep of the older ones with its activation", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.synch(w.createFile().ID)
		_, err := w.Requeue(w.ctx, w.ws, d.ID, domain.NewIngestJob(d, w.settled()), catalog.PriorityReplay)
		ok(t, err)
		again := w.synch(d.ID)
		equal(t, d.ActiveGeneration+1, again.ActiveGeneration)
		sweeps := w.sweeps()
		equal(t, 1, len(sweeps))
		equal(t, again.ActiveGeneration, sweeps[0].Below)
		equal(t, d.ID, sweeps[0].DatasourceID)
	})
	t.Run("a fetched page gets its ingest job, which goes before what waits", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		page := domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: w.store, Type: domain.TypeWebPage,
			Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/a"},
		}
		page = w.create(catalog.NewDatasource{Datasource: page, Job: domain.NewCrawlJob(page, w.settled()), Priority: catalog.PriorityReplay})[0]
		equal(t, 0, page.Runs)
		w.publishAll()
		crawl := w.event(page, domain.EventFetched, fetched("page-1"))
		for range 2 {
			_, err := w.Apply(w.ctx, crawl)
			ok(t, err)
		}
		w.createFile(replay)
		jobs, err := w.Outbox(w.ctx, 10)
		ok(t, err)
		equal(t, 2, len(jobs))
		equal(t, page.ID, jobs[0].DatasourceID)
		equal(t, domain.JobIngest, jobs[0].Kind)
		equal(t, "page-1", jobs[0].Original.Key)
		equal(t, []domain.Place{serving}, jobs[0].Places)
		equal(t, int64(0), w.inFlight())
		got := w.get(page.ID)
		equal(t, jobs[0].ID, got.JobID)
		equal(t, 1, got.Runs)
		equal(t, domain.StatusSynched, w.synch(page.ID).Status)
	})
	t.Run("events of a job that was replaced leave status and flight to the newer one", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		_, err := w.Requeue(w.ctx, w.ws, d.ID, domain.NewIngestJob(d, w.settled()), catalog.PriorityFresh)
		ok(t, err)
		late := w.seq
		w.publishAll()
		w.apply(d, domain.EventError, func(ev *domain.Event) { ev.Error = "late" })
		w.apply(d, domain.EventSynched, func(ev *domain.Event) { ev.Generation = late })
		got := w.get(d.ID)
		equal(t, domain.StatusPending, got.Status)
		equal(t, late, got.ActiveGeneration)
		equal(t, int64(1), w.inFlight())
	})
	t.Run("events in any order, each twice, end alike", func(t *testing.T) {
		t.Parallel()
		var want *domain.Datasource
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1, 2, 0, 1}} {
			w := newWorld(t, open)
			d := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.ID = "the-same" })
			w.publishAll()
			evs := []domain.Event{
				w.event(d, domain.EventRunning),
				w.event(d, domain.EventProgress, func(ev *domain.Event) { ev.Progress = &domain.Progress{Stage: "embedding", Total: 5} }),
				w.event(d, domain.EventSynched, chunks(4)),
			}
			for _, i := range order {
				_, err := w.Apply(w.ctx, evs[i])
				ok(t, err)
			}
			got := w.get(d.ID)
			if want == nil {
				want = &got
			}
			sameEnd(t, *want, got)
		}
	})
	t.Run("several events are applied in their order, all or none", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first, second := w.createFile(), w.createFile()
		w.publishAll()
		evs := []domain.Event{w.event(first, domain.EventRunning), w.event(first, domain.EventSynched, chunks(1)), w.event(second, domain.EventError)}
		done, err := w.ApplyAll(w.ctx, evs)
		ok(t, err)
		equal(t, []domain.Status{domain.StatusRunning, domain.StatusSynched, domain.StatusError},
			[]domain.Status{done[0].Datasource.Status, done[1].Datasource.Status, done[2].Datasource.Status})
		third := w.createFile()
		_, err = w.ApplyAll(w.ctx, []domain.Event{w.event(third, domain.EventRunning), {Type: domain.EventFetched}})
		code(t, domain.CodeInvalid, err)
		equal(t, domain.StatusUnsynched, w.get(third.ID).Status)
	})
	t.Run("an event that lacks what its type demands is refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		for _, change := range []func(*domain.Event){
			func(ev *domain.Event) { ev.Type = domain.EventFetched },
			func(ev *domain.Event) { ev.DatasourceID = "" },
			func(ev *domain.Event) { ev.JobID = "" },
			func(ev *domain.Event) { ev.Links = make([]domain.Link, domain.MaxLinksPerEvent+1) },
		} {
			_, err := w.Apply(w.ctx, w.event(d, domain.EventRunning, change))
			code(t, domain.CodeInvalid, err)
		}
	})
	t.Run("an unknown type of event changes nothing", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		done := w.apply(d, "renamed")
		equal(t, false, done.Changed)
		equal(t, d, w.get(d.ID))
	})
}

// sameEnd compares what readers and workers see of two datasources, ids of jobs and keys of originals aside.
func sameEnd(t testing.TB, want, got domain.Datasource) {
	t.Helper()
	for _, d := range []*domain.Datasource{&want, &got} {
		d.WorkspaceID, d.DatastoreID, d.JobID, d.Original = "", "", "", nil
		d.CreatedAt, d.UpdatedAt = d.CreatedAt.Truncate(1e9), d.UpdatedAt.Truncate(1e9)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}
