package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

// writeTogether starts the writers and lets them write only once all of them are queued. It returns how many versions
// their writes create.
func writeTogether(t *testing.T, s *Space, writers ...func()) (versions int64) {
	t.Helper()
	mustPut(t, s, testRows("before", 1, 1))
	var all sync.WaitGroup
	s.writeMu.Lock()
	before := s.current.Version
	for i, w := range writers {
		all.Go(w)
		s.waitFor(i + 1) // keeps the order
	}
	s.writeMu.Unlock()
	all.Wait()
	return s.Snapshot().Version - before
}

// waitFor waits until the given number of batches is queued.
func (s *Space) waitFor(batches int) {
	for waiting := 0; waiting < batches; runtime.Gosched() {
		s.group.mu.Lock()
		waiting = len(s.group.waiting)
		s.group.mu.Unlock()
	}
}

func TestWaitingWritersShareACommit(t *testing.T) {
	t.Parallel()
	s := testSpace(t, vector.Thresholds{})
	var writers []func()
	for i := range 5 {
		writers = append(writers, func() {
			mustPut(t, s, testRows(fmt.Sprintf("%c", 'a'+i), 1, 2))
		})
	}
	if versions := writeTogether(t, s, writers...); versions != 1 {
		t.Errorf("%d transactions for five writers", versions)
	}
	if got := foundBy(t, s, "common"); got != 11 {
		t.Errorf("%d rows are found, want 11", got)
	}
}

func TestTheLastRowOfAKeyWinsInAGroup(t *testing.T) {
	t.Parallel()
	s := testSpace(t, vector.Thresholds{})
	var writers []func()
	for i := range 3 {
		writers = append(writers, func() {
			rows := testRows("a", 1, 1)
			rows[0].Text = fmt.Sprintf("common attempt%d", i)
			mustPut(t, s, rows)
		})
	}
	writeTogether(t, s, writers...)
	if all, last := foundBy(t, s, "attempt0 attempt1 attempt2"), foundBy(t, s, "attempt2"); all != 1 || last != 1 {
		t.Errorf("%d rows are found, %d of the last writer", all, last)
	}
}

func TestWritersOfAGroupFailSeparately(t *testing.T) {
	t.Parallel()
	s := testSpace(t, vector.Thresholds{})
	write := func(source string) error {
		return put(t.Context(), t, s, testRows(source, 1, 1))
	}
	if err := write("z"); err != nil {
		t.Fatal(err)
	}
	_, err := s.writes.ExecContext(t.Context(), `CREATE TRIGGER refuse BEFORE INSERT ON rows WHEN NEW.datasource = 'b' BEGIN SELECT RAISE(ABORT, 'refused'); END`)
	if err != nil {
		t.Fatal(err)
	}
	var errs [3]error
	writeTogether(t, s, func() { errs[0] = write("a") }, func() { errs[1] = write("b") }, func() { errs[2] = write("c") })
	if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "refused") || errs[2] != nil {
		t.Errorf("the errors are %v", errs)
	}
	if got := foundBy(t, s, "common"); got != 4 { // one each from "z", "before", "a" and "c"
		t.Errorf("%d rows are found, want 4", got)
	}
}

func TestACancelledWriterIsNotWritten(t *testing.T) {
	t.Parallel()
	s := testSpace(t, vector.Thresholds{})
	gone, leave := context.WithCancel(t.Context())
	var errs [2]error
	writeTogether(t, s,
		func() { errs[0] = put(gone, t, s, testRows("a", 1, 1)) },
		func() { leave(); errs[1] = put(t.Context(), t, s, testRows("b", 1, 1)) })
	if errs[0] != nil && !errors.Is(errs[0], context.Canceled) || errs[1] != nil {
		t.Errorf("the errors are %v", errs)
	}
	want := 2 // rows of "before" and "b"
	if errs[0] == nil {
		want = 3 // a was committed with b before it could be cancelled
	}
	if got := foundBy(t, s, "common"); got != want {
		t.Errorf("%d rows are found, want %d", got, want)
	}
}

// batchOfRowsFrom returns a batch of n rows numbered from `first`.
func batchOfRowsFrom(first, n int) *Batch {
	b := &Batch{}
	for i := range n {
		b.Rows = append(b.Rows, &Prepared{row: &index.Row{Key: fmt.Sprint(first + i)}})
	}
	return b
}

func TestAWriterReturnsOnceItsBatchIsCommitted(t *testing.T) {
	t.Parallel()
	s := testSpace(t, vector.Thresholds{})
	mustPut(t, s, testRows("before", 1, 1))
	s.writeMu.Lock()
	before := s.current.Version
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() { mustPut(t, s, testRows(fmt.Sprintf("%c", 'a'+i), 1, 1)) })
	}
	s.waitFor(4)
	s.writeMu.Unlock()
	for s.Snapshot().Version == before {
		runtime.Gosched()
	}
	s.writeMu.Lock() // like a merge
	defer s.writeMu.Unlock()
	all.Wait()
}

func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	var g group
	first := 0
	for _, n := range []int{400, 600, 1, maxGroupRows + 5, 3} {
		g.add(&waitingBatch{Batch: batchOfRowsFrom(first, n)})
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

func TestAKeyOccursOnceInAGroup(t *testing.T) {
	t.Parallel()
	var g group
	for _, first := range []int{0, 5, 9, 3, 20, 30} { // each batch has ten rows
		g.add(&waitingBatch{Batch: batchOfRowsFrom(first, 10)})
	}
	var sizes []int
	for len(g.waiting) > 0 {
		sizes = append(sizes, len(g.take()))
	}
	if got := fmt.Sprint(sizes); got != "[1 1 1 3]" {
		t.Errorf("batches in groups: %s", got)
	}
}
