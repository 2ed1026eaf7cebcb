package catalogtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// Destinations for moves.
var (
	placeB = domain.Place{Engine: domain.EngineMilvus, Model: "model-2"}
	placeC = domain.Place{Engine: domain.EngineMilvus, Model: "model-3"}
)

// setPlace changes the datastore's place and returns the updated datastore.
func setPlace(w *world.World, to domain.Place) domain.Datastore {
	w.T.Helper()
	d := world.Must(w.UpdateDatastore(w.Ctx, w.WS, w.StoreID, domain.DatastorePatch{Type: &to.Engine, EmbeddingModel: &to.Model}))(w.T)
	return d
}

func readDatastore(w *world.World) domain.Datastore {
	w.T.Helper()
	d := world.Must(w.DatastoreByID(w.Ctx, w.StoreID))(w.T)
	return d
}

// issue queues the move's jobs, publishes them and returns them.
func issue(w *world.World, move *domain.Move) []domain.Job {
	w.T.Helper()
	world.Must(w.IssueMoves(w.Ctx, w.StoreID, move.ID, 1000))(w.T)
	return w.PublishAll()
}

func progress(w *world.World) domain.MoveProgress {
	w.T.Helper()
	p := world.Must(w.MoveProgress(w.Ctx, w.StoreID))(w.T)
	return p
}

func finish(w *world.World, moveID string) bool {
	w.T.Helper()
	switched := world.Must(w.FinishMove(w.Ctx, w.StoreID, moveID))(w.T)
	return switched
}

// sweptPlaces maps each place with a queued sweep of the whole datastore to the sweep's Below: the sweep deletes only
// generations lower than this.
func sweptPlaces(w *world.World) map[domain.Place]uint64 {
	w.T.Helper()
	out := map[domain.Place]uint64{}
	for _, s := range w.AllSweeps() {
		if s.DatasourceID == "" {
			out[s.Place] = s.Below
		}
	}
	return out
}

func testMoves(t *testing.T, open world.Open) {
	world.Run(t, open, "an empty datastore is at once where it was sent", func(t *testing.T, w *world.World) {
		d := setPlace(w, placeB)
		world.Equal(t, placeB, d.Serving())
		world.Equal(t, (*domain.Move)(nil), d.Move)
		world.Equal(t, d, readDatastore(w))
		p := world.Must(w.ServingPlace(w.Ctx, w.StoreID))(t)
		world.Equal(t, placeB, p)
	})
	world.Run(t, open, "a patch that names the serving place, or the one the datastore moves to, changes nothing about it", func(t *testing.T, w *world.World) {
		w.Synch(w.CreateFile().ID)
		world.Equal(t, (*domain.Move)(nil), setPlace(w, world.Serving).Move)
		world.Equal(t, 0, len(w.AllSweeps()))
		begun := setPlace(w, placeB)
		world.Equal(t, begun.Move, setPlace(w, placeB).Move)
		named := world.Must(w.UpdateDatastore(w.Ctx, w.WS, w.StoreID, domain.DatastorePatch{Name: new("other")}))(t)
		world.Equal(t, begun.Move, named.Move)
	})
	world.Run(t, open, "a move is known to the mover, with what generations there were", func(t *testing.T, w *world.World) {
		w.Synch(w.CreateFile().ID)
		d := setPlace(w, placeB)
		world.Equal(t, world.Serving, d.Serving())
		world.Equal(t, domain.Move{ID: d.Move.ID, To: placeB, Since: w.Seq, StartedAt: d.UpdatedAt}, *d.Move)
		moving := world.Must(w.Moving(w.Ctx))(t)
		world.Equal(t, []domain.Datastore{d}, moving)
		world.Equal(t, d, readDatastore(w))
	})
	world.Run(t, open, "a move within bounds issues no jobs while those of enough chunks are unfinished", func(t *testing.T, w *world.World) {
		for range 4 {
			w.CreateFile()
		}
		for _, j := range w.PublishAll() {
			w.End(j, domain.EventSynched, world.Chunks(5))
		}
		move := setPlace(w, placeB).Move
		within := func(chunks int64) int {
			return world.Must(w.IssueMovesWithin(w.Ctx, w.StoreID, move.ID, 1000, chunks))(t)
		}
		world.Equal(t, 2, within(6))
		world.Equal(t, 0, within(6))
		jobs := w.PublishAll()
		world.Equal(t, 0, within(10))
		w.End(jobs[0], domain.EventError)
		world.Equal(t, 1, within(10))
		w.End(jobs[1], domain.EventSynched, world.Chunks(5))
		world.Equal(t, 0, within(5))
		world.Equal(t, 1, within(1000))
	})
	world.Run(t, open, "a datastore is settled while no content is waiting, new or being moved", func(t *testing.T, w *world.World) {
		settled := func(since time.Time) (ids []string) {
			stores, next, err := w.SettledDatastores(w.Ctx, world.Serving.Model, since, "", 10)
			if err != nil || next != "" {
				t.Fatalf("continue after %q, error %v", next, err)
			}
			for _, d := range stores {
				ids = append(ids, d.ID)
			}
			return ids
		}
		later := time.Now().Add(time.Hour)
		world.Equal(t, []string(nil), settled(later))
		d := w.CreateFile()
		world.Equal(t, []string(nil), settled(later))
		jobs := w.PublishAll()
		world.Equal(t, []string(nil), settled(later))
		w.End(jobs[0], domain.EventSynched, world.Chunks(5))
		world.Equal(t, []string{w.StoreID}, settled(later))
		world.Equal(t, []string(nil), settled(d.CreatedAt.Add(-time.Millisecond)))
		stores, next, err := w.SettledDatastores(w.Ctx, world.Serving.Model, later, "", 1)
		if err != nil || len(stores) != 1 || next != w.StoreID {
			t.Errorf("%d datastores, continue after %q, error %v", len(stores), next, err)
		}
		if stores, _, err := w.SettledDatastores(w.Ctx, placeB.Model, later, "", 10); err != nil || len(stores) != 0 {
			t.Errorf("%d datastores with another model, error %v", len(stores), err)
		}
		if stores, _, err := w.SettledDatastores(w.Ctx, world.Serving.Model, later, w.StoreID, 10); err != nil || len(stores) != 0 {
			t.Errorf("%d datastores after the last one, error %v", len(stores), err)
		}
		setPlace(w, placeB)
		world.Equal(t, []string(nil), settled(later))
	})
	world.Run(t, open, "what readers see is taken along, and then all of it is served from the new place at once", func(t *testing.T, w *world.World) {
		first, second := w.Synch(w.CreateFile().ID), w.Synch(w.CreateFile().ID)
		move := setPlace(w, placeB).Move
		world.Equal(t, domain.MoveProgress{Total: 2}, progress(w))
		jobs := issue(w, move)
		world.Equal(t, 2, len(jobs))
		for _, j := range jobs {
			world.Equal(t, []domain.Place{placeB}, j.Places)
			world.Equal(t, move.ID, j.Move)
			world.Equal(t, world.Serving, j.Previous.Place)
		}
		again := world.Must(w.IssueMoves(w.Ctx, w.StoreID, move.ID, 10))(t)
		world.Equal(t, 0, again)
		w.ClearSweeps()
		w.End(jobs[0], domain.EventSynched, world.Chunks(5))
		world.Equal(t, domain.MoveProgress{Total: 2, Done: 1}, progress(w))
		world.Equal(t, false, finish(w, move.ID))
		a := w.ActiveOne(first.ID)
		world.Equal(t, []any{world.Serving, first.ActiveGeneration}, []any{a.Place, a.ActiveGeneration})
		w.End(jobs[1], domain.EventSynched, world.Chunks(5))
		world.Equal(t, false, finish(w, "another move"))
		world.Equal(t, true, finish(w, move.ID))
		world.Equal(t, false, finish(w, move.ID))
		for i, id := range []string{jobs[0].DatasourceID, jobs[1].DatasourceID} {
			a := w.ActiveOne(id)
			world.Equal(t, []any{placeB, jobs[i].Generation}, []any{a.Place, a.ActiveGeneration})
			got := w.Get(id)
			world.Equal(t, []any{domain.StatusSynched, int64(5), int64(500), (*domain.Target)(nil), (*domain.Resume)(nil), ""},
				[]any{got.Status, got.Chunks, got.TextBytes, got.Target, got.Resume, got.MoveID})
		}
		d := readDatastore(w)
		world.Equal(t, []any{placeB, move.Since, (*domain.Move)(nil)}, []any{d.Serving(), d.Since, d.Move})
		world.Equal(t, map[domain.Place]uint64{world.Serving: w.Seq + 1}, sweptPlaces(w))
		world.Equal(t, second.Name, w.Get(second.ID).Name)
	})
	world.Run(t, open, "jobs of a move come last, at most as many as requested", func(t *testing.T, w *world.World) {
		for range 3 {
			w.Synch(w.CreateFile().ID)
		}
		move := setPlace(w, placeB).Move
		n := world.Must(w.IssueMoves(w.Ctx, w.StoreID, move.ID, 2))(t)
		world.Equal(t, 2, n)
		upload := w.CreateFile()
		world.Equal(t, upload.ID, w.OutboxIDs()[0])
		n = world.Must(w.IssueMoves(w.Ctx, w.StoreID, "another move", 2))(t)
		world.Equal(t, 0, n)
	})
	world.Run(t, open, "fresh content goes to both places and holds nothing up", func(t *testing.T, w *world.World) {
		old := w.Synch(w.CreateFile().ID)
		move := setPlace(w, placeB).Move
		fresh := w.CreateFile()
		jobs := w.PublishAll()
		world.Equal(t, []domain.Place{world.Serving, placeB}, jobs[0].Places)
		w.End(jobs[0], domain.EventSynched, world.Chunks(1))
		world.Equal(t, domain.MoveProgress{Total: 2, Done: 1}, progress(w))
		w.End(issue(w, move)[0], domain.EventSynched)
		waiting := w.CreateFile() // without active content
		world.Equal(t, true, finish(w, move.ID))
		world.Equal(t, jobs[0].Generation, w.ActiveOne(fresh.ID).ActiveGeneration)
		world.Equal(t, uint64(0), w.ActiveOne(waiting.ID).ActiveGeneration)
		w.ClearSweeps()
		w.End(w.PublishAll()[0], domain.EventSynched)
		world.Equal(t, w.Seq, w.ActiveOne(waiting.ID).ActiveGeneration)
		world.Equal(t, w.Seq+1, w.AllSweeps()[0].Below) // sweeps the rows of `waiting` from the old place
		world.Equal(t, world.Serving, w.AllSweeps()[0].Place)
		world.Equal(t, domain.StatusSynched, w.Get(old.ID).Status)
	})
	world.Run(t, open, "content replaced during its move job is moved in its new version", func(t *testing.T, w *world.World) {
		d := w.Synch(w.CreateFile().ID)
		move := setPlace(w, placeB).Move
		late := issue(w, move)[0]
		world.Must(w.ReplaceContent(w.Ctx, w.WS, d.ID, catalog.Replacement{Original: domain.Original{Key: "new"}, Job: domain.Job{ID: domain.NewID()}}))(t)
		fresh := w.PublishAll()[0]
		world.Equal(t, []domain.Place{world.Serving, placeB}, fresh.Places)
		w.End(fresh, domain.EventSynched)
		w.End(late, domain.EventSynched)
		world.Equal(t, true, finish(w, move.ID))
		world.Equal(t, fresh.Generation, w.ActiveOne(d.ID).ActiveGeneration)
	})
	world.Run(t, open, "content that became newer than what arrived is asked for again", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		before := w.PublishAll()[0] // accepted before the move
		w.End(before, domain.EventSynched)
		world.Must(w.Requeue(w.Ctx, w.WS, d.ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityFresh))(t)
		move := setPlace(w, placeB).Move
		issued := world.Must(w.IssueMoves(w.Ctx, w.StoreID, move.ID, 10))(t)
		world.Equal(t, 0, issued) // the datasource is still waiting for another job
		w.End(w.PublishAll()[0], domain.EventSynched)
		w.End(issue(w, move)[0], domain.EventSynched)
		world.Equal(t, true, finish(w, move.ID))
	})
	world.Run(t, open, "a datasource that cannot be moved blocks the move and says why, until it is synched again or deleted", func(t *testing.T, w *world.World) {
		first, second := w.Synch(w.CreateFile().ID), w.Synch(w.CreateFile().ID)
		move := setPlace(w, placeB).Move
		for _, j := range issue(w, move) {
			w.End(j, domain.EventError, func(ev *domain.Event) { ev.Error = "the model refuses it" })
		}
		p := progress(w)
		world.Equal(t, []any{int64(2), int64(0), int64(2)}, []any{p.Total, p.Done, p.Failed})
		world.Equal(t, "The document could not be moved to milvus with model-2: the model refuses it", p.Cause)
		world.Equal(t, first.ActiveGeneration, w.ActiveOne(first.ID).ActiveGeneration)
		world.Equal(t, 0, len(issue(w, move)))
		world.Equal(t, false, finish(w, move.ID))
		world.Must(w.Requeue(w.Ctx, w.WS, first.ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest, Force: true}, catalog.PriorityFresh))(t)
		world.Equal(t, (*domain.Resume)(nil), w.Get(first.ID).Resume)
		w.End(w.PublishAll()[0], domain.EventSynched)
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, second.ID))(t)
		world.Equal(t, domain.MoveProgress{Total: 1, Done: 1}, progress(w))
		world.Equal(t, true, finish(w, move.ID))
	})
	world.Run(t, open, "cancelling leaves readers alone, heals what failed, takes back what waits, and sweeps the place", func(t *testing.T, w *world.World) {
		var made []domain.Datasource
		for range 4 {
			made = append(made, w.Synch(w.CreateFile().ID))
		}
		broken := world.Must(w.Requeue(w.Ctx, w.WS, made[3].ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityFresh))(t)
		w.PublishAll()
		w.ApplyEvent(broken, domain.EventError, func(ev *domain.Event) { ev.Error = "encrypted" })
		move := setPlace(w, placeB).Move
		n := world.Must(w.IssueMoves(w.Ctx, w.StoreID, move.ID, 10))(t)
		world.Equal(t, 4, n)
		queued := world.Must(w.Outbox(w.Ctx, 10))(t)
		byID := map[string]domain.Job{}
		for i, j := range queued {
			j.Generation = w.Seq + uint64(i) + 1
			byID[j.DatasourceID] = j
		}
		w.Seq += 4
		flying, failed, arrived := byID[made[0].ID], byID[made[1].ID], byID[made[2].ID]
		world.OK(t, w.PublishedAll(w.Ctx, []domain.Job{flying, failed, arrived}))
		w.End(failed, domain.EventError)
		w.End(arrived, domain.EventSynched)
		w.ClearSweeps()
		world.Equal(t, (*domain.Move)(nil), setPlace(w, world.Serving).Move)
		world.Equal(t, map[domain.Place]uint64{placeB: w.Seq}, sweptPlaces(w)) // the fourth job was never published
		world.Equal(t, []string{}, w.OutboxIDs())
		for i, want := range []domain.Status{domain.StatusPending, domain.StatusSynched, domain.StatusSynched, domain.StatusError} {
			got := w.Get(made[i].ID)
			world.Equal(t, want, got.Status)
			world.Equal(t, []any{(*domain.Target)(nil), ""}, []any{got.Target, got.MoveID})
			world.Equal(t, made[i].ActiveGeneration, w.ActiveOne(made[i].ID).ActiveGeneration)
		}
		world.Equal(t, "encrypted", w.Get(made[3].ID).Error)
		w.ClearSweeps()
		w.End(flying, domain.EventSynched)
		world.Equal(t, domain.StatusSynched, w.Get(made[0].ID).Status)
		world.Equal(t, made[0].ActiveGeneration, w.ActiveOne(made[0].ID).ActiveGeneration)
		world.Equal(t, placeB, w.AllSweeps()[0].Place)
		world.Equal(t, flying.Generation+1, w.AllSweeps()[0].Below)
		w.End(byID[made[3].ID], domain.EventSynched) // as if the fourth job had been published after all
		world.Equal(t, domain.StatusError, w.Get(made[3].ID).Status)
		world.Equal(t, int64(0), w.CountInFlight())
	})
	world.Run(t, open, "a third place replaces the target", func(t *testing.T, w *world.World) {
		d := w.Synch(w.CreateFile().ID)
		first := setPlace(w, placeB).Move
		late := issue(w, first)[0]
		w.ClearSweeps()
		second := setPlace(w, placeC).Move
		world.Equal(t, placeC, second.To)
		world.Equal(t, true, first.ID != second.ID)
		world.Equal(t, map[domain.Place]uint64{placeB: w.Seq + 1, placeC: w.Seq + 1}, sweptPlaces(w))
		world.Equal(t, 0, len(issue(w, second))) // the datasource's job from the first move is still running
		w.End(late, domain.EventSynched)
		world.Equal(t, false, finish(w, first.ID))
		world.Equal(t, domain.MoveProgress{Total: 1}, progress(w))
		w.End(issue(w, second)[0], domain.EventSynched)
		world.Equal(t, true, finish(w, second.ID))
		a := w.ActiveOne(d.ID)
		world.Equal(t, []any{placeC, w.Seq}, []any{a.Place, a.ActiveGeneration})
	})
	world.Run(t, open, "a move there and back ends in the first place, with the rebuilt content", func(t *testing.T, w *world.World) {
		d := w.Synch(w.CreateFile().ID)
		for _, to := range []domain.Place{placeB, world.Serving, placeB} {
			move := setPlace(w, to).Move
			for _, j := range issue(w, move) {
				w.End(j, domain.EventSynched)
			}
			world.Equal(t, true, finish(w, move.ID))
			a := w.ActiveOne(d.ID)
			world.Equal(t, []any{to, w.Seq}, []any{a.Place, a.ActiveGeneration})
		}
	})
	world.Run(t, open, "a lost job of a move is issued again as one", func(t *testing.T, w *world.World) {
		d := w.Synch(w.CreateFile().ID)
		move := setPlace(w, placeB).Move
		issue(w, move)
		w.Clock.Advance(1e12)
		stuck := w.StuckFor(1e9)
		world.Equal(t, 1, len(stuck))
		world.Equal(t, move.ID, stuck[0].Job.Move)
		done := world.Must(w.Reissue(w.Ctx, d.ID, w.Get(d.ID).JobID, stuck[0].Job))(t)
		world.Equal(t, true, done)
		j := w.PublishAll()[0]
		world.Equal(t, []any{move.ID, []domain.Place{placeB}}, []any{j.Move, j.Places})
		w.End(j, domain.EventSynched)
		world.Equal(t, domain.StatusSynched, w.Get(d.ID).Status)
		world.Equal(t, true, finish(w, move.ID))
	})
	world.Run(t, open, "a site does not notice that its pages move, nor that one cannot", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA, world.PageB)
		w.PublishAll()
		for _, url := range []string{world.PageA, world.PageB} {
			w.ApplyEvent(w.PageAt(site, url), domain.EventFetched, world.Fetched(url))
			w.Synch(w.PageAt(site, url).ID)
		}
		w.ApplyEvent(site, domain.EventSynched)
		before := w.Get(site.ID)
		world.Equal(t, domain.StatusSynched, before.Status)
		jobs := issue(w, setPlace(w, placeB).Move)
		world.Equal(t, 2, len(jobs))
		w.End(jobs[0], domain.EventSynched)
		world.Equal(t, domain.StatusSynched, w.Get(site.ID).Status)
		w.End(jobs[1], domain.EventError)
		after := w.Get(site.ID)
		world.Equal(t, []any{before.Status, before.Warnings, before.LastSynch}, []any{after.Status, after.Warnings, after.LastSynch})
	})
	world.RunLong(t, open, "a move takes hundreds of datasources along", func(t *testing.T, w *world.World) {
		var in []catalog.NewDatasource
		for i := range 300 {
			in = append(in, w.File(func(n *catalog.NewDatasource) { n.Datasource.Name = fmt.Sprint(i) }))
		}
		w.Create(in...)
		for _, j := range w.PublishAll() {
			w.End(j, domain.EventSynched)
		}
		move := setPlace(w, placeB).Move
		for _, j := range issue(w, move) {
			w.End(j, domain.EventSynched)
		}
		world.Equal(t, domain.MoveProgress{Total: 300, Done: 300}, progress(w))
		world.Equal(t, true, finish(w, move.ID))
	})
}
