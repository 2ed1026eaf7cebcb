package embedded

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cellsOf makes cells of a set as a space does, with what has been measured of their reach.
func cellsOf(t testing.TB, s *vectorFiles, snap *vectorSet) *vectorSet {
	t.Helper()
	c, files, err := s.drawCells(t.Context(), snap, cutCells, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.cells = files
	with := *snap
	with.cells, with.written = c, 0
	if files != nil {
		with.listed = snap.live
	}
	return &with
}

// cellRecall is the share of the nearest rows that searches by cells find, and the share of all rows whose codes they compare.
func cellRecall(t testing.TB, s *vectorSet, queries [][]float32, limit int) (o outcome) {
	t.Helper()
	for _, q := range queries {
		want, err := scanExact(t.Context(), s, nil, q, limit, int(s.rows))
		if err != nil {
			t.Fatal(err)
		}
		got, looked, err := scanCells(t.Context(), s, q, limit)
		if err != nil {
			t.Fatal(err)
		}
		best := want.best(limit)
		last := best[len(best)-1].score
		near := len(slices.DeleteFunc(slices.Clone(got.best), func(h scored) bool { return h.score < last }))
		o.recall += float64(near) / float64(len(best)) / float64(len(queries))
		o.looked += float64(looked) / float64(s.rows) / float64(len(queries))
	}
	return o
}

func TestSearchesByCellsFindWhatIsNearest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	const rows = 12_000
	for name, source := range map[string]drawn{
		"clusters": clusters(64, 100, 0.5), "tight clusters": drawings["tight clusters"], "duplicates": drawings["duplicates"],
		"few dimensions": drawings["very few dimensions"],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(51, 52))
			s, snap := spaceOfVectors(t, source.dimensions, rows, func() []float32 { return source.next(rng) })
			with := cellsOf(t, s, snap)
			if !with.cells.usable() {
				t.Fatal("these vectors have no cells")
			}
			var queries [][]float32
			for range 40 {
				queries = append(queries, source.next(rng))
			}
			for _, limit := range []int{1, 10, 50, 200, 1000} {
				o := cellRecall(t, with, queries, limit)
				t.Logf("the nearest %d: recall %.4f, %.1f %% of the rows looked at", limit, o.recall, 100*o.looked)
				if o.recall < 0.99 {
					t.Errorf("recall of the nearest %d is %.4f", limit, o.recall)
				}
				if limit == 10 && o.looked > mostLooked {
					t.Errorf("%.2f of the rows are looked at", o.looked)
				}
			}
		})
	}
}

func TestAFilterIsExactWhereThereAreCells(t *testing.T) {
	t.Parallel()
	source, rng := clusters(64, 50, 0.5), rand.New(rand.NewPCG(55, 56))
	s, snap := spaceOfVectors(t, source.dimensions, 3000, func() []float32 { return source.next(rng) })
	snap.sizes = sizes{exact: 10, cells: 1000, reach: reach{0.5, 0.5}}
	with := cellsOf(t, s, snap)
	if with.outgrown() {
		t.Fatalf("cells are not used: %+v", with.cells)
	}
	some, side := newSlotSet(snap.slots), newSlotSet(snap.slots)
	for slot := range snap.slots {
		if rng.IntN(2) == 0 {
			some.add(slot)
		}
		if floatsOf(snap.vectors.record(slot))[0] > 0 {
			side.add(slot)
		}
	}
	for which, filter := range map[string]slotSet{"half": some, "one side": side} {
		for range 10 {
			query := source.next(rng)
			want, err := denseTop(t.Context(), snap, filter, query, 50)
			if err != nil {
				t.Fatal(err)
			}
			got, err := denseTop(t.Context(), with, filter, query, 50)
			if err != nil {
				t.Fatal(err)
			}
			for _, rows := range [][]scored{want, got} {
				slices.SortFunc(rows, func(a, b scored) int { return int(a.slot) - int(b.slot) })
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(scored{})); diff != "" {
				t.Errorf("%s (-without cells +with):\n%s", which, diff)
			}
		}
	}
}

func TestVectorsWithoutOrderStayInOne(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	source, rng := drawings["independent"], rand.New(rand.NewPCG(53, 54))
	s, snap := spaceOfVectors(t, source.dimensions, 4000, func() []float32 { return source.next(rng) })
	with := cellsOf(t, s, snap)
	if with.cells == nil || with.cells.usable() || !with.outgrown() {
		t.Fatalf("they have cells: %+v", with.cells)
	}
	if left, err := filepath.Glob(filepath.Join(s.dir, "cells-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
	again := *with
	again.sizes = sizes{codes: 1, cells: 1}
	for rows, want := range map[int64]cellWork{4000: cellsDone, 4000 * recutFactor: cutCells} {
		again.rows = rows
		if got := again.wantsCells(false); got != want {
			t.Errorf("of %d rows: %d, want %d", rows, got, want)
		}
	}
}

func TestCellsOfCodesThatAreToBeMadeAnewWaitUntilNobodyWrites(t *testing.T) {
	t.Parallel()
	s := &vectorSet{dimensions: 8, centre: make([]float32, 8), sizes: sizes{codes: 1, cells: 1}, codedAt: 1000}
	for slots, want := range map[uint32][2]cellWork{ // while there are writes, and when there are none
		1000:                      {cutCells, cutCells},
		1000*recentreFactor - 100: {cellsDone, cutCells},
		1000 * recentreFactor:     {cellsDone, cellsDone}, // first the codes
	} {
		s.slots, s.rows = slots, int64(slots)
		if got := [2]cellWork{s.wantsCells(false), s.wantsCells(true)}; got != want {
			t.Errorf("%d slots: %v, want %v", slots, got, want)
		}
	}
}
