package catalogtest

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// foreign makes a workspace with a datastore and returns what turns a new file into one of it.
func (w *world) foreign() func(*catalog.NewDatasource) {
	w.t.Helper()
	ws := w.workspace()
	store := w.datastore(ws).ID
	return func(n *catalog.NewDatasource) { n.Datasource.WorkspaceID, n.Datasource.DatastoreID = ws, store }
}

func replay(n *catalog.NewDatasource) { n.Priority = catalog.PriorityReplay }

func testOutbox(t *testing.T, open Open) {
	t.Run("workspaces take turns, each with its oldest first, and fresh content goes before replays", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		other := w.foreign()
		r := w.createFile(replay)
		a1, a2, a3 := w.createFile(), w.createFile(), w.createFile()
		b1 := w.createFile(other)
		br := w.createFile(other, replay)
		got := w.outbox()
		position := map[string]int{}
		for i, id := range got {
			position[id] = i
		}
		equal(t, 6, len(position))
		equal(t, true, position[b1.ID] <= 1)
		equal(t, true, position[a1.ID] < position[a2.ID] && position[a2.ID] < position[a3.ID] && position[a3.ID] == 3)
		equal(t, true, position[r.ID] >= 4 && position[br.ID] >= 4)
	})
	t.Run("the turn goes on between calls, so that a limit of 1 is fair", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		owner := map[string]string{}
		for _, change := range []func(*catalog.NewDatasource){func(*catalog.NewDatasource) {}, w.foreign(), w.foreign()} {
			for range 3 {
				d := w.createFile(change)
				owner[d.ID] = d.WorkspaceID
			}
		}
		for range 3 {
			turn := map[string]bool{}
			for range 3 {
				jobs, err := w.Outbox(w.ctx, 1)
				ok(t, err)
				equal(t, 1, len(jobs))
				turn[owner[jobs[0].DatasourceID]] = true
				w.seq++
				ok(t, w.Published(w.ctx, jobs[0], w.seq))
			}
			equal(t, 3, len(turn))
		}
	})
	t.Run("a workspace with much fills what others leave, and no job is offered twice", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		other := w.foreign()
		var in []catalog.NewDatasource
		for range 20 {
			in = append(in, w.file())
		}
		w.create(in...)
		w.createFile(other)
		jobs, err := w.Outbox(w.ctx, 10)
		ok(t, err)
		equal(t, 10, len(jobs))
		equal(t, 10, len(asSet(ids(jobs, func(j domain.Job) string { return j.ID }))))
		equal(t, 21, len(w.outbox()))
	})
	t.Run("an upload passes a replay of its own workspace", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		w.createFile(replay)
		w.createFile(replay)
		upload := w.createFile()
		jobs, err := w.Outbox(w.ctx, 1)
		ok(t, err)
		equal(t, upload.ID, jobs[0].DatasourceID)
	})
	t.Run("a newer job replaces the one that waits and keeps its place", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first, second := w.createFile(), w.createFile()
		old, err := w.Outbox(w.ctx, 1)
		ok(t, err)
		newer := domain.NewIngestJob(first, w.settled())
		_, err = w.Requeue(w.ctx, w.ws, first.ID, newer, catalog.PriorityReplay)
		ok(t, err)
		equal(t, []string{first.ID, second.ID}, w.outbox())
		ok(t, w.Published(w.ctx, old[0], 1))
		equal(t, []string{first.ID, second.ID}, w.outbox())
		equal(t, domain.StatusUnsynched, w.get(first.ID).Status)
		equal(t, int64(0), w.inFlight())
	})
	t.Run("a published job leaves the outbox, its datasource is pending and in flight", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		equal(t, []string{}, w.outbox())
		equal(t, domain.StatusPending, w.get(d.ID).Status)
		equal(t, int64(1), w.inFlight())
	})
	t.Run("publishing twice changes nothing more", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		jobs := w.publishAll()
		w.apply(w.get(d.ID), domain.EventSynched, chunks(1))
		ok(t, w.PublishedAll(w.ctx, jobs))
		equal(t, domain.StatusSynched, w.get(d.ID).Status)
		equal(t, int64(0), w.inFlight())
	})
	t.Run("an event that overtakes Published leaves nothing in flight", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		jobs, err := w.Outbox(w.ctx, 1)
		ok(t, err)
		w.apply(d, domain.EventRunning)
		equal(t, domain.StatusRunning, w.get(d.ID).Status)
		w.apply(d, domain.EventSynched, func(ev *domain.Event) { ev.Generation = 5 })
		equal(t, []string{}, w.outbox())
		ok(t, w.Published(w.ctx, jobs[0], 5))
		equal(t, domain.StatusSynched, w.get(d.ID).Status)
		equal(t, int64(0), w.inFlight())
	})
	t.Run("a running that overtakes Published is not taken back to pending", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.apply(d, domain.EventRunning)
		w.publishAll()
		equal(t, domain.StatusRunning, w.get(d.ID).Status)
		equal(t, int64(1), w.inFlight())
	})
	t.Run("a replaced job in flight no longer counts as in flight", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		_, err := w.Requeue(w.ctx, w.ws, d.ID, domain.NewIngestJob(d, w.settled()), catalog.PriorityFresh)
		ok(t, err)
		equal(t, int64(0), w.inFlight())
	})
	t.Run("a deferred job waits without standing in the way, until its time or a newer job", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first, second := w.createFile(), w.createFile()
		jobs, err := w.Outbox(w.ctx, 1)
		ok(t, err)
		ok(t, w.DeferJob(w.ctx, jobs[0], w.clock.now().Add(time.Minute)))
		equal(t, []string{second.ID}, w.outbox())
		w.clock.advance(time.Minute)
		equal(t, []string{second.ID, first.ID}, w.outbox())
		ok(t, w.DeferJob(w.ctx, jobs[0], w.clock.now().Add(time.Minute)))
		_, err = w.Requeue(w.ctx, w.ws, first.ID, domain.NewIngestJob(first, w.settled()), catalog.PriorityFresh)
		ok(t, err)
		equal(t, []string{first.ID, second.ID}, w.outbox())
	})
	t.Run("a workspace whose jobs are all deferred hides no other", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		due := w.createFile()
		for range 3 {
			d := w.createFile(w.foreign())
			ok(t, w.DeferJob(w.ctx, domain.Job{ID: d.JobID, DatasourceID: d.ID}, w.clock.now().Add(time.Hour)))
		}
		for range 4 {
			jobs, err := w.Outbox(w.ctx, 1)
			ok(t, err)
			equal(t, 1, len(jobs))
			equal(t, due.ID, jobs[0].DatasourceID)
		}
	})
	t.Run("a commit that puts a job into the outbox wakes, one that does not stays silent", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		<-w.OutboxWake() // of opening
		w.agent()
		select {
		case <-w.OutboxWake():
			t.Fatal("woken by an agent")
		default:
		}
		d := w.createFile()
		<-w.OutboxWake()
		w.publishAll()
		w.apply(d, domain.EventFetched, fetched("page"))
		<-w.OutboxWake()
	})
	t.Run("the end of a job in the stream wakes, once, as its place is free", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		done, failed := w.createFile(), w.createFile()
		w.publishAll()
		<-w.OutboxWake() // of opening, and of both
		w.apply(done, domain.EventProgress)
		silent := func(after string) {
			t.Helper()
			select {
			case <-w.OutboxWake():
				t.Errorf("woken by %s", after)
			default:
			}
		}
		silent("progress")
		w.apply(done, domain.EventSynched, chunks(2))
		<-w.OutboxWake()
		w.apply(done, domain.EventSynched, chunks(2))
		silent("an end that was known")
		w.apply(failed, domain.EventError)
		<-w.OutboxWake()
	})
	t.Run("the highest generation is kept though its datasource is deleted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		g, err := w.MaxGeneration(w.ctx)
		ok(t, err)
		equal(t, uint64(0), g)
		d := w.createFile()
		jobs, err := w.Outbox(w.ctx, 1)
		ok(t, err)
		ok(t, w.Published(w.ctx, jobs[0], 40))
		w.apply(d, domain.EventSynched, func(ev *domain.Event) { ev.Generation = 44 })
		_, err = w.DeleteDatasource(w.ctx, w.ws, d.ID)
		ok(t, err)
		g, err = w.MaxGeneration(w.ctx)
		ok(t, err)
		equal(t, uint64(44), g)
	})
}
