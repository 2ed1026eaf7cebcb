package catalogtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// testClocks tests every operation that depends on the clock. Each test makes the clock jump in the middle of an
// operation. The jump must not cause work to be lost or repeated, nor let a dead process keep its lease or claim longer
// than usual.
func testClocks(t *testing.T, open world.Open) {
	jumps := []time.Duration{-24 * time.Hour, -time.Hour, time.Hour, 24 * time.Hour}
	if testing.Short() { // one jump is enough for the race detector
		jumps = jumps[1:2]
	}
	for _, jump := range jumps {
		for sentence, test := range map[string]func(*testing.T, *world.World, time.Duration){
			"a lease whose holder is dead passes to another":              testLeaseInAJump,
			"a turn whose holder is dead passes to another":               testConversationLockInAJump,
			"a repair whose holder is dead is taken up":                   testRepairInAJump,
			"a lost request is carried out again as the same":             testRequestInAJump,
			"an answer is given again within its day":                     testAnswerInAJump,
			"datasources go their way, and each of their jobs goes once":  testJobsInAJump,
			"a job that is put off goes when the clock says so, and once": testDeferredInAJump,
			"pages of a list contain each entry once":                     testListInAJump,
			"a page to be fetched again later is fetched":                 testPostponedInAJump,
		} {
			t.Run(fmt.Sprintf("%s, the clock being set by %v", sentence, jump), func(t *testing.T) {
				t.Parallel()
				test(t, world.New(t, open), jump)
			})
		}
	}
}

func testLeaseInAJump(t *testing.T, w *world.World, jump time.Duration) {
	lease := func(holder string) bool {
		held := world.Must(w.Lease(w.Ctx, "audit", holder, time.Minute))(t)
		return held
	}
	world.Equal(t, true, lease("dead"))
	w.Clock.Advance(jump)
	w.Clock.Advance(time.Minute)
	world.Equal(t, true, lease("a"))
	world.Equal(t, false, lease("b"))
	w.Clock.Advance(jump)
	world.Equal(t, true, lease("a")) // nobody else has asked for the lease, so its holder can renew it
	world.Equal(t, false, lease("b"))
}

func testConversationLockInAJump(t *testing.T, w *world.World, jump time.Duration) {
	v := talk(w, NewAgent(w).ID, "anna")
	turn := func(holder string) bool {
		taken := world.Must(w.Lock(w.Ctx, v.ID, holder, time.Minute))(t)
		return taken
	}
	world.Equal(t, true, turn("dead"))
	w.Clock.Advance(jump)
	w.Clock.Advance(time.Minute)
	world.Equal(t, true, turn("a"))
	world.Equal(t, false, turn("b"))
}

func testRepairInAJump(t *testing.T, w *world.World, jump time.Duration) {
	id := world.Must(w.RequestRepair(w.Ctx, false))(t)
	for _, holder := range []string{"dead", "a"} {
		r := world.Must(w.ClaimRepair(w.Ctx, holder))(t)
		world.Equal(t, id, r.ID)
		w.Clock.Advance(jump)
		w.Clock.Advance(time.Minute)
	}
	world.OK(t, w.FinishRepair(w.Ctx, id, ""))
	r := world.Must(w.ClaimRepair(w.Ctx, "b"))(t)
	world.Equal(t, true, r == nil)
}

func testRequestInAJump(t *testing.T, w *world.World, jump time.Duration) {
	lost := claimKey(w, "key", "hash")
	w.Clock.Advance(jump)
	world.Equal(t, true, keepClaim(w, lost)) // the process is alive and renews the claim
	requireBusy(w, "key", "hash")
	w.Clock.Advance(-jump) // now the process dies; the next jump must end within the day for which the claim is kept
	w.Clock.Advance(min(jump, 23*time.Hour))
	w.Clock.Advance(catalog.IdempotencyLease + time.Second)
	again := claimKey(w, "key", "hash")
	world.Equal(t, true, again.Repeated)
	world.Equal(t, lost.ID("datastore"), again.ID("datastore"))
	requireBusy(w, "key", "hash")
	world.Equal(t, false, keepClaim(w, lost))
}

func testAnswerInAJump(t *testing.T, w *world.World, jump time.Duration) {
	claim := claimKey(w, "key", "hash")
	w.Clock.Advance(min(jump, 23*time.Hour))
	answer := catalog.StoredResponse{Status: 201, Body: `{"id":"x"}`}
	world.OK(t, w.FinishIdempotent(w.Ctx, claim, answer))
	_, have, err := w.BeginIdempotent(w.Ctx, w.WS, "key", "hash")
	world.OK(t, err)
	world.Equal(t, &answer, have)
}

func testJobsInAJump(t *testing.T, w *world.World, jump time.Duration) {
	early := w.CreateFile()
	w.Clock.Advance(jump)
	late := w.CreateFile()
	var went []string
	for _, job := range w.PublishAll() {
		went = append(went, job.DatasourceID)
	}
	world.Equal(t, []string{early.ID, late.ID}, went)
	for _, d := range []domain.Datasource{late, early} {
		w.ApplyEvent(d, domain.EventRunning)
		w.Clock.Advance(-jump)
		w.ApplyEvent(d, domain.EventSynched, world.Chunks(2))
		world.Equal(t, domain.StatusSynched, w.Get(d.ID).Status)
		w.Clock.Advance(jump)
	}
	world.Equal(t, int64(0), w.CountInFlight())
	world.Equal(t, 0, len(w.PublishAll()))
}

func testDeferredInAJump(t *testing.T, w *world.World, jump time.Duration) {
	d := w.CreateFile()
	jobs := world.Must(w.Outbox(w.Ctx, 1))(t)
	world.OK(t, w.DeferJob(w.Ctx, jobs[0], w.Clock.Now().Add(time.Minute)))
	w.Clock.Advance(jump)
	world.Equal(t, jump > 0, len(w.OutboxIDs()) == 1)
	w.Clock.Advance(max(0, -jump) + time.Minute)
	world.Equal(t, 1, len(w.PublishAll()))
	w.Clock.Advance(jump)
	world.Equal(t, 0, len(w.PublishAll()))
	w.ApplyEvent(d, domain.EventSynched, world.Chunks(2))
	world.Equal(t, domain.StatusSynched, w.Get(d.ID).Status)
}

func testListInAJump(t *testing.T, w *world.World, jump time.Duration) {
	want := map[string]int{}
	for range 4 {
		for range 3 {
			want[w.CreateFile().ID] = 1
		}
		w.Clock.Advance(jump)
	}
	got := map[string]int{}
	for page := (catalog.Page{Limit: 5}); ; {
		ds, next, err := w.Datasources(w.Ctx, w.WS, catalog.DatasourceFilter{DatastoreID: w.StoreID}, page)
		world.OK(t, err)
		for _, d := range ds {
			got[d.ID]++
		}
		if next == "" {
			break
		}
		page.Cursor = next
		w.Clock.Advance(jump)
	}
	world.Equal(t, want, got)
}

func testPostponedInAJump(t *testing.T, w *world.World, jump time.Duration) {
	site := w.CreateSite(domain.DatasourceConfig{}, "https://pumps.example/a")
	crawls := w.PublishAll()
	world.Equal(t, 1, len(crawls))
	ev := crawls[0].Event(domain.EventPostponed, w.Clock.Now())
	ev.Until, ev.Tries = w.Clock.Now().Add(time.Hour), 1
	world.Must(w.Apply(w.Ctx, ev))(t)
	w.Clock.Advance(jump)
	w.Clock.Advance(max(0, -jump) + time.Hour)
	again := w.PublishAll()
	world.Equal(t, 1, len(again))
	world.Equal(t, site.ID, again[0].GroupID)
	w.Clock.Advance(-jump)
	world.Equal(t, 0, len(w.PublishAll()))
}
