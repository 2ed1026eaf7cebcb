package embedded

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

// everywhereIVF makes every test in the package build an IVF after a few rows.
var everywhereIVF = flag.Bool("cells", false, "have indexes that tests open with no other sizes keep codes and cells from a few rows on")

// smallSizes holds thresholds that trigger an IVF after a few rows. The probe radius is so large that an IVF search
// finds the same rows as an exact one.
var smallSizes = vector.Thresholds{Codes: 40, Exact: 8, IVF: 48, Radius: vector.Radius{8, 8}}

func TestConformanceWithIVF(t *testing.T) {
	t.Parallel()
	conform(t, Options{sizes: smallSizes})
}

// openWithIVF returns a new index with the given number of rows and an IVF.
func openWithIVF(t *testing.T, opts Options, dir string, rows int) *Index {
	t.Helper()
	x := mustOpen(t, dir, opts)
	for from := 0; from < rows; from += 50 {
		var batch []index.Row
		for i := range 50 {
			batch = append(batch, crashRow("a", 1, from+i))
		}
		mustWrite(t, x, crashSpace, batch)
	}
	buildIVF(t, x)
	return x
}

// buildIVF does any IVF maintenance that is due and returns the space's state.
func buildIVF(t *testing.T, x *Index) *store.Snapshot {
	t.Helper()
	var snap *store.Snapshot
	err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
		err := s.MaintainIVF(t.Context())
		snap = s.Snapshot()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// nearestBoth searches the current state with the IVF (`got`) and by comparing every vector (`want`).
func nearestBoth(t *testing.T, x *Index, query []float32, limit int) (got, want []string) {
	t.Helper()
	err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
		return s.Read(t.Context(), func(v store.View) error {
			if v.SkipsIVF() {
				return nil
			}
			found, _, err := vector.ScanLists(t.Context(), &v.Set, query, limit)
			if err != nil {
				return err
			}
			all, err := vector.ScanExact(t.Context(), &v.Set, nil, query, limit, int(v.Rows))
			if err != nil {
				return err
			}
			names := func(rows []topk.Scored) (out []string) {
				for _, r := range rows {
					out = append(out, fmt.Sprintf("%d %.5f", r.Slot, r.Score))
				}
				slices.Sort(out)
				return out
			}
			got, want = names(found.Best), names(all.Best(limit))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, want
}

func TestReusedSlotsAreFoundByIVF(t *testing.T) {
	t.Parallel()
	x := openWithIVF(t, Options{sizes: smallSizes}, t.TempDir(), 300)
	// Mark the space as queued, so that only this test builds its IVF.
	for waiting := true; waiting; runtime.Gosched() {
		_, waiting = x.ivfs.waiting.LoadOrStore(crashSpace, struct{}{})
	}
	rng := rand.New(rand.NewPCG(61, 62))
	compared, tails, reused := 0, 0, 0
	for round := range uint64(60) {
		source := string(rune('b' + rng.IntN(5)))
		var rows []index.Row
		for i := range 1 + rng.IntN(30) {
			rows = append(rows, crashRow(source, round+2, i))
		}
		mustWrite(t, x, crashSpace, rows)
		if rng.IntN(2) == 0 {
			if err := x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: source, Below: round + 2}); err != nil {
				t.Fatal(err)
			}
		}
		if rng.IntN(4) == 0 { // so that slots are freed
			if err := x.mergeAll(t.Context(), crashSpace); err != nil {
				t.Fatal(err)
			}
		}
		if rng.IntN(6) == 0 {
			buildIVF(t, x)
		}
		for _, limit := range []int{1, 20, 2000} {
			got, want := nearestBoth(t, x, crashRow(source, round, 1).Vector, limit)
			if diff := cmp.Diff(want, got, reported); diff != "" {
				t.Fatalf("round %d (-exact +by cells):\n%s", round, diff)
			}
			compared += len(want)
		}
		_ = x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
			if c := s.Snapshot(); c.IVF.Usable() {
				tails += c.CountUnassigned()
				reused += int(c.Assigned.Count(c.Slots)) - int(c.IVF.Rows)
			}
			return nil
		})
	}
	if compared == 0 || tails == 0 || reused == 0 {
		t.Errorf("%d rows were compared, %d were in tails, %d slots were used again", compared, tails, reused)
	}
	if err := x.Check(t.Context(), crashSpace); err != nil {
		t.Error(err)
	}
}

func TestTheIVFOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := openWithIVF(t, Options{sizes: smallSizes}, dir, 300)
	mustWrite(t, x, crashSpace, []index.Row{crashRow("tail", 1, 1)})
	before := current(t, x)
	if !before.IVF.Usable() || before.Written == 0 {
		t.Fatalf("cells %+v, %d rows since", before.IVF, before.Written)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = mustOpen(t, dir, Options{sizes: smallSizes})
	after := current(t, x)
	if !after.IVF.Usable() || after.IVF.Epoch != before.IVF.Epoch || after.Written != before.Written || after.CountUnassigned() != before.CountUnassigned() {
		t.Errorf("opened again cells are %+v and %d rows since, were %+v and %d", after.IVF, after.Written, before.IVF, before.Written)
	}
	got, want := nearestBoth(t, x, crashRow("tail", 1, 1).Vector, 20)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 20 {
		t.Errorf("(-exact +by cells):\n%s", diff)
	}
}

// current returns the space's current snapshot.
func current(t *testing.T, x *Index) (snap *store.Snapshot) {
	t.Helper()
	if err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
		snap = s.Snapshot()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestADamagedOrMissingIVFIsRebuilt(t *testing.T) {
	t.Parallel()
	change := func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for at := 10; at < len(data); at += 12 {
			data[at] ^= 0x55
		}
		return os.WriteFile(path, data, 0o600)
	}
	cut := func(path string) error { return os.Truncate(path, 10) }
	for name, spoil := range map[string]func(folder string) error{
		"changed centres": func(f string) error { return onlyFile(f, "cells-*.centres", change) },
		"changed means":   func(f string) error { return onlyFile(f, "cells-*.means", change) },
		"changed lists":   func(f string) error { return onlyFile(f, "cells-*.lists", change) },
		"cut centres":     func(f string) error { return onlyFile(f, "cells-*.centres", cut) },
		"cut lists":       func(f string) error { return onlyFile(f, "cells-*.lists", cut) },
		"no centres":      func(f string) error { return onlyFile(f, "cells-*.centres", os.Remove) },
		"no means":        func(f string) error { return onlyFile(f, "cells-*.means", os.Remove) },
		"no lists":        func(f string) error { return onlyFile(f, "cells-*.lists", os.Remove) },
		"a table of slots that is changed": func(f string) error {
			return onTable(f, `UPDATE listed SET bits = zeroblob(8196)`)
		},
		"no table of slots": func(f string) error { return onTable(f, `DROP TABLE listed`) },
		"an older program": func(f string) error {
			changeState(t, f, func(body map[string]any) { delete(body, "cells") })
			return onTable(f, `UPDATE listed SET bits = zeroblob(8196)`)
		},
		"files of a crash": func(f string) error {
			changeState(t, f, func(body map[string]any) { delete(body, "cells") })
			return os.WriteFile(filepath.Join(f, "cells-1.lists"), []byte("half"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			x := openWithIVF(t, Options{sizes: smallSizes}, dir, 300)
			search := func() index.Result {
				t.Helper()
				r, err := x.Search(t.Context(), crashSpace, index.Query{Vector: crashRow("a", 1, 7).Vector, Limit: 20})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			want := search()
			key, err := keyOf(crashSpace)
			if err := errorsOf(err, x.Close(), spoil(x.path(key))); err != nil {
				t.Fatal(err)
			}
			x = mustOpen(t, dir, Options{sizes: smallSizes})
			for range 3 {
				if diff := cmp.Diff(want, search(), reported); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if err := x.Check(t.Context(), crashSpace); err != nil {
				t.Errorf("a check says %v", err)
			}
			if snap := buildIVF(t, x); !snap.IVF.Usable() || snap.IVF.Verify() != nil {
				t.Errorf("the IVF was not built again: %+v", snap.IVF)
			}
			if diff := cmp.Diff(want, search(), reported); diff != "" {
				t.Errorf("made anew (-want +got):\n%s", diff)
			}
			if got := x.Damaged(); len(got) > 0 {
				t.Errorf("%v counts as damaged", got)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			mustClose := mustOpen(t, dir, Options{sizes: smallSizes})
			_ = current(t, mustClose)
			if left, err := filepath.Glob(filepath.Join(x.path(key), "cells-*")); err != nil || len(left) != 3 {
				t.Errorf("files of cells %v, want three: %v", left, err)
			}
		})
	}
}

// onlyFile calls `do` with the path of the only file matching the pattern.
func onlyFile(folder, pattern string, do func(path string) error) error {
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("files %v: %w", files, err)
	}
	return do(files[0])
}

// onTable executes an SQL statement on a closed space's database.
func onTable(folder, statement string) error {
	db, err := sql.Open("sqlite", filepath.Join(folder, databaseFile))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(context.Background(), statement)
	return errorsOf(err, db.Close())
}

func TestSpacesBelowTheThresholdHaveNoIVF(t *testing.T) {
	t.Parallel()
	z := smallSizes
	z.IVF = 1000
	x := openWithIVF(t, Options{sizes: z}, t.TempDir(), 300)
	if snap := current(t, x); snap.IVF != nil || !snap.SkipsIVF() || !snap.HasCodes() {
		t.Errorf("cells are %+v", snap.IVF)
	}
	if left, err := filepath.Glob(filepath.Join(x.dir, "crash", "*", "cells-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is there: %v", left, err)
	}
}

func TestNewCodesInvalidateTheIVF(t *testing.T) {
	t.Parallel()
	x := openWithIVF(t, Options{sizes: smallSizes}, t.TempDir(), 100)
	epoch := current(t, x).Epoch
	for from := 100; current(t, x).Epoch == epoch; from += 50 {
		var batch []index.Row
		for i := range 50 {
			batch = append(batch, crashRow("a", 1, from+i))
		}
		mustWrite(t, x, crashSpace, batch)
	}
	snap := buildIVF(t, x)
	if !snap.IVF.Usable() || snap.IVF.Coded != snap.Epoch {
		t.Errorf("cells are %+v, codes are of epoch %d", snap.IVF, snap.Epoch)
	}
	got, want := nearestBoth(t, x, crashRow("a", 1, 3).Vector, 20)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 20 {
		t.Errorf("(-exact +by cells):\n%s", diff)
	}
}

func TestAnImbalancedIVFIsRebuilt(t *testing.T) {
	t.Parallel()
	x := openWithIVF(t, Options{sizes: smallSizes}, t.TempDir(), 300)
	for waiting := true; waiting; runtime.Gosched() { // mark the space as queued, so that only this test builds its IVF
		_, waiting = x.ivfs.waiting.LoadOrStore(crashSpace, struct{}{})
	}
	before := current(t, x)
	var alike []index.Row
	for i := range 250 {
		r := crashRow("alike", 1, i)
		r.Vector = crashRow("alike", 1, 0).Vector
		alike = append(alike, r)
	}
	mustWrite(t, x, crashSpace, alike)
	if work := current(t, x).IVFWork(false); work != vector.Assign {
		t.Fatalf("a tail of %d rows wants %d, not to be listed", len(alike), work)
	}
	listed := buildIVF(t, x)
	if !listed.IVF.Skewed || listed.IVF.BuiltAt != before.IVF.BuiltAt || listed.IVFWork(false) != vector.Rebuild {
		t.Fatalf("250 rows in one cell leave %+v", listed.IVF)
	}
	cut := buildIVF(t, x)
	if cut.IVF.Skewed || cut.IVF.BuiltAt != cut.Rows || cut.IVFWork(false) != vector.NoWork {
		t.Errorf("cut anew they are %+v of %d rows", cut.IVF, cut.Rows)
	}
	got, want := nearestBoth(t, x, crashRow("a", 1, 3).Vector, 20)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 20 {
		t.Errorf("(-exact +by cells):\n%s", diff)
	}
}

func TestADatastoreIsDroppedDuringAnIVFBuild(t *testing.T) {
	t.Parallel()
	x := openWithIVF(t, Options{sizes: smallSizes}, t.TempDir(), 100)
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- x.building.run(t.Context(), x, crashSpace, func(_ *store.Space, ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	<-began
	if err := x.DropDatastore(t.Context(), crashSpace.DatastoreID); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
