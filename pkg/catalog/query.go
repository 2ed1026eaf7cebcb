package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// querier is what a read needs: the pool of readers, or a transaction that reads what it is going to write.
type querier interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	queryRow(ctx context.Context, text string, args ...any) scanner
}

// scanner is the one row of a query, or the current one of several.
type scanner interface{ Scan(dest ...any) error }

// failedRow is the row of a query that could not be asked.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// maxStatements bounds the statements kept prepared. The texts are constants of this package or built from few parts,
// so it is not reached; it is there so that a mistake costs time and not memory.
const maxStatements = 512

// pool prepares each statement once and keeps it.
type pool struct {
	db      *sql.DB
	dialect dialect
	mu      sync.Mutex
	stmts   map[string]*sql.Stmt
}

func newPool(db *sql.DB, d dialect) *pool {
	return &pool{db: db, dialect: d, stmts: map[string]*sql.Stmt{}}
}

// known returns the prepared statement, nil when there is none yet.
func (p *pool) known(text string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stmts[text]
}

// prepare needs a free connection and so must not be called from within a transaction on the same pool.
func (p *pool) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := p.known(text); s != nil {
		return s, nil
	}
	s, err := p.db.PrepareContext(ctx, rebind(p.dialect, text))
	if err != nil {
		return nil, fmt.Errorf("preparing %q: %w", text, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other, ok := p.stmts[text]; ok || len(p.stmts) >= maxStatements {
		_ = s.Close() // it was never used
		if other == nil {
			return nil, fmt.Errorf("preparing %q: more than %d statements", text, maxStatements)
		}
		return other, nil
	}
	p.stmts[text] = s
	return s, nil
}

func (p *pool) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s, err := p.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

func (p *pool) queryRow(ctx context.Context, text string, args ...any) scanner {
	s, err := p.prepare(ctx, text)
	if err != nil {
		return failedRow{err}
	}
	return s.QueryRowContext(ctx, args...)
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.stmts {
		errs = append(errs, s.Close())
	}
	clear(p.stmts)
	return errors.Join(append(errs, p.db.Close())...)
}

// tx is a write transaction, and what is to be told once it is committed.
type tx struct {
	tx   *sql.Tx
	pool *pool
	lock string // see dialect.lock
	// fresh are the statements that ran unprepared, because the one connection was busy with this transaction.
	fresh []string

	queuedJob   bool
	queuedSweep bool
}

func (t *tx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	var res sql.Result
	var err error
	if s := t.pool.known(text); s != nil {
		res, err = t.tx.StmtContext(ctx, s).ExecContext(ctx, args...)
	} else {
		t.fresh = append(t.fresh, text)
		res, err = t.tx.ExecContext(ctx, rebind(t.pool.dialect, text), args...)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t *tx) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if s := t.pool.known(text); s != nil {
		return t.tx.StmtContext(ctx, s).QueryContext(ctx, args...)
	}
	t.fresh = append(t.fresh, text)
	return t.tx.QueryContext(ctx, rebind(t.pool.dialect, text), args...)
}

func (t *tx) queryRow(ctx context.Context, text string, args ...any) scanner {
	if s := t.pool.known(text); s != nil {
		return t.tx.StmtContext(ctx, s).QueryRowContext(ctx, args...)
	}
	t.fresh = append(t.fresh, text)
	return t.tx.QueryRowContext(ctx, rebind(t.pool.dialect, text), args...)
}

// update runs f in a transaction on the writing connection. It waits for its turn as long as ctx lets it.
func (d *database) update(ctx context.Context, t *tx, f func(*tx) error) error {
	sqlTx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	t.tx, t.pool, t.lock = sqlTx, d.writer, d.dialect.lock
	if err := f(t); err != nil {
		if undo := sqlTx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, fmt.Errorf("rolling back: %w", undo))
		}
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	for _, text := range t.fresh {
		// The transaction stands whatever comes of this; a statement that stays unprepared is only slower.
		if _, err := d.writer.prepare(ctx, text); err != nil {
			break
		}
	}
	return nil
}

// collect scans every row of a query and closes it.
func collect[T any](ctx context.Context, q querier, scan func(scanner) (T, error), text string, args ...any) (out []T, err error) {
	rows, err := q.query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, rows.Close()); err != nil {
			out = nil
		}
	}()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

func scanString(s scanner) (string, error) {
	var v string
	err := s.Scan(&v)
	return v, err
}

// inSizes are the lengths of IN lists: a list is filled up to the next of them by repeating its last value, which
// changes no result and keeps the number of statements small.
var inSizes = []int{1, 4, 16, 32, 64, 128, 256}

// inLists cuts values into lists and calls f with the placeholders and arguments of each.
func inLists(values []string, f func(placeholders string, args []any) error) error {
	for len(values) > 0 {
		n := min(len(values), inSizes[len(inSizes)-1])
		size := n
		for _, s := range inSizes {
			if s >= n {
				size = s
				break
			}
		}
		args := make([]any, size)
		for i := range args {
			args[i] = values[min(i, n-1)]
		}
		if err := f("?"+strings.Repeat(", ?", size-1), args); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}
