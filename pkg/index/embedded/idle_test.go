package embedded

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

func TestASpaceIsIdleAfterATimeWithoutWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q idleSpaces
		q.begin(2 * time.Second)
		defer q.end()
		a, b := index.Space{DatastoreID: "a"}, index.Space{DatastoreID: "b"}
		reported := func() []index.Space {
			select {
			case <-q.ready:
				return q.take()
			default:
				return nil
			}
		}
		began := time.Now()
		for _, step := range []struct {
			at    time.Duration
			write []index.Space
			want  []index.Space
		}{
			{0, []index.Space{a, b}, nil},
			{time.Second, []index.Space{a}, nil},
			{2100 * time.Millisecond, nil, []index.Space{b}}, // a was written again
			{2900 * time.Millisecond, nil, nil},
			{3100 * time.Millisecond, nil, []index.Space{a}},
			{9 * time.Second, nil, nil}, // both were already reported
			{10 * time.Second, []index.Space{b}, nil},
			{12100 * time.Millisecond, nil, []index.Space{b}},
		} {
			time.Sleep(step.at - time.Since(began))
			synctest.Wait()
			if got := reported(); !slices.Equal(got, step.want) {
				t.Errorf("after %v: %v, want %v", step.at, got, step.want)
			}
			for _, id := range step.write {
				q.note(id)
			}
		}
	})
}

// TestAnIdleSpaceIsSettled writes many small batches and waits until they are merged in the background. Search results
// must not change.
func TestAnIdleSpaceIsSettled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := mustOpen(t, dir, Options{idleTime: time.Hour})
	rng := rand.New(rand.NewPCG(11, 12))
	for range 7 {
		var rows []index.Row
		for range 1 + rng.IntN(30) {
			rows = append(rows, crashRow("a", rng.Uint64N(4), rng.IntN(60)))
		}
		if err := x.Write(t.Context(), crashSpace, rows); err != nil {
			t.Fatal(err)
		}
	}
	q := index.Query{Text: "common words " + crashWord("a", 1, 7), Limit: 1000}
	want := search(t.Context(), t, x, q)
	if n := segmentsOf(t, x); n != 7 {
		t.Fatalf("%d segments of 7 batches while it may be written to", n)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	// Segments from before a restart must be merged as well.
	x = mustOpen(t, dir, Options{idleTime: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for segmentsOf(t, x) > lexical.MaxIdleSegments {
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatal("the space does not settle")
		}
	}
	if diff := cmp.Diff(want, search(t.Context(), t, x, q)); diff != "" {
		t.Errorf("(-before +settled):\n%s", diff)
	}
}

func segmentsOf(t *testing.T, x *Index) (n int) {
	t.Helper()
	err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
		n = len(s.Snapshot().Segments)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
