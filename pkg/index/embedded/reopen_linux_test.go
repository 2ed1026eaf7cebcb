package embedded

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestASpaceIsReadWhileItsDiskRefusesWrites makes a commit fail as if the disk had become read-only. A space can't be
// reopened on such a disk, so the failed commit must leave it open and readable.
func TestASpaceIsReadWhileItsDiskRefusesWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var refuses atomic.Bool
	x := mustOpen(t, dir, Options{sizes: smallSizes, Log: slog.New(slog.DiscardHandler), testWrite: func(string) error {
		if refuses.Load() {
			return errors.New("read-only file system")
		}
		return nil
	}})
	mustWrite(t, x, crashSpace, batchOf("before", 1, 45))
	was := mustAnswer(t, x)
	refuses.Store(true)
	refuse(t, dir, "space.db-wal", func() {
		if err := x.Write(t.Context(), crashSpace, batchOf("a", 1, 5)); err == nil {
			t.Fatal("a batch counts as written")
		}
		opened := openings(x)
		for range 3 {
			if diff := cmp.Diff(was, mustAnswer(t, x), reported); diff != "" {
				t.Errorf("while the disk refuses writes (-before +after):\n%s", diff)
			}
			if err := x.Write(t.Context(), crashSpace, batchOf("a", 1, 5)); err == nil {
				t.Error("a batch counts as written")
			}
		}
		if openings(x) != opened {
			t.Error("the space was opened again, which needs a write")
		}
	})
	refuses.Store(false)
	for guard := time.Now().Add(20 * time.Second); x.Write(t.Context(), crashSpace, batchOf("a", 1, 5)) != nil; {
		if time.Now().After(guard) {
			t.Fatal("the space is not opened again though its disk accepts writes")
		}
	}
	if got := found(t, x); got != "50 rows" {
		t.Errorf("%s are found, want 50", got)
	}
}

// openings returns how often a space was opened.
func openings(x *Index) uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.opened
}
