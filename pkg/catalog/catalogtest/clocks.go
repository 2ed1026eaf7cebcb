package catalogtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// testClocks sets the clock between two steps of everything that goes by it. The catalog cannot know, so it is to lose
// nothing, to do nothing twice, and to leave nothing to a holder that is dead for longer than if the clock had gone on.
func testClocks(t *testing.T, open Open) {
	jumps := []time.Duration{-24 * time.Hour, -time.Hour, time.Hour, 24 * time.Hour}
	if testing.Short() { // under the race detector, to which one jump is as good as another
		jumps = jumps[1:2]
	}
	for _, jump := range jumps {
		for sentence, test := range map[string]func(*testing.T, *world, time.Duration){
			"a lease whose holder is dead passes to another":              testLeaseInAJump,
			"a turn whose holder is dead passes to another":               testTurnInAJump,
			"a repair whose holder is dead is taken up":                   testRepairInAJump,
			"a lost request is carried out again as the same":             testRequestInAJump,
			"an answer is given again within its day":                     testAnswerInAJump,
			"datasources go their way, and each of their jobs goes once":  testJobsInAJump,
			"a job that is put off goes when the clock says so, and once": testDeferredInAJump,
			"lists tell of each once, from page to page":                  testListInAJump,
			"a page to be fetched again later is fetched":                 testPostponedInAJump,
		} {
			t.Run(fmt.Sprintf("%s, the clock being set by %v", sentence, jump), func(t *testing.T) {
				t.Parallel()
				test(t, newWorld(t, open), jump)
			})
		}
	}
}

func testLeaseInAJump(t *testing.T, w *world, jump time.Duration) {
	lease := func(holder string) bool {
		held, err := w.Lease(w.ctx, "audit", holder, time.Minute)
		ok(t, err)
		return held
	}
	equal(t, true, lease("dead"))
	w.clock.advance(jump)
	w.clock.advance(time.Minute)
	equal(t, true, lease("a"))
	equal(t, false, lease("b"))
	w.clock.advance(jump)
	equal(t, true, lease("a")) // its holder renews it, as long as nobody else has asked
	equal(t, false, lease("b"))
}

func testTurnInAJump(t *testing.T, w *world, jump time.Duration) {
	v := w.talk(w.agent().ID, "anna")
	turn := func(holder string) bool {
		taken, err := w.TakeTurn(w.ctx, v.ID, holder, time.Minute)
		ok(t, err)
		return taken
	}
	equal(t, true, turn("dead"))
	w.clock.advance(jump)
	w.clock.advance(time.Minute)
	equal(t, true, turn("a"))
	equal(t, false, turn("b"))
}

func testRepairInAJump(t *testing.T, w *world, jump time.Duration) {
	id, err := w.RequestRepair(w.ctx, false)
	ok(t, err)
	for _, holder := range []string{"dead", "a"} {
		r, err := w.ClaimRepair(w.ctx, holder)
		ok(t, err)
		equal(t, id, r.ID)
		w.clock.advance(jump)
		w.clock.advance(time.Minute)
	}
	ok(t, w.FinishRepair(w.ctx, id, ""))
	r, err := w.ClaimRepair(w.ctx, "b")
	ok(t, err)
	equal(t, true, r == nil)
}

func testRequestInAJump(t *testing.T, w *world, jump time.Duration) {
	lost := w.begin("key", "hash")
	w.clock.advance(jump)
	equal(t, true, w.keep(lost)) // as long as its process lives
	w.busy("key", "hash")
	w.clock.advance(-jump) // its process dies, and what it has made lies within its day
	w.clock.advance(min(jump, 23*time.Hour))
	w.clock.advance(catalog.IdempotencyLease + time.Second)
	again := w.begin("key", "hash")
	equal(t, true, again.Repeated)
	equal(t, lost.ID("datastore"), again.ID("datastore"))
	w.busy("key", "hash")
	equal(t, false, w.keep(lost))
}

func testAnswerInAJump(t *testing.T, w *world, jump time.Duration) {
	claim := w.begin("key", "hash")
	w.clock.advance(min(jump, 23*time.Hour))
	answer := catalog.StoredResponse{Status: 201, Body: `{"id":"x"}`}
	ok(t, w.FinishIdempotent(w.ctx, claim, answer))
	_, have, err := w.BeginIdempotent(w.ctx, w.ws, "key", "hash")
	ok(t, err)
	equal(t, &answer, have)
}

func testJobsInAJump(t *testing.T, w *world, jump time.Duration) {
	early := w.createFile()
	w.clock.advance(jump)
	late := w.createFile()
	var went []string
	for _, job := range w.publishAll() {
		went = append(went, job.DatasourceID)
	}
	equal(t, []string{early.ID, late.ID}, went)
	for _, d := range []domain.Datasource{late, early} {
		w.apply(d, domain.EventRunning)
		w.clock.advance(-jump)
		w.apply(d, domain.EventSynched, chunks(2))
		equal(t, domain.StatusSynched, w.get(d.ID).Status)
		w.clock.advance(jump)
	}
	equal(t, int64(0), w.inFlight())
	equal(t, 0, len(w.publishAll()))
}

func testDeferredInAJump(t *testing.T, w *world, jump time.Duration) {
	d := w.createFile()
	jobs, err := w.Outbox(w.ctx, 1)
	ok(t, err)
	ok(t, w.DeferJob(w.ctx, jobs[0], w.clock.now().Add(time.Minute)))
	w.clock.advance(jump)
	equal(t, jump > 0, len(w.outbox()) == 1)
	w.clock.advance(max(0, -jump) + time.Minute)
	equal(t, 1, len(w.publishAll()))
	w.clock.advance(jump)
	equal(t, 0, len(w.publishAll()))
	w.apply(d, domain.EventSynched, chunks(2))
	equal(t, domain.StatusSynched, w.get(d.ID).Status)
}

func testListInAJump(t *testing.T, w *world, jump time.Duration) {
	want := map[string]int{}
	for range 4 {
		for range 3 {
			want[w.createFile().ID] = 1
		}
		w.clock.advance(jump)
	}
	got := map[string]int{}
	for page := (catalog.Page{Limit: 5}); ; {
		ds, next, err := w.Datasources(w.ctx, w.ws, catalog.DatasourceFilter{DatastoreID: w.store}, page)
		ok(t, err)
		for _, d := range ds {
			got[d.ID]++
		}
		if next == "" {
			break
		}
		page.Cursor = next
		w.clock.advance(jump)
	}
	equal(t, want, got)
}

func testPostponedInAJump(t *testing.T, w *world, jump time.Duration) {
	site := w.createSite(domain.DatasourceConfig{}, "https://pumps.example/a")
	crawls := w.publishAll()
	equal(t, 1, len(crawls))
	ev := crawls[0].Event(domain.EventPostponed, w.clock.now())
	ev.Until, ev.Tries = w.clock.now().Add(time.Hour), 1
	_, err := w.Apply(w.ctx, ev)
	ok(t, err)
	w.clock.advance(jump)
	w.clock.advance(max(0, -jump) + time.Hour)
	again := w.publishAll()
	equal(t, 1, len(again))
	equal(t, site.ID, again[0].GroupID)
	w.clock.advance(-jump)
	equal(t, 0, len(w.publishAll()))
}
