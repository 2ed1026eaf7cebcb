package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// together has writers wait for one another, and lets them write when all do. It returns by how many versions the space has
// grown.
func together(t *testing.T, x *Index, writers ...func()) (versions int64) {
	t.Helper()
	if err := x.Write(t.Context(), crashSpace, []index.Row{crashRow("before", 1, 0)}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	err := x.use(t.Context(), crashSpace, true, func(s *space) error {
		s.writeMu.Lock()
		before := s.current.version
		for i, w := range writers {
			all.Go(w)
			s.waitFor(i + 1) // so that their order is that of the arguments
		}
		s.writeMu.Unlock()
		all.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		versions = s.current.version - before
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return versions
}

// waitFor returns when so many batches wait to be written.
func (s *space) waitFor(batches int) {
	for waiting := 0; waiting < batches; runtime.Gosched() {
		s.group.mu.Lock()
		waiting = len(s.group.waiting)
		s.group.mu.Unlock()
	}
}

// found is the text of all rows that are found.
func found(t *testing.T, x *Index) string {
	t.Helper()
	r, err := x.Search(t.Context(), crashSpace, index.Query{Text: "common", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]bool)
	for _, h := range r.Hits {
		keys[h.Key] = true
	}
	return fmt.Sprint(len(keys), " rows")
}

func TestWritersThatWaitAreWrittenTogether(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	var writers []func()
	for i := range 5 {
		writers = append(writers, func() {
			if err := x.Write(t.Context(), crashSpace, []index.Row{crashRow(fmt.Sprintf("%c", 'a'+i), 1, 0), crashRow(fmt.Sprintf("%c", 'a'+i), 1, 1)}); err != nil {
				t.Error(err)
			}
		})
	}
	if versions := together(t, x, writers...); versions != 1 {
		t.Errorf("%d transactions for five writers", versions)
	}
	if got := found(t, x); got != "11 rows" {
		t.Errorf("%s are found, want 11", got)
	}
}

func TestOfRowsWithOneKeyThatAreWrittenTogetherTheLastStays(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	var writers []func()
	for i := range 3 {
		writers = append(writers, func() {
			row := crashRow("a", 1, 0)
			row.Text = fmt.Sprintf("common attempt%d", i)
			if err := x.Write(t.Context(), crashSpace, []index.Row{row}); err != nil {
				t.Error(err)
			}
		})
	}
	together(t, x, writers...)
	r, err := x.Search(t.Context(), crashSpace, index.Query{Text: "attempt0 attempt1 attempt2", Limit: 10})
	if err != nil || len(r.Hits) != 1 || r.Hits[0].Key == "" {
		t.Errorf("found %+v, %v", r.Hits, err)
	}
}

func TestNoWriterFailsForAnothersFault(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	write := func(source string) error {
		return x.Write(t.Context(), crashSpace, []index.Row{crashRow(source, 1, 0)})
	}
	if err := write("z"); err != nil {
		t.Fatal(err)
	}
	err := x.use(t.Context(), crashSpace, true, func(s *space) error {
		_, err := s.writes.ExecContext(t.Context(), `CREATE TRIGGER refuse BEFORE INSERT ON rows WHEN NEW.datasource = 'b' BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var errs [3]error
	together(t, x, func() { errs[0] = write("a") }, func() { errs[1] = write("b") }, func() { errs[2] = write("c") })
	if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "refused") || errs[2] != nil {
		t.Errorf("the errors are %v", errs)
	}
	if got := found(t, x); got != "4 rows" { // z, before, a and c
		t.Errorf("%s are found, want 4", got)
	}
}

func TestAWriterThatHasGoneIsNotWritten(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	gone, leave := context.WithCancel(t.Context())
	var errs [2]error
	together(t, x,
		func() { errs[0] = x.Write(gone, crashSpace, []index.Row{crashRow("a", 1, 0)}) },
		func() { leave(); errs[1] = x.Write(t.Context(), crashSpace, []index.Row{crashRow("b", 1, 0)}) })
	if errs[0] != nil && !errors.Is(errs[0], context.Canceled) || errs[1] != nil {
		t.Errorf("the errors are %v", errs)
	}
	want := "2 rows" // before and b
	if errs[0] == nil {
		want = "3 rows" // the other has taken it along
	}
	if got := found(t, x); got != want {
		t.Errorf("%s are found, want %s", got, want)
	}
}

// batchOfRowsFrom is a batch of n rows, the first of which has a number.
func batchOfRowsFrom(first, n int) *batch {
	b := &batch{}
	for i := range n {
		b.rows = append(b.rows, &prepared{row: &index.Row{Key: fmt.Sprint(first + i)}})
	}
	return b
}

func TestAWriterGoesOnOnceAnotherHasWrittenItsBatch(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	mustWrite(t, x, crashSpace, []index.Row{crashRow("before", 1, 0)})
	err := x.use(t.Context(), crashSpace, true, func(s *space) error {
		s.writeMu.Lock()
		before := s.current.version
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				if err := x.Write(t.Context(), crashSpace, []index.Row{crashRow(fmt.Sprintf("%c", 'a'+i), 1, 0)}); err != nil {
					t.Error(err)
				}
			})
		}
		s.waitFor(4)
		s.writeMu.Unlock()
		for version := before; version == before; runtime.Gosched() {
			s.mu.Lock()
			version = s.current.version
			s.mu.Unlock()
		}
		s.writeMu.Lock() // as a merge does
		defer s.writeMu.Unlock()
		all.Wait()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	var g group
	first := 0
	for _, n := range []int{400, 600, 1, maxGroupRows + 5, 3} {
		g.add(&waitingBatch{batch: batchOfRowsFrom(first, n)})
		first += n
	}
	var sizes []int
	for len(g.waiting) > 0 {
		sizes = append(sizes, len(g.take()))
	}
	if got := fmt.Sprint(sizes); got != "[2 1 1 1]" {
		t.Errorf("batches in groups: %s", got)
	}
}

func TestNoKeyComesTwiceInAGroup(t *testing.T) {
	t.Parallel()
	var g group
	for _, first := range []int{0, 5, 9, 3, 20, 30} { // of ten rows each
		g.add(&waitingBatch{batch: batchOfRowsFrom(first, 10)})
	}
	var sizes []int
	for len(g.waiting) > 0 {
		sizes = append(sizes, len(g.take()))
	}
	if got := fmt.Sprint(sizes); got != "[1 1 1 3]" {
		t.Errorf("batches in groups: %s", got)
	}
}
