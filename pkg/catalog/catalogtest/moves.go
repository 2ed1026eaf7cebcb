package catalogtest

import (
	"fmt"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// elsewhere is where the test's datastores move to, thither a third place.
var (
	elsewhere = domain.Place{Engine: domain.EngineMilvus, Model: "model-2"}
	thither   = domain.Place{Engine: domain.EngineMilvus, Model: "model-3"}
)

// send patches the datastore's place and returns the datastore as it is then.
func (w *world) send(to domain.Place) domain.Datastore {
	w.t.Helper()
	d, err := w.UpdateDatastore(w.ctx, w.ws, w.store, domain.DatastorePatch{Type: &to.Engine, EmbeddingModel: &to.Model})
	ok(w.t, err)
	return d
}

func (w *world) where() domain.Datastore {
	w.t.Helper()
	d, err := w.DatastoreByID(w.ctx, w.store)
	ok(w.t, err)
	return d
}

// issue has jobs of the move issued, and returns them as published.
func (w *world) issue(move *domain.Move) []domain.Job {
	w.t.Helper()
	_, err := w.IssueMoves(w.ctx, w.store, move.ID, 1000)
	ok(w.t, err)
	return w.publishAll()
}

// end plays the end of a published job.
func (w *world) end(j domain.Job, typ domain.EventType, change ...func(*domain.Event)) {
	w.t.Helper()
	ev := j.Event(typ, w.clock.now())
	for _, f := range change {
		f(&ev)
	}
	_, err := w.Apply(w.ctx, ev)
	ok(w.t, err)
}

func (w *world) progress() domain.MoveProgress {
	w.t.Helper()
	p, err := w.MoveProgress(w.ctx, w.store)
	ok(w.t, err)
	return p
}

func (w *world) finish(moveID string) bool {
	w.t.Helper()
	switched, err := w.FinishMove(w.ctx, w.store, moveID)
	ok(w.t, err)
	return switched
}

// clear forgets the sweeps that are queued.
func (w *world) clear() {
	w.t.Helper()
	for _, s := range w.sweeps() {
		ok(w.t, w.FinishSweep(w.ctx, s.ID))
	}
}

// sweptPlaces are the sweeps of the whole datastore that are queued, by place, with the generation they go to.
func (w *world) sweptPlaces() map[domain.Place]uint64 {
	w.t.Helper()
	out := map[domain.Place]uint64{}
	for _, s := range w.sweeps() {
		if s.DatasourceID == "" {
			out[s.Place] = s.Below
		}
	}
	return out
}

// active is what retrieval reads of a datasource.
func (w *world) active(id string) domain.ActiveDatasource {
	w.t.Helper()
	all, err := w.Active(w.ctx, []string{id})
	ok(w.t, err)
	return all[id]
}

func testMoves(t *testing.T, open Open) {
	t.Run("an empty datastore is at once where it was sent", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.send(elsewhere)
		equal(t, elsewhere, d.Serving())
		equal(t, (*domain.Move)(nil), d.Move)
		equal(t, d, w.where())
		p, err := w.ServingPlace(w.ctx, w.store)
		ok(t, err)
		equal(t, elsewhere, p)
	})
	t.Run("a patch that names the serving place, or the one the datastore moves to, changes nothing about it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		w.synch(w.createFile().ID)
		equal(t, (*domain.Move)(nil), w.send(serving).Move)
		equal(t, 0, len(w.sweeps()))
		begun := w.send(elsewhere)
		equal(t, begun.Move, w.send(elsewhere).Move)
		named, err := w.UpdateDatastore(w.ctx, w.ws, w.store, domain.DatastorePatch{Name: new("other")})
		ok(t, err)
		equal(t, begun.Move, named.Move)
	})
	t.Run("a move is known to the mover, with what generations there were", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		w.synch(w.createFile().ID)
		d := w.send(elsewhere)
		equal(t, serving, d.Serving())
		equal(t, domain.Move{ID: d.Move.ID, To: elsewhere, Since: w.seq, StartedAt: d.UpdatedAt}, *d.Move)
		moving, err := w.Moving(w.ctx)
		ok(t, err)
		equal(t, []domain.Datastore{d}, moving)
		equal(t, d, w.where())
	})
	t.Run("what readers see is taken along, and then all of it is served from the new place at once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first, second := w.synch(w.createFile().ID), w.synch(w.createFile().ID)
		move := w.send(elsewhere).Move
		equal(t, domain.MoveProgress{Total: 2}, w.progress())
		jobs := w.issue(move)
		equal(t, 2, len(jobs))
		for _, j := range jobs {
			equal(t, []domain.Place{elsewhere}, j.Places)
			equal(t, move.ID, j.Move)
			equal(t, serving, j.Previous.Place)
		}
		again, err := w.IssueMoves(w.ctx, w.store, move.ID, 10)
		ok(t, err)
		equal(t, 0, again)
		w.clear()
		w.end(jobs[0], domain.EventSynched, chunks(5))
		equal(t, domain.MoveProgress{Total: 2, Done: 1}, w.progress())
		equal(t, false, w.finish(move.ID))
		a := w.active(first.ID)
		equal(t, []any{serving, first.ActiveGeneration}, []any{a.Place, a.ActiveGeneration})
		w.end(jobs[1], domain.EventSynched, chunks(5))
		equal(t, false, w.finish("another move"))
		equal(t, true, w.finish(move.ID))
		equal(t, false, w.finish(move.ID))
		for i, id := range []string{jobs[0].DatasourceID, jobs[1].DatasourceID} {
			a := w.active(id)
			equal(t, []any{elsewhere, jobs[i].Generation}, []any{a.Place, a.ActiveGeneration})
			got := w.get(id)
			equal(t, []any{domain.StatusSynched, int64(5), int64(500), (*domain.Target)(nil), (*domain.Resume)(nil), ""},
				[]any{got.Status, got.Chunks, got.TextBytes, got.Target, got.Resume, got.MoveID})
		}
		d := w.where()
		equal(t, []any{elsewhere, move.Since, (*domain.Move)(nil)}, []any{d.Serving(), d.Since, d.Move})
		equal(t, map[domain.Place]uint64{serving: w.seq + 1}, w.sweptPlaces())
		equal(t, second.Name, w.get(second.ID).Name)
	})
	t.Run("jobs of a move go after everything else, and no more than asked for", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		for range 3 {
			w.synch(w.createFile().ID)
		}
		move := w.send(elsewhere).Move
		n, err := w.IssueMoves(w.ctx, w.store, move.ID, 2)
		ok(t, err)
		equal(t, 2, n)
		upload := w.createFile()
		equal(t, upload.ID, w.outbox()[0])
		n, err = w.IssueMoves(w.ctx, w.store, "another move", 2)
		ok(t, err)
		equal(t, 0, n)
	})
	t.Run("fresh content goes to both places and holds nothing up", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		old := w.synch(w.createFile().ID)
		move := w.send(elsewhere).Move
		fresh := w.createFile()
		jobs := w.publishAll()
		equal(t, []domain.Place{serving, elsewhere}, jobs[0].Places)
		w.end(jobs[0], domain.EventSynched, chunks(1))
		equal(t, domain.MoveProgress{Total: 2, Done: 1}, w.progress())
		w.end(w.issue(move)[0], domain.EventSynched)
		waiting := w.createFile() // readers see nothing of it yet
		equal(t, true, w.finish(move.ID))
		equal(t, jobs[0].Generation, w.active(fresh.ID).ActiveGeneration)
		equal(t, uint64(0), w.active(waiting.ID).ActiveGeneration)
		w.clear()
		w.end(w.publishAll()[0], domain.EventSynched)
		equal(t, w.seq, w.active(waiting.ID).ActiveGeneration)
		equal(t, w.seq+1, w.sweeps()[0].Below) // of what it wrote in the place that was left meanwhile
		equal(t, serving, w.sweeps()[0].Place)
		equal(t, domain.StatusSynched, w.get(old.ID).Status)
	})
	t.Run("what is replaced while its move job runs is moved with its new content", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.synch(w.createFile().ID)
		move := w.send(elsewhere).Move
		late := w.issue(move)[0]
		_, err := w.ReplaceContent(w.ctx, w.ws, d.ID, catalog.Replacement{Original: domain.Original{Key: "new"}, Job: domain.Job{ID: domain.NewID()}})
		ok(t, err)
		fresh := w.publishAll()[0]
		equal(t, []domain.Place{serving, elsewhere}, fresh.Places)
		w.end(fresh, domain.EventSynched)
		w.end(late, domain.EventSynched)
		equal(t, true, w.finish(move.ID))
		equal(t, fresh.Generation, w.active(d.ID).ActiveGeneration)
	})
	t.Run("content that became newer than what arrived is asked for again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		before := w.publishAll()[0] // accepted before the move
		w.end(before, domain.EventSynched)
		_, err := w.Requeue(w.ctx, w.ws, d.ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityFresh)
		ok(t, err)
		move := w.send(elsewhere).Move
		issued, err := w.IssueMoves(w.ctx, w.store, move.ID, 10)
		ok(t, err)
		equal(t, 0, issued) // it waits for another job
		w.end(w.publishAll()[0], domain.EventSynched)
		w.end(w.issue(move)[0], domain.EventSynched)
		equal(t, true, w.finish(move.ID))
	})
	t.Run("what cannot be moved holds the move and says why, until it is synched again or deleted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first, second := w.synch(w.createFile().ID), w.synch(w.createFile().ID)
		move := w.send(elsewhere).Move
		for _, j := range w.issue(move) {
			w.end(j, domain.EventError, func(ev *domain.Event) { ev.Error = "the model refuses it" })
		}
		p := w.progress()
		equal(t, []any{int64(2), int64(0), int64(2)}, []any{p.Total, p.Done, p.Failed})
		equal(t, "It cannot be moved to milvus with model-2: the model refuses it", p.Cause)
		equal(t, first.ActiveGeneration, w.active(first.ID).ActiveGeneration)
		equal(t, 0, len(w.issue(move)))
		equal(t, false, w.finish(move.ID))
		_, err := w.Requeue(w.ctx, w.ws, first.ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest, Force: true}, catalog.PriorityFresh)
		ok(t, err)
		equal(t, (*domain.Resume)(nil), w.get(first.ID).Resume)
		w.end(w.publishAll()[0], domain.EventSynched)
		_, err = w.DeleteDatasource(w.ctx, w.ws, second.ID)
		ok(t, err)
		equal(t, domain.MoveProgress{Total: 1, Done: 1}, w.progress())
		equal(t, true, w.finish(move.ID))
	})
	t.Run("cancelling leaves readers alone, heals what failed, takes back what waits, and sweeps the place", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		var made []domain.Datasource
		for range 4 {
			made = append(made, w.synch(w.createFile().ID))
		}
		broken, err := w.Requeue(w.ctx, w.ws, made[3].ID, domain.Job{ID: domain.NewID(), Kind: domain.JobIngest}, catalog.PriorityFresh)
		ok(t, err)
		w.publishAll()
		w.apply(broken, domain.EventError, func(ev *domain.Event) { ev.Error = "encrypted" })
		move := w.send(elsewhere).Move
		n, err := w.IssueMoves(w.ctx, w.store, move.ID, 10)
		ok(t, err)
		equal(t, 4, n)
		queued, err := w.Outbox(w.ctx, 10)
		ok(t, err)
		byID := map[string]domain.Job{}
		for i, j := range queued {
			j.Generation = w.seq + uint64(i) + 1
			byID[j.DatasourceID] = j
		}
		w.seq += 4
		flying, failed, arrived := byID[made[0].ID], byID[made[1].ID], byID[made[2].ID]
		ok(t, w.PublishedAll(w.ctx, []domain.Job{flying, failed, arrived}))
		w.end(failed, domain.EventError)
		w.end(arrived, domain.EventSynched)
		w.clear()
		equal(t, (*domain.Move)(nil), w.send(serving).Move)
		equal(t, map[domain.Place]uint64{elsewhere: w.seq}, w.sweptPlaces()) // the fourth job was never published
		equal(t, []string{}, w.outbox())
		for i, want := range []domain.Status{domain.StatusPending, domain.StatusSynched, domain.StatusSynched, domain.StatusError} {
			got := w.get(made[i].ID)
			equal(t, want, got.Status)
			equal(t, []any{(*domain.Target)(nil), ""}, []any{got.Target, got.MoveID})
			equal(t, made[i].ActiveGeneration, w.active(made[i].ID).ActiveGeneration)
		}
		equal(t, "encrypted", w.get(made[3].ID).Error)
		w.clear()
		w.end(flying, domain.EventSynched)
		equal(t, domain.StatusSynched, w.get(made[0].ID).Status)
		equal(t, made[0].ActiveGeneration, w.active(made[0].ID).ActiveGeneration)
		equal(t, elsewhere, w.sweeps()[0].Place)
		equal(t, flying.Generation+1, w.sweeps()[0].Below)
		w.end(byID[made[3].ID], domain.EventSynched) // it was published nonetheless
		equal(t, domain.StatusError, w.get(made[3].ID).Status)
		equal(t, int64(0), w.inFlight())
	})
	t.Run("a third place replaces the target", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.synch(w.createFile().ID)
		first := w.send(elsewhere).Move
		late := w.issue(first)[0]
		w.clear()
		second := w.send(thither).Move
		equal(t, thither, second.To)
		equal(t, true, first.ID != second.ID)
		equal(t, map[domain.Place]uint64{elsewhere: w.seq + 1, thither: w.seq + 1}, w.sweptPlaces())
		equal(t, 0, len(w.issue(second))) // its job of the first move is still under way
		w.end(late, domain.EventSynched)
		equal(t, false, w.finish(first.ID))
		equal(t, domain.MoveProgress{Total: 1}, w.progress())
		w.end(w.issue(second)[0], domain.EventSynched)
		equal(t, true, w.finish(second.ID))
		a := w.active(d.ID)
		equal(t, []any{thither, w.seq}, []any{a.Place, a.ActiveGeneration})
	})
	t.Run("there and back again ends where it began, with what was rebuilt", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.synch(w.createFile().ID)
		for _, to := range []domain.Place{elsewhere, serving, elsewhere} {
			move := w.send(to).Move
			for _, j := range w.issue(move) {
				w.end(j, domain.EventSynched)
			}
			equal(t, true, w.finish(move.ID))
			a := w.active(d.ID)
			equal(t, []any{to, w.seq}, []any{a.Place, a.ActiveGeneration})
		}
	})
	t.Run("a lost job of a move is issued again as one", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.synch(w.createFile().ID)
		move := w.send(elsewhere).Move
		w.issue(move)
		w.clock.advance(1e12)
		stuck := w.stuck(1e9)
		equal(t, 1, len(stuck))
		equal(t, move.ID, stuck[0].Job.Move)
		done, err := w.Reissue(w.ctx, d.ID, w.get(d.ID).JobID, stuck[0].Job)
		ok(t, err)
		equal(t, true, done)
		j := w.publishAll()[0]
		equal(t, []any{move.ID, []domain.Place{elsewhere}}, []any{j.Move, j.Places})
		w.end(j, domain.EventSynched)
		equal(t, domain.StatusSynched, w.get(d.ID).Status)
		equal(t, true, w.finish(move.ID))
	})
	t.Run("a site does not notice that its pages move, nor that one cannot", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA, pageB)
		w.publishAll()
		for _, url := range []string{pageA, pageB} {
			w.apply(w.page(site, url), domain.EventFetched, fetched(url))
			w.synch(w.page(site, url).ID)
		}
		w.apply(site, domain.EventSynched)
		before := w.get(site.ID)
		equal(t, domain.StatusSynched, before.Status)
		jobs := w.issue(w.send(elsewhere).Move)
		equal(t, 2, len(jobs))
		w.end(jobs[0], domain.EventSynched)
		equal(t, domain.StatusSynched, w.get(site.ID).Status)
		w.end(jobs[1], domain.EventError)
		after := w.get(site.ID)
		equal(t, []any{before.Status, before.Warnings, before.LastSynch}, []any{after.Status, after.Warnings, after.LastSynch})
	})
	t.Run("a move takes hundreds of datasources along", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it is about numbers, not about goroutines")
		}
		t.Parallel()
		w := newWorld(t, open)
		var in []catalog.NewDatasource
		for i := range 300 {
			in = append(in, w.file(func(n *catalog.NewDatasource) { n.Datasource.Name = fmt.Sprint(i) }))
		}
		w.create(in...)
		for _, j := range w.publishAll() {
			w.end(j, domain.EventSynched)
		}
		move := w.send(elsewhere).Move
		for _, j := range w.issue(move) {
			w.end(j, domain.EventSynched)
		}
		equal(t, domain.MoveProgress{Total: 300, Done: 300}, w.progress())
		equal(t, true, w.finish(move.ID))
	})
}
