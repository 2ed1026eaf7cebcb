package embedded

import (
	"fmt"
	"math"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// versionOf is the number of the space's last commit.
func versionOf(t *testing.T, x *Index) (version int64) {
	t.Helper()
	err := x.use(t.Context(), crashSpace, false, func(s *space) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		version = s.current.version
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func TestManyGenerationsAreDeletedInOneCommit(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	var which []index.Generations
	for i := range 64 {
		source := fmt.Sprint("s", i)
		mustWrite(t, x, crashSpace, batchOf(source, 1, 2))
		which = append(which, index.Generations{DatasourceID: source, Below: uint64(2 + i)}, index.Generations{DatasourceID: "absent" + source, Below: 9})
	}
	mustWrite(t, x, crashSpace, batchOf("stays", 1, 2))
	if err := x.mergeAll(t.Context(), crashSpace); err != nil { // nothing but deletions makes commits now
		t.Fatal(err)
	}
	before := versionOf(t, x)
	if err := x.DeleteGenerations(t.Context(), crashSpace, which...); err != nil {
		t.Fatal(err)
	}
	if n := versionOf(t, x) - before; n < 1 || n > 2 { // a merge may have followed
		t.Errorf("%d commits", n)
	}
	if n, err := x.Count(t.Context(), crashSpace, "stays", 1); err != nil || n != 2 {
		t.Errorf("%d rows stay: %v", n, err)
	}
	before = versionOf(t, x)
	if err := x.DeleteGenerations(t.Context(), crashSpace, which...); err != nil {
		t.Fatal(err)
	}
	if n := versionOf(t, x) - before; n > 1 {
		t.Errorf("%d commits where nothing is left to delete", n)
	}
}

func TestWhatIsMuchIsDeletedInSeveralCommits(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	for _, source := range []string{"a", "b", "c"} {
		mustWrite(t, x, crashSpace, batchOf(source, 1, deletedAtOnce))
	}
	mustWrite(t, x, crashSpace, batchOf("d", 1, 1))
	err := x.use(t.Context(), crashSpace, false, func(s *space) error {
		var rest []doomed
		for _, source := range []string{"a", "absent", "b", "c"} {
			rest = append(rest, doomedBy(index.Generations{DatasourceID: source, Below: 5}))
		}
		for _, want := range []int{3, 1, 0} { // the absent one goes with the one that follows
			var err error
			if rest, err = s.deleteRows(t.Context(), rest); err != nil {
				return err
			}
			if len(rest) != want {
				t.Errorf("%v is left, want %d", rest, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: "d", Below: math.MaxUint64}); err != nil {
		t.Fatal(err)
	}
	if files := left(t, x); len(files) > 0 {
		t.Errorf("left are %v", files)
	}
}
