package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// shared opens a database with a single table of numbers.
func shared(t *testing.T) *DB {
	t.Helper()
	d, err := connect(t.Context(), Options{Path: filepath.Join(t.TempDir(), "catalog.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := d.write.ExecContext(t.Context(), `CREATE TABLE numbers (n INTEGER PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	return d
}

func insert(ctx context.Context, n int) func(*Tx) error {
	return func(t *Tx) error {
		_, err := t.Exec(ctx, `INSERT INTO numbers (n) VALUES (?)`, n)
		return err
	}
}

// numbers counts the stored numbers from first to last, inclusive.
func numbers(t *testing.T, d *DB, first, last int) (n int) {
	t.Helper()
	if err := d.Read.QueryRow(t.Context(), `SELECT COUNT(*) FROM numbers WHERE n BETWEEN ? AND ?`, first, last).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// occupy keeps a transaction open until release is called. Transactions started in the meantime share one commit.
func occupy(t *testing.T, d *DB) (release func()) {
	t.Helper()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once // the transaction may be retried
	go func() {
		defer close(ended)
		if _, err := d.transact(t.Context(), func(*Tx) error { once.Do(func() { close(began) }); <-end; return nil }); err != nil {
			t.Error(err)
		}
	}()
	<-began
	return func() { close(end); <-ended }
}

// gather waits until n transactions are waiting for the lock.
func gather(d *DB, n int64) {
	for d.groups.waiting.Load() < n {
		runtime.Gosched()
	}
}

func TestTransactionsOfAGroupAreCommittedOrRolledBackOneByOne(t *testing.T) {
	t.Parallel()
	d := shared(t)
	refused := errors.New("refused")
	release := occupy(t, d)
	var all sync.WaitGroup
	const members = 60
	for n := range members {
		all.Go(func() {
			_, err := d.transact(t.Context(), func(t *Tx) error {
				if err := insert(context.Background(), n)(t); err != nil || n%3 != 0 {
					return err
				}
				return fmt.Errorf("number %d: %w", n, refused)
			})
			if failed := errors.Is(err, refused); failed != (n%3 == 0) || err != nil && !failed {
				t.Errorf("number %d: %v", n, err)
			}
			if err == nil && numbers(t, d, n, n) != 1 {
				t.Errorf("number %d was told as stored before it was", n)
			}
		})
	}
	gather(d, members)
	release()
	all.Wait()
	if got := numbers(t, d, 0, members); got != members/3*2 {
		t.Errorf("%d numbers are stored, want %d", got, members/3*2)
	}
}

func TestWaitingTransactionsShareCommits(t *testing.T) {
	t.Parallel()
	d := shared(t)
	var mu sync.Mutex
	commits := map[*commit]bool{}
	release := occupy(t, d)
	var all sync.WaitGroup
	const members = 16
	for n := range members {
		all.Go(func() {
			if _, err := d.transact(t.Context(), func(*Tx) error {
				mu.Lock()
				defer mu.Unlock()
				commits[d.groups.open] = true
				return nil
			}); err != nil {
				t.Errorf("member %d: %v", n, err)
			}
		})
	}
	gather(d, members)
	release()
	all.Wait()
	if len(commits) == members {
		t.Errorf("%d transactions took %d commits", members, len(commits))
	}
}

func TestACancelledCallerLeavesTheOthersCommitted(t *testing.T) {
	t.Parallel()
	d := shared(t)
	going, left := context.WithCancel(t.Context())
	release := occupy(t, d)
	var all sync.WaitGroup
	const members = 20
	for n := range members {
		ctx := t.Context()
		if n%2 == 0 {
			ctx = going
		}
		all.Go(func() {
			switch _, err := d.transact(ctx, insert(ctx, n)); {
			case n%2 == 0 && !errors.Is(err, context.Canceled), n%2 == 1 && err != nil:
				t.Errorf("member %d: %v", n, err)
			}
		})
	}
	gather(d, members)
	left()
	release()
	all.Wait()
	if got := numbers(t, d, 0, members); got != members/2 {
		t.Errorf("%d numbers are stored, want %d", got, members/2)
	}
}

func TestACancelledCallerDoesNotWaitForTheLock(t *testing.T) {
	t.Parallel()
	d := shared(t)
	release := occupy(t, d)
	going, left := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := d.transact(going, insert(going, 1))
		gone <- err
	}()
	gather(d, 1)
	left()
	if err := <-gone; !errors.Is(err, context.Canceled) { // because the other transaction is still running
		t.Errorf("%v", err)
	}
	release()
	if got := numbers(t, d, 1, 1); got != 0 {
		t.Error("a transaction that was never begun is stored")
	}
}

// TestNoCommitStaysOpenWhenCallersAreCancelled cancels callers at random moments. The others must still get a result,
// even if no further caller arrives to perform the commit.
func TestNoCommitStaysOpenWhenCallersAreCancelled(t *testing.T) {
	t.Parallel()
	d := shared(t)
	const rounds, members = 200, 6
	for round := range rounds {
		going, left := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for n := range members {
			ctx := t.Context()
			if n%2 == 0 {
				ctx = going
			}
			all.Go(func() {
				if _, err := d.transact(ctx, insert(ctx, round*members+n)); err != nil && n%2 == 1 {
					t.Errorf("member %d: %v", n, err)
				}
			})
		}
		left()
		all.Wait() // hangs if a caller waits for a commit that nobody makes
		if d.groups.open != nil {
			t.Fatal("a commit is open, and everybody has gone")
		}
	}
	if got := numbers(t, d, 0, rounds*members); got < rounds*members/2 {
		t.Errorf("%d numbers are stored, want %d or more", got, rounds*members/2)
	}
}

func TestACancelledStatementRollsBackNoOtherTransaction(t *testing.T) {
	t.Parallel()
	d := shared(t)
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			if n%8 != 0 {
				if _, err := d.transact(t.Context(), insert(t.Context(), n)); err != nil {
					t.Errorf("member %d: %v", n, err)
				}
				return
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := d.transact(ctx, func(t *Tx) error {
				cutShort := make(chan struct{})
				go func() { defer close(cutShort); cancel() }()
				defer func() { <-cutShort }()
				_, err := t.Exec(ctx, `WITH RECURSIVE many (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM many LIMIT 10000000)
					INSERT INTO numbers (n) SELECT n FROM many`)
				return err
			})
			if err == nil {
				t.Errorf("member %d was not cut short", n)
			}
		})
	}
	all.Wait()
	if got := numbers(t, d, 0, 999); got != 35 {
		t.Errorf("%d numbers are stored, want 35", got)
	}
	if got := numbers(t, d, 1000, 1<<40); got != 0 {
		t.Errorf("%d numbers are stored of statements that were cut short", got)
	}
}

func TestAPanicRollsBackItsTransactionAndNoOther(t *testing.T) {
	t.Parallel()
	d := shared(t)
	release := occupy(t, d)
	var all sync.WaitGroup
	const members = 12
	for n := range members {
		all.Go(func() {
			defer func() {
				if x := recover(); (x != nil) != (n == 5) {
					t.Errorf("member %d: panic %v", n, x)
				}
			}()
			_, err := d.transact(t.Context(), func(tx *Tx) error {
				if err := insert(t.Context(), n)(tx); err != nil {
					return err
				}
				if n == 5 {
					panic("a fault in the program")
				}
				return nil
			})
			if err != nil {
				t.Errorf("member %d: %v", n, err)
			}
		})
	}
	gather(d, members)
	release()
	all.Wait()
	if got := numbers(t, d, 0, members); got != members-1 {
		t.Errorf("%d numbers are stored, want %d", got, members-1)
	}
}
