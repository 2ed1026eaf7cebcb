package embedded

import (
	"fmt"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// versionOf returns the number of the space's last commit.
func versionOf(t *testing.T, x *Index) (version int64) {
	t.Helper()
	err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
		version = s.Snapshot().Version
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
	if err := x.mergeAll(t.Context(), crashSpace); err != nil { // from now on, only deletions cause commits
		t.Fatal(err)
	}
	before := versionOf(t, x)
	if err := x.DeleteGenerations(t.Context(), crashSpace, which...); err != nil {
		t.Fatal(err)
	}
	if n := versionOf(t, x) - before; n < 1 || n > 2 { // a merge may have followed the deletion
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
