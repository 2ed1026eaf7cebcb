package catalogtest

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// foreign creates a datastore in another workspace. The returned option puts a new file into that datastore.
func foreign(w *world.World) func(*catalog.NewDatasource) {
	w.T.Helper()
	ws := w.NewWorkspace()
	store := w.NewDatastore(ws).ID
	return func(n *catalog.NewDatasource) { n.Datasource.WorkspaceID, n.Datasource.DatastoreID = ws, store }
}

func replay(n *catalog.NewDatasource) { n.Priority = catalog.PriorityReplay }

func testOutbox(t *testing.T, open world.Open) {
	world.Run(t, open, "workspaces take turns, each with its oldest first, and fresh content goes before replays", func(t *testing.T, w *world.World) {
		other := foreign(w)
		r := w.CreateFile(replay)
		a1, a2, a3 := w.CreateFile(), w.CreateFile(), w.CreateFile()
		b1 := w.CreateFile(other)
		br := w.CreateFile(other, replay)
		got := w.OutboxIDs()
		position := map[string]int{}
		for i, id := range got {
			position[id] = i
		}
		world.Equal(t, 6, len(position))
		world.Equal(t, true, position[b1.ID] <= 1)
		world.Equal(t, true, position[a1.ID] < position[a2.ID] && position[a2.ID] < position[a3.ID] && position[a3.ID] == 3)
		world.Equal(t, true, position[r.ID] >= 4 && position[br.ID] >= 4)
	})
	world.Run(t, open, "the turn goes on between calls, so that a limit of 1 is fair", func(t *testing.T, w *world.World) {
		owner := map[string]string{}
		for _, change := range []func(*catalog.NewDatasource){func(*catalog.NewDatasource) {}, foreign(w), foreign(w)} {
			for range 3 {
				d := w.CreateFile(change)
				owner[d.ID] = d.WorkspaceID
			}
		}
		for range 3 {
			turn := map[string]bool{}
			for range 3 {
				jobs := world.Must(w.Outbox(w.Ctx, 1))(t)
				world.Equal(t, 1, len(jobs))
				turn[owner[jobs[0].DatasourceID]] = true
				w.Seq++
				world.OK(t, w.Published(w.Ctx, jobs[0], w.Seq))
			}
			world.Equal(t, 3, len(turn))
		}
	})
	world.Run(t, open, "each workspace leaves room in the window to others", func(t *testing.T, w *world.World) {
		others := []func(*catalog.NewDatasource){func(*catalog.NewDatasource) {}, foreign(w), foreign(w)}
		publish := func() (taken map[string]int) {
			taken = map[string]int{}
			inFlight := world.Must(w.InFlightByWorkspace(w.Ctx))(t)
			window := pipeline.NewWindow(10, 0.5, inFlight.Other)
			jobs := world.Must(w.Next(w.Ctx, window, 100))(t)
			for _, job := range jobs {
				taken[job.WorkspaceID]++
				w.Seq++
				world.OK(t, w.Published(w.Ctx, job, w.Seq))
			}
			return taken
		}
		for n, want := range []int{7, 2, 1} { // with room for 10, 3 and 1 jobs in the window
			var workspace string
			for range 20 {
				workspace = w.CreateFile(others[n]).WorkspaceID
			}
			taken := publish()
			world.Equal(t, want, taken[workspace])
			world.Equal(t, 1, len(taken))
			world.Equal(t, 0, len(publish()))
		}
	})
	world.Run(t, open, "a workspace with much fills what others leave, and no job is offered twice", func(t *testing.T, w *world.World) {
		other := foreign(w)
		var in []catalog.NewDatasource
		for range 20 {
			in = append(in, w.File())
		}
		w.Create(in...)
		w.CreateFile(other)
		jobs := world.Must(w.Outbox(w.Ctx, 10))(t)
		world.Equal(t, 10, len(jobs))
		world.Equal(t, 10, len(lists.Set(lists.Map(jobs, func(j domain.Job) string { return j.ID }))))
		world.Equal(t, 21, len(w.OutboxIDs()))
	})
	world.Run(t, open, "an upload passes a replay of its own workspace", func(t *testing.T, w *world.World) {
		w.CreateFile(replay)
		w.CreateFile(replay)
		upload := w.CreateFile()
		jobs := world.Must(w.Outbox(w.Ctx, 1))(t)
		world.Equal(t, upload.ID, jobs[0].DatasourceID)
	})
	world.Run(t, open, "a newer job replaces the one that waits and keeps its place", func(t *testing.T, w *world.World) {
		first, second := w.CreateFile(), w.CreateFile()
		old := world.Must(w.Outbox(w.Ctx, 1))(t)
		newer := domain.NewIngestJob(first, w.Settled())
		world.Must(w.Requeue(w.Ctx, w.WS, first.ID, newer, catalog.PriorityReplay))(t)
		world.Equal(t, []string{first.ID, second.ID}, w.OutboxIDs())
		world.OK(t, w.Published(w.Ctx, old[0], 1))
		world.Equal(t, []string{first.ID, second.ID}, w.OutboxIDs())
		world.Equal(t, domain.StatusUnsynched, w.Get(first.ID).Status)
		world.Equal(t, int64(0), w.CountInFlight())
	})
	world.Run(t, open, "a published job leaves the outbox, its datasource is pending and in flight", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		world.Equal(t, []string{}, w.OutboxIDs())
		world.Equal(t, domain.StatusPending, w.Get(d.ID).Status)
		world.Equal(t, int64(1), w.CountInFlight())
	})
	world.Run(t, open, "publishing twice changes nothing more", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		jobs := w.PublishAll()
		w.ApplyEvent(w.Get(d.ID), domain.EventSynched, world.Chunks(1))
		world.OK(t, w.PublishedAll(w.Ctx, jobs))
		world.Equal(t, domain.StatusSynched, w.Get(d.ID).Status)
		world.Equal(t, int64(0), w.CountInFlight())
	})
	world.Run(t, open, "an event that overtakes Published leaves nothing in flight", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		jobs := world.Must(w.Outbox(w.Ctx, 1))(t)
		w.ApplyEvent(d, domain.EventRunning)
		world.Equal(t, domain.StatusRunning, w.Get(d.ID).Status)
		w.ApplyEvent(d, domain.EventSynched, func(ev *domain.Event) { ev.Generation = 5 })
		world.Equal(t, []string{}, w.OutboxIDs())
		world.OK(t, w.Published(w.Ctx, jobs[0], 5))
		world.Equal(t, domain.StatusSynched, w.Get(d.ID).Status)
		world.Equal(t, int64(0), w.CountInFlight())
	})
	world.Run(t, open, "a running that overtakes Published is not taken back to pending", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.ApplyEvent(d, domain.EventRunning)
		w.PublishAll()
		world.Equal(t, domain.StatusRunning, w.Get(d.ID).Status)
		world.Equal(t, int64(1), w.CountInFlight())
	})
	world.Run(t, open, "a replaced job in flight no longer counts as in flight", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		world.Must(w.Requeue(w.Ctx, w.WS, d.ID, domain.NewIngestJob(d, w.Settled()), catalog.PriorityFresh))(t)
		world.Equal(t, int64(0), w.CountInFlight())
	})
	world.Run(t, open, "a deferred job waits without standing in the way, until its time or a newer job", func(t *testing.T, w *world.World) {
		first, second := w.CreateFile(), w.CreateFile()
		jobs := world.Must(w.Outbox(w.Ctx, 1))(t)
		world.OK(t, w.DeferJob(w.Ctx, jobs[0], w.Clock.Now().Add(time.Minute)))
		world.Equal(t, []string{second.ID}, w.OutboxIDs())
		w.Clock.Advance(time.Minute)
		world.Equal(t, []string{second.ID, first.ID}, w.OutboxIDs())
		world.OK(t, w.DeferJob(w.Ctx, jobs[0], w.Clock.Now().Add(time.Minute)))
		world.Must(w.Requeue(w.Ctx, w.WS, first.ID, domain.NewIngestJob(first, w.Settled()), catalog.PriorityFresh))(t)
		world.Equal(t, []string{first.ID, second.ID}, w.OutboxIDs())
	})
	world.Run(t, open, "a workspace whose jobs are all deferred hides no other", func(t *testing.T, w *world.World) {
		due := w.CreateFile()
		for range 3 {
			d := w.CreateFile(foreign(w))
			world.OK(t, w.DeferJob(w.Ctx, domain.Job{ID: d.JobID, DatasourceID: d.ID}, w.Clock.Now().Add(time.Hour)))
		}
		for range 4 {
			jobs := world.Must(w.Outbox(w.Ctx, 1))(t)
			world.Equal(t, 1, len(jobs))
			world.Equal(t, due.ID, jobs[0].DatasourceID)
		}
	})
	world.Run(t, open, "a commit that puts a job into the outbox wakes, one that does not stays silent", func(t *testing.T, w *world.World) {
		<-w.OutboxWake() // the signal sent on opening
		NewAgent(w)
		select {
		case <-w.OutboxWake():
			t.Fatal("woken by an agent")
		default:
		}
		d := w.CreateFile()
		<-w.OutboxWake()
		w.PublishAll()
		w.ApplyEvent(d, domain.EventFetched, world.Fetched("page"))
		<-w.OutboxWake()
	})
	world.Run(t, open, "the end of a job in the stream wakes, once, as its place is free", func(t *testing.T, w *world.World) {
		done, failed := w.CreateFile(), w.CreateFile()
		w.PublishAll()
		<-w.OutboxWake() // a single signal for opening and both commits
		w.ApplyEvent(done, domain.EventProgress)
		silent := func(after string) {
			t.Helper()
			select {
			case <-w.OutboxWake():
				t.Errorf("woken by %s", after)
			default:
			}
		}
		silent("progress")
		w.ApplyEvent(done, domain.EventSynched, world.Chunks(2))
		<-w.OutboxWake()
		w.ApplyEvent(done, domain.EventSynched, world.Chunks(2))
		silent("an end that was known")
		w.ApplyEvent(failed, domain.EventError)
		<-w.OutboxWake()
	})
	world.Run(t, open, "the highest generation is kept though its datasource is deleted", func(t *testing.T, w *world.World) {
		g := world.Must(w.MaxGeneration(w.Ctx))(t)
		world.Equal(t, uint64(0), g)
		d := w.CreateFile()
		jobs := world.Must(w.Outbox(w.Ctx, 1))(t)
		world.OK(t, w.Published(w.Ctx, jobs[0], 40))
		w.ApplyEvent(d, domain.EventSynched, func(ev *domain.Event) { ev.Generation = 44 })
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, d.ID))(t)
		g = world.Must(w.MaxGeneration(w.Ctx))(t)
		world.Equal(t, uint64(44), g)
	})
}
