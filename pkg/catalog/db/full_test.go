package db

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// TestATransactionThatFailsOnAFullDiskLeavesNothing limits the database's size, which makes SQLite report a full disk.
func TestATransactionThatFailsOnAFullDiskLeavesNothing(t *testing.T) {
	t.Parallel()
	d := shared(t)
	ctx := t.Context()
	limit := func(pages int) {
		t.Helper()
		if _, err := d.write.ExecContext(ctx, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.write.ExecContext(ctx, `CREATE TABLE texts (n INTEGER PRIMARY KEY, text TEXT)`); err != nil {
		t.Fatal(err)
	}
	var pages int
	if err := d.Read.QueryRow(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit(pages + 4)
	large := func(n int) func(*Tx) error {
		return func(t *Tx) error {
			if _, err := t.Exec(ctx, `INSERT INTO numbers (n) VALUES (?)`, n); err != nil {
				return err
			}
			_, err := t.Exec(ctx, `INSERT INTO texts (n, text) VALUES (?, ?)`, n, strings.Repeat("x", 1<<20))
			return err
		}
	}
	if _, err := d.transact(ctx, large(1)); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a transaction that there is no room for: %v", err)
	}
	if _, err := d.write.ExecContext(ctx, `INSERT INTO texts (n, text) VALUES (0, ?)`, strings.Repeat("x", 1<<20)); !errors.Is(Damage(err), syscall.ENOSPC) {
		t.Errorf("a full disk is not recognised: %v", err)
	}
	// A small transaction shares a commit with one that is too large.
	release := occupy(t, d)
	results := make(chan error, 2)
	for n, f := range map[int]func(*Tx) error{2: large(2), 3: insert(ctx, 3)} {
		go func() {
			_, err := d.transact(ctx, f)
			if n == 2 && domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("the one without room: %v", err)
			}
			if n == 3 && err != nil && domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("the one with room: %v", err)
			}
			if n == 3 {
				results <- err
			} else {
				results <- nil
			}
		}()
	}
	release()
	taken := 1
	for range 2 {
		if err := <-results; err != nil {
			taken = 0
		}
	}
	if n := numbers(t, d, 1, 2); n != 0 {
		t.Errorf("%d rows are left of what was refused", n)
	}
	if n := numbers(t, d, 3, 3); n != taken {
		t.Errorf("%d rows are there of a transaction of which %d was told as done", n, taken)
	}
	limit(1 << 20)
	if _, err := d.transact(ctx, large(1)); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
