package vector

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
)

// ivfOf builds and calibrates a set's IVF, as a space does.
func ivfOf(t testing.TB, s *Files, snap *Set) *Set {
	t.Helper()
	c, files, err := s.BuildIVF(t.Context(), snap, Rebuild, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.ivf = files
	with := *snap
	with.IVF, with.Written = c, 0
	if files != nil {
		with.Assigned = snap.Live
	}
	return &with
}

// ivfRecall measures IVF searches' recall and the fraction of all rows whose codes they compare.
func ivfRecall(t testing.TB, s *Set, queries [][]float32, limit int) (o measured) {
	t.Helper()
	for _, q := range queries {
		want, err := ScanExact(t.Context(), s, nil, q, limit, int(s.Rows))
		if err != nil {
			t.Fatal(err)
		}
		got, looked, err := ScanLists(t.Context(), s, q, limit)
		if err != nil {
			t.Fatal(err)
		}
		best := want.Best(limit)
		last := best[len(best)-1].Score
		near := len(slices.DeleteFunc(slices.Clone(got.Best), func(h topk.Scored) bool { return h.Score < last }))
		o.recall += float64(near) / float64(len(best)) / float64(len(queries))
		o.scanned += float64(looked) / float64(s.Rows) / float64(len(queries))
	}
	return o
}

func TestIVFSearchesFindTheNearestRows(t *testing.T) {
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
			with := ivfOf(t, s, snap)
			if !with.IVF.Usable() {
				t.Fatal("these vectors have no cells")
			}
			var queries [][]float32
			for range 40 {
				queries = append(queries, source.next(rng))
			}
			for _, limit := range []int{1, 10, 50, 200, 1000} {
				o := ivfRecall(t, with, queries, limit)
				t.Logf("the nearest %d: recall %.4f, %.1f %% of the rows looked at", limit, o.recall, 100*o.scanned)
				if o.recall < 0.99 {
					t.Errorf("recall of the nearest %d is %.4f", limit, o.recall)
				}
				if limit == 10 && o.scanned > maxScanned {
					t.Errorf("%.2f of the rows are looked at", o.scanned)
				}
			}
		})
	}
}

func TestFilteredSearchesAreExactWithIVF(t *testing.T) {
	t.Parallel()
	source, rng := clusters(64, 50, 0.5), rand.New(rand.NewPCG(55, 56))
	s, snap := spaceOfVectors(t, source.dimensions, 3000, func() []float32 { return source.next(rng) })
	snap.Thresholds = Thresholds{Exact: 10, IVF: 1000, Radius: Radius{0.5, 0.5}}
	with := ivfOf(t, s, snap)
	if with.SkipsIVF() {
		t.Fatalf("cells are not used: %+v", with.IVF)
	}
	some, side := bitmap.NewSet(snap.Slots), bitmap.NewSet(snap.Slots)
	for slot := range snap.Slots {
		if rng.IntN(2) == 0 {
			some.Add(slot)
		}
		if Floats(snap.Full.Record(slot))[0] > 0 {
			side.Add(slot)
		}
	}
	for which, filter := range map[string]bitmap.Set{"half": some, "one side": side} {
		for range 10 {
			query := source.next(rng)
			want, err := Search(t.Context(), snap, filter, query, 50)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Search(t.Context(), with, filter, query, 50)
			if err != nil {
				t.Fatal(err)
			}
			for _, rows := range [][]topk.Scored{want, got} {
				slices.SortFunc(rows, func(a, b topk.Scored) int { return int(a.Slot) - int(b.Slot) })
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(topk.Scored{})); diff != "" {
				t.Errorf("%s (-without cells +with):\n%s", which, diff)
			}
		}
	}
}

func TestUnclusteredVectorsHaveNoIVF(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	source, rng := drawings["independent"], rand.New(rand.NewPCG(53, 54))
	s, snap := spaceOfVectors(t, source.dimensions, 4000, func() []float32 { return source.next(rng) })
	with := ivfOf(t, s, snap)
	if with.IVF == nil || with.IVF.Usable() || !with.SkipsIVF() {
		t.Fatalf("the IVF counts as usable: %+v", with.IVF)
	}
	if left, err := filepath.Glob(filepath.Join(s.Dir, "cells-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
	again := *with
	again.Thresholds = Thresholds{Codes: 1, IVF: 1}
	for rows, want := range map[int64]Work{4000: NoWork, 4000 * rebuildFactor: Rebuild} {
		again.Rows = rows
		if got := again.IVFWork(false); got != want {
			t.Errorf("of %d rows: %d, want %d", rows, got, want)
		}
	}
}

func TestTheIVFOfOutdatedCodesWaitsForAnIdleSpace(t *testing.T) {
	t.Parallel()
	s := &Set{Dimensions: 8, Centroid: make([]float32, 8), Thresholds: Thresholds{Codes: 1, IVF: 1}, CodedAt: 1000}
	for slots, want := range map[uint32][2]Work{ // work due between writes, and when idle
		1000:                      {Rebuild, Rebuild},
		1000*RecentreFactor - 100: {NoWork, Rebuild},
		1000 * RecentreFactor:     {NoWork, NoWork}, // new codes come first
	} {
		s.Slots, s.Rows = slots, int64(slots)
		if got := [2]Work{s.IVFWork(false), s.IVFWork(true)}; got != want {
			t.Errorf("%d slots: %v, want %v", slots, got, want)
		}
	}
}
