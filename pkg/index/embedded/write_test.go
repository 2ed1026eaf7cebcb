package embedded

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// TestASlotFileThatCannotBeWrittenLeavesNothingBehind has one of the files refuse what is written, while the transaction beside it
// goes well.
func TestASlotFileThatCannotBeWrittenLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(s *space) *slotFile{
		"vectors":    func(s *space) *slotFile { return s.vectors },
		"codes":      func(s *space) *slotFile { return s.codes },
		"fine codes": func(s *space) *slotFile { return s.fine },
		"places":     func(s *space) *slotFile { return s.places },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			x := mustOpen(t, dir, Options{sizes: smallSizes})
			mustWrite(t, x, crashSpace, batchOf("before", 1, 45)) // enough for codes
			before, was := current(t, x), mustAnswer(t, x)
			refuse(t, x, of, func() {
				if err := x.Write(t.Context(), crashSpace, batchOf("a", 1, 5)); err == nil {
					t.Error("a batch counts as written")
				}
				var all sync.WaitGroup
				for i := range 4 {
					all.Go(func() {
						if err := x.Write(t.Context(), crashSpace, batchOf(fmt.Sprint("b", i), 1, 5)); err == nil {
							t.Error("a batch among others counts as written")
						}
					})
				}
				all.Wait()
			})
			if now := current(t, x); now.rows != before.rows || now.slots != before.slots || len(now.segments) != len(before.segments) {
				t.Errorf("%d rows, %d slots and %d segments, before %d, %d and %d",
					now.rows, now.slots, len(now.segments), before.rows, before.slots, len(before.segments))
			}
			if diff := cmp.Diff(was, mustAnswer(t, x), told); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
			mustWrite(t, x, crashSpace, batchOf("a", 1, 5))
			for range 2 { // the second time by what is on disk
				if got := found(t, x); got != "50 rows" {
					t.Errorf("%s are found, want 50", got)
				}
				checkWritten(t, x, batchOf("a", 1, 5))
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				x = mustOpen(t, dir, Options{sizes: smallSizes})
			}
		})
	}
}

// refuse calls f while a file of a space can only be read.
func refuse(t *testing.T, x *Index, of func(s *space) *slotFile, f func()) {
	t.Helper()
	err := x.use(t.Context(), crashSpace, false, func(s *space) error {
		s.writeMu.Lock()
		file := of(s)
		whole := file.file
		onlyRead, err := os.Open(file.path)
		file.file = onlyRead
		s.writeMu.Unlock()
		if err != nil {
			return err
		}
		defer onlyRead.Close()
		f()
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		file.file = whole
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mustAnswer is answers, of an index that is sound.
func mustAnswer(t *testing.T, x *Index) []index.Result {
	t.Helper()
	got, err := answers(t, x)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// checkWritten finds each row by its vector and by its own word.
func checkWritten(t *testing.T, x *Index, rows []index.Row) {
	t.Helper()
	for _, r := range rows {
		for _, q := range []index.Query{{Text: crashWord(r.DatasourceID, r.Generation, r.Ordinal), Limit: 1}, {Vector: r.Vector, Limit: 1}} {
			got, err := x.Search(t.Context(), crashSpace, q)
			if err != nil || len(got.Hits) != 1 || got.Hits[0].Key != r.Key {
				t.Errorf("row %s is not found by %q: %+v, %v", r.Key, q.Text, got.Hits, err)
			}
		}
	}
}

// TestCodesOfAnEpochThatHasPassedAreMadeAnew writes a batch whose codes were made before the space had others.
func TestCodesOfAnEpochThatHasPassedAreMadeAnew(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{sizes: smallSizes})
	mustWrite(t, x, crashSpace, batchOf("a", 1, 45))
	rows := batchOf("late", 1, 5)
	err := x.use(t.Context(), crashSpace, true, func(s *space) error {
		late, err := x.prepare(t.Context(), crashSpace, rows)
		if err != nil {
			return err
		}
		makeCodesOf(late.rows, s.current)
		before, old := s.current.epoch, bytes.Clone(late.rows[0].fine)
		if before == 0 || old == nil {
			t.Errorf("codes %x of epoch %d", old, before)
		}
		mustWrite(t, x, crashSpace, batchOf("b", 1, recentreFactor*45))
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		if s.current.epoch == before {
			t.Error("the space has kept its codes")
		}
		if err := s.writeBatches(t.Context(), []*batch{late}); err != nil {
			return err
		}
		if bytes.Equal(late.rows[0].fine, old) {
			t.Error("the codes are those of before")
		}
		checkCodes(t, s.current)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkWritten(t, x, rows)
}

// checkCodes compares all codes with those that are made of the vectors one by one.
func checkCodes(t *testing.T, s *snapshot) {
	t.Helper()
	coder := quant.NewCoder(s.centre)
	got := make([]byte, s.codes.payload+4)
	err := s.each(s.vectors, func(slot uint32) error {
		code, fine := codesOf(coder, floatsOf(s.vectors.record(slot)))
		quant.Take(got, s.codes.group(int(slot/64)), s.codes.columns, int(slot%64))
		if !bytes.Equal(code, got[:s.codes.payload]) || !bytes.Equal(fine, s.fine.record(slot)) {
			return fmt.Errorf("the codes in slot %d are others than those of the vector", slot)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCodesThatSeveralMakeAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	source, rng := clusters(24, 5, 1), rand.New(rand.NewPCG(81, 82))
	for _, n := range []int{1, parallelRows - 1, 3*parallelRows + 70} {
		checkCodes(t, vectorsOnly(t, source.dimensions, n, func() []float32 { return source.next(rng) }))
	}
}
