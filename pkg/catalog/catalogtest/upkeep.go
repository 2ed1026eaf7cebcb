package catalogtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func testLeases(t *testing.T, open world.Open) {
	world.Run(t, open, "one holder at a time has a lease, renews it, and loses it when its time is over", func(t *testing.T, w *world.World) {
		lease := func(name, holder string, want bool) {
			t.Helper()
			held := world.Must(w.Lease(w.Ctx, name, holder, time.Minute))(t)
			world.Equal(t, want, held)
		}
		lease("audit", "a", true)
		lease("audit", "b", false)
		lease("mover", "b", true)
		w.Clock.Advance(59 * time.Second)
		lease("audit", "a", true)
		w.Clock.Advance(59 * time.Second)
		lease("audit", "b", false)
		w.Clock.Advance(time.Second)
		lease("audit", "b", true)
		lease("audit", "a", false)
	})
	world.Run(t, open, "a lease that was given back is free, and only its holder gives it back", func(t *testing.T, w *world.World) {
		for _, step := range []struct {
			release string
			want    bool
		}{{"nobody", true}, {"b", false}, {"a", true}} {
			world.OK(t, w.Release(w.Ctx, "audit", step.release))
			held := world.Must(w.Lease(w.Ctx, "audit", map[bool]string{true: "a", false: "c"}[step.release == "nobody"], time.Minute))(t)
			world.Equal(t, step.want, held)
		}
	})
}

func testRepairs(t *testing.T, open world.Open) {
	claim := func(w *world.World, holder string) *catalog.RepairRequest {
		w.T.Helper()
		r := world.Must(w.ClaimRepair(w.Ctx, holder))(w.T)
		return r
	}
	request := func(w *world.World, prune bool) string {
		w.T.Helper()
		id := world.Must(w.RequestRepair(w.Ctx, prune))(w.T)
		w.Clock.Advance(time.Second)
		return id
	}
	state := func(w *world.World, id string) catalog.RepairState {
		w.T.Helper()
		s := world.Must(w.Repair(w.Ctx, id))(w.T)
		return s
	}
	world.Run(t, open, "the oldest request is worked on by one, one repair after the other", func(t *testing.T, w *world.World) {
		world.Equal(t, (*catalog.RepairRequest)(nil), claim(w, "a"))
		first, second := request(w, true), request(w, false)
		got := claim(w, "a")
		world.Equal(t, []any{first, true}, []any{got.ID, got.Prune})
		world.Equal(t, (*catalog.RepairRequest)(nil), claim(w, "b"))
		world.OK(t, w.FinishRepair(w.Ctx, first, ""))
		world.Equal(t, second, claim(w, "b").ID)
	})
	world.Run(t, open, "what a repair says is kept in order, with how it ended", func(t *testing.T, w *world.World) {
		id := request(w, false)
		claim(w, "a")
		world.OK(t, w.AddRepairLines(w.Ctx, id, "one", "two"))
		world.OK(t, w.AddRepairLines(w.Ctx, id, "three"))
		s := state(w, id)
		world.Equal(t, []string{"one", "two", "three"}, s.Lines)
		world.Equal(t, []any{"a", (*time.Time)(nil), ""}, []any{s.Holder, s.FinishedAt, s.Error})
		world.OK(t, w.FinishRepair(w.Ctx, id, "the index does not answer"))
		world.OK(t, w.FinishRepair(w.Ctx, id, "again"))
		s = state(w, id)
		world.Equal(t, "the index does not answer", s.Error)
		world.Equal(t, w.Clock.Now(), *s.FinishedAt)
		world.Code(t, domain.CodeNotFound, w.AddRepairLines(w.Ctx, id, "late"))
		world.Code(t, domain.CodeNotFound, w.AddRepairLines(w.Ctx, "unknown", "line"))
		world.Refused(w.Repair(w.Ctx, "unknown"))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "a repair of which nothing is heard for a minute is taken up by another", func(t *testing.T, w *world.World) {
		id := request(w, false)
		claim(w, "a")
		for range 3 {
			w.Clock.Advance(50 * time.Second)
			world.Equal(t, (*catalog.RepairRequest)(nil), claim(w, "b"))
			world.OK(t, w.AddRepairLines(w.Ctx, id))
		}
		w.Clock.Advance(time.Minute)
		world.Equal(t, id, claim(w, "b").ID)
		world.Equal(t, "b", state(w, id).Holder)
	})
	world.Run(t, open, "a repair does not say more than can be read", func(t *testing.T, w *world.World) {
		id := request(w, false)
		var lines []string
		for i := range 1500 {
			lines = append(lines, fmt.Sprint(i, strings.Repeat("ü", 1500)))
		}
		world.OK(t, w.AddRepairLines(w.Ctx, id, lines...))
		world.OK(t, w.AddRepairLines(w.Ctx, id, lines...))
		got := state(w, id).Lines
		world.Equal(t, 2001, len(got))
		world.Equal(t, "See the log for the remaining results.", got[2000])
		world.Equal(t, true, len(got[0]) < 2100 && strings.HasSuffix(got[0], "ü…"))
	})
	world.Run(t, open, "finished repairs are forgotten after a month", func(t *testing.T, w *world.World) {
		done, unfinished := request(w, false), request(w, false)
		world.OK(t, w.FinishRepair(w.Ctx, done, ""))
		w.Clock.Advance(31 * 24 * time.Hour)
		request(w, false)
		world.Refused(w.Repair(w.Ctx, done))(t, domain.CodeNotFound)
		world.Equal(t, unfinished, state(w, unfinished).ID)
	})
}
