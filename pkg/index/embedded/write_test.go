package embedded

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

// TestASlotFileThatCannotBeWrittenLeavesNothingBehind makes one slot file read-only, while the database transaction
// alone would succeed.
func TestASlotFileThatCannotBeWrittenLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{
		"vectors": vectorFile, "codes": "codes-*.bits", "fine codes": "codes-*.bytes", "places": locationFile,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			x := mustOpen(t, dir, Options{sizes: smallSizes})
			mustWrite(t, x, crashSpace, batchOf("before", 1, 45)) // enough rows for codes
			before, was := current(t, x), mustAnswer(t, x)
			refuse(t, dir, pattern, func() {
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
			if now := current(t, x); now.Rows != before.Rows || now.Slots != before.Slots || len(now.Segments) != len(before.Segments) {
				t.Errorf("%d rows, %d slots and %d segments, before %d, %d and %d",
					now.Rows, now.Slots, len(now.Segments), before.Rows, before.Slots, len(before.Segments))
			}
			if diff := cmp.Diff(was, mustAnswer(t, x), reported); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
			mustWrite(t, x, crashSpace, batchOf("a", 1, 5))
			for range 2 { // the second time reads the space from disk
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

// mustAnswer is like answers, but fails the test if a search fails.
func mustAnswer(t *testing.T, x *Index) []index.Result {
	t.Helper()
	got, err := answers(t, x)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// checkWritten checks that each row is found by its vector and by its own word.
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
