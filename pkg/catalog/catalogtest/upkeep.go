package catalogtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

func testLeases(t *testing.T, open Open) {
	t.Run("one holder at a time has a lease, renews it, and loses it when its time is over", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		lease := func(name, holder string, want bool) {
			t.Helper()
			held, err := w.Lease(w.ctx, name, holder, time.Minute)
			ok(t, err)
			equal(t, want, held)
		}
		lease("audit", "a", true)
		lease("audit", "b", false)
		lease("mover", "b", true)
		w.clock.advance(59 * time.Second)
		lease("audit", "a", true)
		w.clock.advance(59 * time.Second)
		lease("audit", "b", false)
		w.clock.advance(time.Second)
		lease("audit", "b", true)
		lease("audit", "a", false)
	})
	t.Run("a lease that was given back is free, and only its holder gives it back", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		for _, step := range []struct {
			release string
			want    bool
		}{{"nobody", true}, {"b", false}, {"a", true}} {
			ok(t, w.Release(w.ctx, "audit", step.release))
			held, err := w.Lease(w.ctx, "audit", map[bool]string{true: "a", false: "c"}[step.release == "nobody"], time.Minute)
			ok(t, err)
			equal(t, step.want, held)
		}
	})
}

func testRepairs(t *testing.T, open Open) {
	claim := func(w *world, holder string) *catalog.RepairRequest {
		w.t.Helper()
		r, err := w.ClaimRepair(w.ctx, holder)
		ok(w.t, err)
		return r
	}
	request := func(w *world, prune bool) string {
		w.t.Helper()
		id, err := w.RequestRepair(w.ctx, prune)
		ok(w.t, err)
		w.clock.advance(time.Second)
		return id
	}
	state := func(w *world, id string) catalog.RepairState {
		w.t.Helper()
		s, err := w.Repair(w.ctx, id)
		ok(w.t, err)
		return s
	}
	t.Run("the oldest request is worked on by one, one repair after the other", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		equal(t, (*catalog.RepairRequest)(nil), claim(w, "a"))
		first, second := request(w, true), request(w, false)
		got := claim(w, "a")
		equal(t, []any{first, true}, []any{got.ID, got.Prune})
		equal(t, (*catalog.RepairRequest)(nil), claim(w, "b"))
		ok(t, w.FinishRepair(w.ctx, first, ""))
		equal(t, second, claim(w, "b").ID)
	})
	t.Run("what a repair says is kept in order, with how it ended", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		id := request(w, false)
		claim(w, "a")
		ok(t, w.RepairNote(w.ctx, id, "one", "two"))
		ok(t, w.RepairNote(w.ctx, id, "three"))
		s := state(w, id)
		equal(t, []string{"one", "two", "three"}, s.Lines)
		equal(t, []any{"a", (*time.Time)(nil), ""}, []any{s.Holder, s.FinishedAt, s.Error})
		ok(t, w.FinishRepair(w.ctx, id, "the index does not answer"))
		ok(t, w.FinishRepair(w.ctx, id, "again"))
		s = state(w, id)
		equal(t, "the index does not answer", s.Error)
		equal(t, w.clock.now(), *s.FinishedAt)
		code(t, domain.CodeNotFound, w.RepairNote(w.ctx, id, "late"))
		code(t, domain.CodeNotFound, w.RepairNote(w.ctx, "unknown", "line"))
		_, err := w.Repair(w.ctx, "unknown")
		code(t, domain.CodeNotFound, err)
	})
	t.Run("a repair of which nothing is heard for a minute is taken up by another", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		id := request(w, false)
		claim(w, "a")
		for range 3 {
			w.clock.advance(50 * time.Second)
			equal(t, (*catalog.RepairRequest)(nil), claim(w, "b"))
			ok(t, w.RepairNote(w.ctx, id))
		}
		w.clock.advance(time.Minute)
		equal(t, id, claim(w, "b").ID)
		equal(t, "b", state(w, id).Holder)
	})
	t.Run("a repair does not say more than can be read", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		id := request(w, false)
		var lines []string
		for i := range 1500 {
			lines = append(lines, fmt.Sprint(i, strings.Repeat("ü", 1500)))
		}
		ok(t, w.RepairNote(w.ctx, id, lines...))
		ok(t, w.RepairNote(w.ctx, id, lines...))
		got := state(w, id).Lines
		equal(t, 2001, len(got))
		equal(t, "There is more, which is only in the log.", got[2000])
		equal(t, true, len(got[0]) < 2100 && strings.HasSuffix(got[0], "ü…"))
	})
	t.Run("finished repairs are forgotten after a month", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		done, unfinished := request(w, false), request(w, false)
		ok(t, w.FinishRepair(w.ctx, done, ""))
		w.clock.advance(31 * 24 * time.Hour)
		request(w, false)
		_, err := w.Repair(w.ctx, done)
		code(t, domain.CodeNotFound, err)
		equal(t, unfinished, state(w, unfinished).ID)
	})
}
