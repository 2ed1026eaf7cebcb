package catalogtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func testEvents(t *testing.T, open world.Open) {
	world.Run(t, open, "progress shows while the job runs", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		p := domain.Progress{Stage: "embedding", Done: 3, Total: 9}
		done := w.ApplyEvent(d, domain.EventProgress, func(ev *domain.Event) { ev.Progress = &p })
		world.Equal(t, true, done.Found && done.Changed)
		world.Equal(t, p, done.Datasource.Progress)
		world.Equal(t, p, w.Get(d.ID).Progress)
		world.Equal(t, int64(1), w.CountInFlight())
	})
	world.Run(t, open, "synched activates the generation, ends the job and is harmless again", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		for range 2 {
			w.ApplyEvent(d, domain.EventSynched, world.Chunks(3), func(ev *domain.Event) { ev.Warnings = []string{"page 2 has no text"} })
			got := w.Get(d.ID)
			world.Equal(t, domain.StatusSynched, got.Status)
			world.Equal(t, w.Seq, got.ActiveGeneration)
			world.Equal(t, int64(3), got.Chunks)
			world.Equal(t, int64(300), got.TextBytes)
			world.Equal(t, []string{"page 2 has no text"}, got.Warnings)
			world.Equal(t, w.Clock.Now(), *got.LastSynch)
			world.Equal(t, int64(0), w.CountInFlight())
			world.Equal(t, 0, len(w.AllSweeps()))
		}
	})
	world.Run(t, open, "a newer generation queues the sweep of the older ones with its activation", func(t *testing.T, w *world.World) {
		d := w.Synch(w.CreateFile().ID)
		world.Must(w.Requeue(w.Ctx, w.WS, d.ID, domain.NewIngestJob(d, w.Settled()), catalog.PriorityReplay))(t)
		again := w.Synch(d.ID)
		world.Equal(t, d.ActiveGeneration+1, again.ActiveGeneration)
		sweeps := w.AllSweeps()
		world.Equal(t, 1, len(sweeps))
		world.Equal(t, again.ActiveGeneration, sweeps[0].Below)
		world.Equal(t, d.ID, sweeps[0].DatasourceID)
	})
	world.Run(t, open, "a fetched page gets its ingest job, which goes before what waits", func(t *testing.T, w *world.World) {
		page := domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, Type: domain.TypeWebPage,
			Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/a"},
		}
		page = w.Create(catalog.NewDatasource{Datasource: page, Job: domain.NewCrawlJob(page, w.Settled()), Priority: catalog.PriorityReplay})[0]
		world.Equal(t, 0, page.Runs)
		w.PublishAll()
		crawl := w.Event(page, domain.EventFetched, world.Fetched("page-1"))
		for range 2 {
			world.Must(w.Apply(w.Ctx, crawl))(t)
		}
		w.CreateFile(replay)
		jobs := world.Must(w.Outbox(w.Ctx, 10))(t)
		world.Equal(t, 2, len(jobs))
		world.Equal(t, page.ID, jobs[0].DatasourceID)
		world.Equal(t, domain.JobIngest, jobs[0].Kind)
		world.Equal(t, "page-1", jobs[0].Original.Key)
		world.Equal(t, []domain.Place{world.Serving}, jobs[0].Places)
		world.Equal(t, int64(0), w.CountInFlight())
		got := w.Get(page.ID)
		world.Equal(t, jobs[0].ID, got.JobID)
		world.Equal(t, 1, got.Runs)
		world.Equal(t, domain.StatusSynched, w.Synch(page.ID).Status)
	})
	world.Run(t, open, "events of a job that was replaced leave status and flight to the newer one", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		world.Must(w.Requeue(w.Ctx, w.WS, d.ID, domain.NewIngestJob(d, w.Settled()), catalog.PriorityFresh))(t)
		late := w.Seq
		w.PublishAll()
		w.ApplyEvent(d, domain.EventError, func(ev *domain.Event) { ev.Error = "late" })
		w.ApplyEvent(d, domain.EventSynched, func(ev *domain.Event) { ev.Generation = late })
		got := w.Get(d.ID)
		world.Equal(t, domain.StatusPending, got.Status)
		world.Equal(t, late, got.ActiveGeneration)
		world.Equal(t, int64(1), w.CountInFlight())
	})
	t.Run("events in any order, each twice, end alike", func(t *testing.T) {
		t.Parallel()
		var want *domain.Datasource
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1, 2, 0, 1}} {
			w := world.New(t, open)
			d := w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.ID = "the-same" })
			w.PublishAll()
			evs := []domain.Event{
				w.Event(d, domain.EventRunning),
				w.Event(d, domain.EventProgress, func(ev *domain.Event) { ev.Progress = &domain.Progress{Stage: "embedding", Total: 5} }),
				w.Event(d, domain.EventSynched, world.Chunks(4)),
			}
			for _, i := range order {
				world.Must(w.Apply(w.Ctx, evs[i]))(t)
			}
			got := w.Get(d.ID)
			if want == nil {
				want = &got
			}
			sameEnd(t, *want, got)
		}
	})
	world.Run(t, open, "several events are applied in their order, all or none", func(t *testing.T, w *world.World) {
		first, second := w.CreateFile(), w.CreateFile()
		w.PublishAll()
		evs := []domain.Event{w.Event(first, domain.EventRunning), w.Event(first, domain.EventSynched, world.Chunks(1)), w.Event(second, domain.EventError)}
		done := world.Must(w.ApplyAll(w.Ctx, evs))(t)
		world.Equal(t, []domain.Status{domain.StatusRunning, domain.StatusSynched, domain.StatusError},
			[]domain.Status{done[0].Datasource.Status, done[1].Datasource.Status, done[2].Datasource.Status})
		third := w.CreateFile()
		world.Refused(w.ApplyAll(w.Ctx, []domain.Event{w.Event(third, domain.EventRunning), {Type: domain.EventFetched}}))(t, domain.CodeInvalid)
		world.Equal(t, domain.StatusUnsynched, w.Get(third.ID).Status)
	})
	world.Run(t, open, "an event that lacks what its type demands is refused", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		for _, change := range []func(*domain.Event){
			func(ev *domain.Event) { ev.Type = domain.EventFetched },
			func(ev *domain.Event) { ev.DatasourceID = "" },
			func(ev *domain.Event) { ev.JobID = "" },
			func(ev *domain.Event) { ev.Links = make([]domain.Link, domain.MaxLinksPerEvent+1) },
		} {
			world.Refused(w.Apply(w.Ctx, w.Event(d, domain.EventRunning, change)))(t, domain.CodeInvalid)
		}
	})
	world.Run(t, open, "an unknown type of event changes nothing", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		done := w.ApplyEvent(d, "renamed")
		world.Equal(t, false, done.Changed)
		world.Equal(t, d, w.Get(d.ID))
	})
}

// sameEnd requires that two datasources ended up in the same state, ignoring workspaces, datastores, job ids and
// originals. Times may differ by less than a second.
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
