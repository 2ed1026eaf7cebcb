package catalogtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// claimKey claims the key for a request. It fails the test if the request is in progress or already has a response.
func claimKey(w *world.World, key, requestHash string) *catalog.Claim {
	w.T.Helper()
	claim, have, err := w.BeginIdempotent(w.Ctx, w.WS, key, requestHash)
	world.OK(w.T, err)
	if have != nil || claim == nil {
		w.T.Fatalf("claim %v, answer %v; want a claim alone", claim, have)
	}
	return claim
}

// requireBusy requires that the request is in progress.
func requireBusy(w *world.World, key, requestHash string) {
	w.T.Helper()
	_, _, err := w.BeginIdempotent(w.Ctx, w.WS, key, requestHash)
	world.Code(w.T, domain.CodeConflict, err)
	var e *domain.Error
	if !errors.As(err, &e) || e.RetryAfter == 0 {
		w.T.Fatalf("error %v does not say when to ask again", err)
	}
}

func keepClaim(w *world.World, claim *catalog.Claim) bool {
	w.T.Helper()
	holds := world.Must(w.KeepIdempotent(w.Ctx, claim))(w.T)
	return holds
}

func testIdempotency(t *testing.T, open world.Open) {
	for sentence, test := range map[string]func(*testing.T, *world.World){
		"the answer of a finished request is given again until a day has passed":        testAnswerIsKept,
		"the key with another request is a conflict":                                    testKeyOfAnotherRequest,
		"a request that is being worked on is a conflict as long as its claim is kept":  testClaimIsKept,
		"a request that was lost is claimed again, and makes what it made before":       testLostRequest,
		"whoever has lost a claim can neither keep nor give back what another one took": testLostClaim,
		"a run that has lost its claim can store nothing, whatever happened since":      testLostClaimStoresNothing,
		"of two runs of a request the first that finishes decides the answer":           testFirstAnswerStays,
		"an abandoned request leaves the key free for another one":                      testAbandoned,
		"a released request is repeated at once, and its key is no other request's":     testReleased,
		"a repeated request that is abandoned stays the one that was begun first":       testRepeatedAbandoned,
		"a finished request can be neither released nor abandoned":                      testFinishedStays,
		"the same key of another workspace is another key":                              testKeyOfAnotherWorkspace,
		"a key that is used again after a day makes something new":                      testKeyAfterADay,
		"the day of a repeated request begins with its first run":                       testRepeatedDay,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test(t, world.New(t, open))
		})
	}
}

func testAnswerIsKept(t *testing.T, w *world.World) {
	claim := claimKey(w, "key", "hash")
	world.Equal(t, false, claim.Repeated)
	answer := catalog.StoredResponse{Status: 201, Body: `{"id":"x"}`, Content: "digest"}
	world.OK(t, w.FinishIdempotent(w.Ctx, claim, answer))
	again, have, err := w.BeginIdempotent(w.Ctx, w.WS, "key", "hash")
	world.OK(t, err)
	world.Equal(t, &answer, have)
	world.Equal(t, true, again == nil)
	w.Clock.Advance(24*time.Hour + time.Second)
	claimKey(w, "key", "hash")
}

func testKeyOfAnotherRequest(t *testing.T, w *world.World) {
	claim := claimKey(w, "key", "hash")
	_, _, err := w.BeginIdempotent(w.Ctx, w.WS, "key", "other")
	world.Code(t, domain.CodeConflict, err)
	world.OK(t, w.FinishIdempotent(w.Ctx, claim, catalog.StoredResponse{Status: 200}))
	_, _, err = w.BeginIdempotent(w.Ctx, w.WS, "key", "other")
	world.Code(t, domain.CodeConflict, err)
}

func testClaimIsKept(t *testing.T, w *world.World) {
	claim := claimKey(w, "key", "hash")
	for range 5 {
		w.Clock.Advance(catalog.IdempotencyLease - time.Second)
		requireBusy(w, "key", "hash")
		world.Equal(t, true, keepClaim(w, claim))
	}
	w.Clock.Advance(catalog.IdempotencyLease + time.Second)
	world.Equal(t, true, claimKey(w, "key", "hash").Repeated)
}

func testLostRequest(t *testing.T, w *world.World) {
	lost := claimKey(w, "key", "hash")
	w.Clock.Advance(catalog.IdempotencyLease + time.Second)
	again := claimKey(w, "key", "hash")
	world.Equal(t, true, again.Repeated)
	world.Equal(t, lost.Begun, again.Begun)
	world.Equal(t, lost.ID("agent"), again.ID("agent"))
	seen := map[string]string{}
	for name, id := range map[string]string{
		"agent": again.ID("agent"), "datastore": again.ID("datastore"), "with a number": again.ID("agent", "1"),
		"another key": claimKey(w, "key 2", "hash").ID("agent"), "another request": claimKey(w, "key 3", "other").ID("agent"),
	} {
		if other, twice := seen[id]; twice || !domain.ValidID(id) {
			t.Errorf("%s has the id %q, which %q has too", name, id, other)
		}
		seen[id] = name
	}
	requireBusy(w, "key", "hash")
}

func testLostClaim(t *testing.T, w *world.World) {
	lost := claimKey(w, "key", "hash")
	w.Clock.Advance(catalog.IdempotencyLease + time.Second)
	taken := claimKey(w, "key", "hash")
	world.Equal(t, false, keepClaim(w, lost))
	world.OK(t, w.ReleaseIdempotent(w.Ctx, lost))
	world.OK(t, w.AbandonIdempotent(w.Ctx, lost))
	requireBusy(w, "key", "hash")
	world.Equal(t, true, keepClaim(w, taken))
}

func testFirstAnswerStays(t *testing.T, w *world.World) {
	slow := claimKey(w, "key", "hash")
	w.Clock.Advance(catalog.IdempotencyLease + time.Second)
	taken := claimKey(w, "key", "hash")
	world.OK(t, w.FinishIdempotent(w.Ctx, slow, catalog.StoredResponse{Status: 201, Body: "first"}))
	world.OK(t, w.FinishIdempotent(w.Ctx, taken, catalog.StoredResponse{Status: 201, Body: "second"}))
	world.Equal(t, false, keepClaim(w, taken))
	_, have, err := w.BeginIdempotent(w.Ctx, w.WS, "key", "hash")
	world.OK(t, err)
	world.Equal(t, &catalog.StoredResponse{Status: 201, Body: "first"}, have)
}

func testAbandoned(t *testing.T, w *world.World) {
	first := claimKey(w, "key", "hash")
	world.OK(t, w.AbandonIdempotent(w.Ctx, first))
	world.Equal(t, false, keepClaim(w, first))
	second := claimKey(w, "key", "other")
	world.Equal(t, false, second.Repeated)
	world.OK(t, w.FinishIdempotent(w.Ctx, first, catalog.StoredResponse{Status: 200, Body: "of the first"}))
	requireBusy(w, "key", "other")
}

func testReleased(t *testing.T, w *world.World) {
	first := claimKey(w, "key", "hash")
	world.OK(t, w.ReleaseIdempotent(w.Ctx, first))
	_, _, err := w.BeginIdempotent(w.Ctx, w.WS, "key", "other")
	world.Code(t, domain.CodeConflict, err)
	again := claimKey(w, "key", "hash")
	world.Equal(t, true, again.Repeated)
	world.Equal(t, first.ID("agent"), again.ID("agent"))
	requireBusy(w, "key", "hash")
}

func testRepeatedAbandoned(t *testing.T, w *world.World) {
	first := claimKey(w, "key", "hash")
	world.OK(t, w.ReleaseIdempotent(w.Ctx, first))
	world.OK(t, w.AbandonIdempotent(w.Ctx, claimKey(w, "key", "hash")))
	again := claimKey(w, "key", "hash")
	world.Equal(t, true, again.Repeated)
	world.Equal(t, first.ID("agent"), again.ID("agent"))
}

func testFinishedStays(t *testing.T, w *world.World) {
	claim := claimKey(w, "key", "hash")
	world.OK(t, w.FinishIdempotent(w.Ctx, claim, catalog.StoredResponse{Status: 200}))
	world.OK(t, w.AbandonIdempotent(w.Ctx, claim))
	world.OK(t, w.ReleaseIdempotent(w.Ctx, claim))
	_, have, err := w.BeginIdempotent(w.Ctx, w.WS, "key", "hash")
	world.OK(t, err)
	world.Equal(t, 200, have.Status)
}

func testKeyOfAnotherWorkspace(t *testing.T, w *world.World) {
	mine := claimKey(w, "key", "hash")
	theirs, _, err := w.BeginIdempotent(w.Ctx, w.NewWorkspace(), "key", "hash")
	world.OK(t, err)
	if mine.ID("agent") == theirs.ID("agent") {
		t.Error("requests of two workspaces make the same id")
	}
}

func testKeyAfterADay(t *testing.T, w *world.World) {
	first := claimKey(w, "key", "hash")
	w.Clock.Advance(24*time.Hour + time.Second)
	second := claimKey(w, "key", "hash")
	world.Equal(t, false, second.Repeated)
	if first.ID("agent") == second.ID("agent") {
		t.Error("the resource created a day later has the earlier id")
	}
	world.OK(t, w.FinishIdempotent(w.Ctx, first, catalog.StoredResponse{Status: 200, Body: "a day late"}))
	requireBusy(w, "key", "hash")
}

func testRepeatedDay(t *testing.T, w *world.World) {
	claimKey(w, "key", "hash")
	w.Clock.Advance(23 * time.Hour)
	world.OK(t, w.FinishIdempotent(w.Ctx, claimKey(w, "key", "hash"), catalog.StoredResponse{Status: 200}))
	w.Clock.Advance(time.Hour + time.Second)
	world.Equal(t, false, claimKey(w, "key", "hash").Repeated)
}

func testSharedIdempotency(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 3)
	all := append(others, w.Catalog)
	for round := range 10 {
		world.Equal(t, 1, claimedBy(w, all, fmt.Sprint("key-", round)))
	}
}

// testSharedLostRequest makes a process stop renewing its claim and requires that exactly one other process takes it
// over. The processes' clocks differ by a few seconds.
func testSharedLostRequest(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 3, func(i int, o *catalog.Options) {
		now := o.Now
		o.Now = func() time.Time { return now().Add(time.Duration(i) * time.Second) }
	})
	all := append(others, w.Catalog)
	for round := range 10 {
		key := fmt.Sprint("key-", round)
		claim := claimKey(w, key, "hash")
		for range 2 {
			w.Clock.Advance(catalog.IdempotencyLease / 4)
			world.Equal(t, 0, claimedBy(w, all, key))
			world.Equal(t, true, keepClaim(w, claim))
		}
		w.Clock.Advance(catalog.IdempotencyLease + time.Second)
		world.Equal(t, 1, claimedBy(w, all, key))
		world.Equal(t, false, keepClaim(w, claim))
	}
}

// claimedBy starts the same request in all processes at once and returns how many got the claim.
func claimedBy(w *world.World, all []*catalog.Catalog, key string) int {
	w.T.Helper()
	n := 0
	for _, err := range atOnce(all, func(_ int, c *catalog.Catalog) error {
		_, _, err := c.BeginIdempotent(w.Ctx, w.WS, key, "hash")
		return err
	}) {
		if err == nil {
			n++
			continue
		}
		world.Code(w.T, domain.CodeConflict, err)
	}
	return n
}

func testLostClaimStoresNothing(t *testing.T, w *world.World) {
	document := func(key string) catalog.NewDatasource {
		return w.File(func(n *catalog.NewDatasource) {
			n.Datasource.CustomID, n.Datasource.Config.CustomID, n.Datasource.Original.Key = "doc", "doc", key
		})
	}
	upsert := func(ctx context.Context, key string) error {
		_, err := w.UpsertDatasources(ctx, []catalog.NewDatasource{document(key)})
		return err
	}
	paused := claimKey(w, "first", "hash")
	world.OK(t, upsert(accounts.WithClaim(w.Ctx, paused), "first-1"))
	w.Clock.Advance(catalog.IdempotencyLease + time.Second)
	again := claimKey(w, "first", "hash")
	world.OK(t, upsert(accounts.WithClaim(w.Ctx, again), "first-2"))
	world.OK(t, w.FinishIdempotent(w.Ctx, again, catalog.StoredResponse{Status: 200}))
	later := claimKey(w, "second", "hash")
	world.OK(t, upsert(accounts.WithClaim(w.Ctx, later), "second"))
	world.OK(t, w.FinishIdempotent(w.Ctx, later, catalog.StoredResponse{Status: 200}))

	world.Code(t, domain.CodeConflict, upsert(accounts.WithClaim(w.Ctx, paused), "first-3"))
	d, err := w.DatasourceByCustomID(w.Ctx, w.WS, w.StoreID, "doc")
	world.OK(t, err)
	world.Equal(t, "second", d.Original.Key)

	world.Must(w.DeleteDatasource(w.Ctx, w.WS, d.ID))(t)
	created := document("first-4")
	created.Datasource.ID = paused.ID("datasource")
	world.Refused(w.CreateDatasources(accounts.WithClaim(w.Ctx, paused), []catalog.NewDatasource{created}))(t, domain.CodeConflict)
	world.Refused(w.DatasourceByCustomID(w.Ctx, w.WS, w.StoreID, "doc"))(t, domain.CodeNotFound)
	world.OK(t, upsert(accounts.WithoutClaim(accounts.WithClaim(w.Ctx, paused)), "free"))
}
