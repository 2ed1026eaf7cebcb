package catalogtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// begin claims the key for the request, which nobody must have answered.
func (w *world) begin(key, requestHash string) *catalog.Claim {
	w.t.Helper()
	claim, have, err := w.BeginIdempotent(w.ctx, w.ws, key, requestHash)
	ok(w.t, err)
	if have != nil || claim == nil {
		w.t.Fatalf("claim %v, answer %v; want a claim alone", claim, have)
	}
	return claim
}

// busy demands that the request is being worked on by somebody.
func (w *world) busy(key, requestHash string) {
	w.t.Helper()
	_, _, err := w.BeginIdempotent(w.ctx, w.ws, key, requestHash)
	code(w.t, domain.CodeConflict, err)
	var e *domain.Error
	if !errors.As(err, &e) || e.RetryAfter == 0 {
		w.t.Fatalf("error %v does not say when to ask again", err)
	}
}

func (w *world) keep(claim *catalog.Claim) bool {
	w.t.Helper()
	holds, err := w.KeepIdempotent(w.ctx, claim)
	ok(w.t, err)
	return holds
}

func testIdempotency(t *testing.T, open Open) {
	for sentence, test := range map[string]func(*testing.T, *world){
		"the answer of a finished request is given again until a day has passed":        testAnswerIsKept,
		"the key with another request is a conflict":                                    testKeyOfAnotherRequest,
		"a request that is being worked on is a conflict as long as its claim is kept":  testClaimIsKept,
		"a request that was lost is claimed again, and makes what it made before":       testLostRequest,
		"whoever has lost a claim can neither keep nor give back what another one took": testLostClaim,
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
			test(t, newWorld(t, open))
		})
	}
}

func testAnswerIsKept(t *testing.T, w *world) {
	claim := w.begin("key", "hash")
	equal(t, false, claim.Repeated)
	answer := catalog.StoredResponse{Status: 201, Body: `{"id":"x"}`}
	ok(t, w.FinishIdempotent(w.ctx, claim, answer))
	again, have, err := w.BeginIdempotent(w.ctx, w.ws, "key", "hash")
	ok(t, err)
	equal(t, &answer, have)
	equal(t, true, again == nil)
	w.clock.advance(24*time.Hour + time.Second)
	w.begin("key", "hash")
}

func testKeyOfAnotherRequest(t *testing.T, w *world) {
	claim := w.begin("key", "hash")
	_, _, err := w.BeginIdempotent(w.ctx, w.ws, "key", "other")
	code(t, domain.CodeConflict, err)
	ok(t, w.FinishIdempotent(w.ctx, claim, catalog.StoredResponse{Status: 200}))
	_, _, err = w.BeginIdempotent(w.ctx, w.ws, "key", "other")
	code(t, domain.CodeConflict, err)
}

func testClaimIsKept(t *testing.T, w *world) {
	claim := w.begin("key", "hash")
	for range 5 {
		w.clock.advance(catalog.IdempotencyLease - time.Second)
		w.busy("key", "hash")
		equal(t, true, w.keep(claim))
	}
	w.clock.advance(catalog.IdempotencyLease + time.Second)
	equal(t, true, w.begin("key", "hash").Repeated)
}

func testLostRequest(t *testing.T, w *world) {
	lost := w.begin("key", "hash")
	w.clock.advance(catalog.IdempotencyLease + time.Second)
	again := w.begin("key", "hash")
	equal(t, true, again.Repeated)
	equal(t, lost.Begun, again.Begun)
	equal(t, lost.ID("agent"), again.ID("agent"))
	seen := map[string]string{}
	for name, id := range map[string]string{
		"agent": again.ID("agent"), "datastore": again.ID("datastore"), "with a number": again.ID("agent", "1"),
		"another key": w.begin("key 2", "hash").ID("agent"), "another request": w.begin("key 3", "other").ID("agent"),
	} {
		if other, twice := seen[id]; twice || !domain.ValidID(id) {
			t.Errorf("%s has the id %q, and so has %q", name, id, other)
		}
		seen[id] = name
	}
	w.busy("key", "hash")
}

func testLostClaim(t *testing.T, w *world) {
	lost := w.begin("key", "hash")
	w.clock.advance(catalog.IdempotencyLease + time.Second)
	taken := w.begin("key", "hash")
	equal(t, false, w.keep(lost))
	ok(t, w.ReleaseIdempotent(w.ctx, lost))
	ok(t, w.AbandonIdempotent(w.ctx, lost))
	w.busy("key", "hash")
	equal(t, true, w.keep(taken))
}

func testFirstAnswerStays(t *testing.T, w *world) {
	slow := w.begin("key", "hash")
	w.clock.advance(catalog.IdempotencyLease + time.Second)
	taken := w.begin("key", "hash")
	ok(t, w.FinishIdempotent(w.ctx, slow, catalog.StoredResponse{Status: 201, Body: "first"}))
	ok(t, w.FinishIdempotent(w.ctx, taken, catalog.StoredResponse{Status: 201, Body: "second"}))
	equal(t, false, w.keep(taken))
	_, have, err := w.BeginIdempotent(w.ctx, w.ws, "key", "hash")
	ok(t, err)
	equal(t, &catalog.StoredResponse{Status: 201, Body: "first"}, have)
}

func testAbandoned(t *testing.T, w *world) {
	first := w.begin("key", "hash")
	ok(t, w.AbandonIdempotent(w.ctx, first))
	equal(t, false, w.keep(first))
	second := w.begin("key", "other")
	equal(t, false, second.Repeated)
	ok(t, w.FinishIdempotent(w.ctx, first, catalog.StoredResponse{Status: 200, Body: "of the first"}))
	w.busy("key", "other")
}

func testReleased(t *testing.T, w *world) {
	first := w.begin("key", "hash")
	ok(t, w.ReleaseIdempotent(w.ctx, first))
	_, _, err := w.BeginIdempotent(w.ctx, w.ws, "key", "other")
	code(t, domain.CodeConflict, err)
	again := w.begin("key", "hash")
	equal(t, true, again.Repeated)
	equal(t, first.ID("agent"), again.ID("agent"))
	w.busy("key", "hash")
}

func testRepeatedAbandoned(t *testing.T, w *world) {
	first := w.begin("key", "hash")
	ok(t, w.ReleaseIdempotent(w.ctx, first))
	ok(t, w.AbandonIdempotent(w.ctx, w.begin("key", "hash")))
	again := w.begin("key", "hash")
	equal(t, true, again.Repeated)
	equal(t, first.ID("agent"), again.ID("agent"))
}

func testFinishedStays(t *testing.T, w *world) {
	claim := w.begin("key", "hash")
	ok(t, w.FinishIdempotent(w.ctx, claim, catalog.StoredResponse{Status: 200}))
	ok(t, w.AbandonIdempotent(w.ctx, claim))
	ok(t, w.ReleaseIdempotent(w.ctx, claim))
	_, have, err := w.BeginIdempotent(w.ctx, w.ws, "key", "hash")
	ok(t, err)
	equal(t, 200, have.Status)
}

func testKeyOfAnotherWorkspace(t *testing.T, w *world) {
	mine := w.begin("key", "hash")
	theirs, _, err := w.BeginIdempotent(w.ctx, w.workspace(), "key", "hash")
	ok(t, err)
	if mine.ID("agent") == theirs.ID("agent") {
		t.Error("requests of two workspaces make the same id")
	}
}

func testKeyAfterADay(t *testing.T, w *world) {
	first := w.begin("key", "hash")
	w.clock.advance(24*time.Hour + time.Second)
	second := w.begin("key", "hash")
	equal(t, false, second.Repeated)
	if first.ID("agent") == second.ID("agent") {
		t.Error("what is made a day later has the id of what was made before")
	}
	ok(t, w.FinishIdempotent(w.ctx, first, catalog.StoredResponse{Status: 200, Body: "a day late"}))
	w.busy("key", "hash")
}

func testRepeatedDay(t *testing.T, w *world) {
	w.begin("key", "hash")
	w.clock.advance(23 * time.Hour)
	ok(t, w.FinishIdempotent(w.ctx, w.begin("key", "hash"), catalog.StoredResponse{Status: 200}))
	w.clock.advance(time.Hour + time.Second)
	equal(t, false, w.begin("key", "hash").Repeated)
}

func testSharedIdempotency(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 3)
	all := append(others, w.Catalog)
	for round := range 10 {
		equal(t, 1, w.claimedBy(all, fmt.Sprint("key-", round)))
	}
}

// testSharedLostRequest lets processes whose clocks differ by seconds find a request that nobody keeps.
func testSharedLostRequest(t *testing.T, open OpenShared) {
	w, others := newShared(t, open, 3, func(i int, o *catalog.Options) {
		now := o.Now
		o.Now = func() time.Time { return now().Add(time.Duration(i) * time.Second) }
	})
	all := append(others, w.Catalog)
	for round := range 10 {
		key := fmt.Sprint("key-", round)
		claim := w.begin(key, "hash")
		for range 2 {
			w.clock.advance(catalog.IdempotencyLease / 4)
			equal(t, 0, w.claimedBy(all, key))
			equal(t, true, w.keep(claim))
		}
		w.clock.advance(catalog.IdempotencyLease + time.Second)
		equal(t, 1, w.claimedBy(all, key))
		equal(t, false, w.keep(claim))
	}
}

// claimedBy lets all processes begin the request at once, and counts those that may carry it out.
func (w *world) claimedBy(all []*catalog.Catalog, key string) int {
	w.t.Helper()
	n := 0
	for _, err := range atOnce(all, func(_ int, c *catalog.Catalog) error {
		_, _, err := c.BeginIdempotent(w.ctx, w.ws, key, "hash")
		return err
	}) {
		if err == nil {
			n++
			continue
		}
		code(w.t, domain.CodeConflict, err)
	}
	return n
}
