package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Found turns a missing row into domain.NotFound.
func Found(err error, kind, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return domain.NotFound(kind, id)
	}
	if err != nil {
		return fmt.Errorf("reading the %s: %w", kind, err)
	}
	return nil
}

// Created turns an insert that hit an existing row into a conflict.
func Created(rows int64, err error, kind, id string) error {
	if err == nil && rows == 0 {
		return domain.Errorf(domain.CodeConflict, "there is already a %s with id %q", kind, id)
	}
	return err
}

// Querier is what a read needs: the pool of readers, or a transaction that reads what it is going to write.
type Querier interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, text string, args ...any) Scanner
	// engine is what the database is.
	engine() dialect
	// limit bounds the wait for one answer.
	limit(ctx context.Context) (context.Context, context.CancelFunc)
}

// Scanner is the one row of a query, or the current one of several.
type Scanner interface{ Scan(dest ...any) error }

// failedRow is the row of a query that could not be asked.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return Fault(r.err) }

// boundRow is a row that is waited for no longer than its context says.
type boundRow struct {
	row  *sql.Row
	done context.CancelFunc
	ctx  context.Context
}

func (r boundRow) Scan(dest ...any) error {
	defer r.done()
	return Fault(overdue(r.ctx, r.row.Scan(dest...)))
}

// answerTimeout is how long one answer of a server is waited for: longer than the server itself takes before it gives
// up, so it matters when the way to the server is cut.
const answerTimeout = statementTimeout + 15*time.Second

// errOverdue is the cause of a context that ended because the server did not answer.
var errOverdue = errors.New("no answer in time")

// bound limits what waits for a server; what asks a file is left to its context.
func (d dialect) bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if !d.shared {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, errOverdue)
}

// overdue tells a server that is too slow from a caller that does not wait any longer.
func overdue(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errOverdue) {
		return &domain.Error{Code: domain.CodeUnavailable, Message: "the catalog's database does not answer in time; try again shortly", Err: err}
	}
	return err
}

// maxStatements bounds the statements kept prepared. The texts are constants of this package or built from few parts,
// so it is not reached; it is there so that a mistake costs time and not memory.
const maxStatements = 512

// Pool is connections to the database. Where the dialect says so it prepares each statement once and keeps it.
type Pool struct {
	db      *sql.DB
	dialect dialect
	mu      sync.Mutex
	stmts   map[string]*sql.Stmt
	texts   sync.Map // text → the text as the engine wants it
}

func newPool(db *sql.DB, d dialect) *Pool {
	return &Pool{db: db, dialect: d, stmts: map[string]*sql.Stmt{}}
}

func (p *Pool) text(text string) string {
	if have, ok := p.texts.Load(text); ok {
		return have.(string)
	}
	bound := rebind(p.dialect, text)
	p.texts.Store(text, bound)
	return bound
}

// known returns the prepared statement, nil when there is none yet.
func (p *Pool) known(text string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stmts[text]
}

// prepare needs a free connection and so must not be called from within a transaction on the same pool.
func (p *Pool) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := p.known(text); s != nil {
		return s, nil
	}
	s, err := p.db.PrepareContext(ctx, p.text(text))
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

func (p *Pool) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if !p.dialect.prepares {
		return p.db.QueryContext(ctx, p.text(text), clean(args)...)
	}
	s, err := p.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, clean(args)...)
}

// QueryRow asks for one row. Its Scan fails with sql.ErrNoRows when there is none.
func (p *Pool) QueryRow(ctx context.Context, text string, args ...any) Scanner {
	ctx, done := p.limit(ctx)
	if !p.dialect.prepares {
		return boundRow{p.db.QueryRowContext(ctx, p.text(text), clean(args)...), done, ctx}
	}
	s, err := p.prepare(ctx, text)
	if err != nil {
		done()
		return failedRow{err}
	}
	return boundRow{s.QueryRowContext(ctx, clean(args)...), done, ctx}
}

func (p *Pool) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return p.dialect.bound(ctx, answerTimeout)
}

func (p *Pool) engine() dialect { return p.dialect }

func (p *Pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.stmts {
		errs = append(errs, s.Close())
	}
	clear(p.stmts)
	return errors.Join(append(errs, p.db.Close())...)
}

// Collect scans every row of a query and closes it.
func Collect[T any](ctx context.Context, q Querier, scan func(Scanner) (T, error), text string, args ...any) (out []T, err error) {
	ctx, done := q.limit(ctx)
	defer done()
	rows, err := q.query(ctx, text, args...)
	if err != nil {
		return nil, Fault(overdue(ctx, err))
	}
	defer func() {
		if err = errors.Join(err, rows.Close()); err != nil {
			out, err = nil, Fault(overdue(ctx, err))
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

// Exists reports whether a query has a row.
func Exists(ctx context.Context, q Querier, text string, args ...any) (bool, error) {
	var one int
	err := q.QueryRow(ctx, text, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// ScanString scans a row of one text.
func ScanString(s Scanner) (string, error) {
	var v string
	err := s.Scan(&v)
	return v, err
}

// inSizes are the lengths of IN lists: a list is filled up to the next of them by repeating its last value, which
// changes no result and keeps the number of statements small.
var inSizes = []int{1, 4, 16, 32, 64, 128, 256}

// Scan makes a scan function of the variables that the columns are read into, in their order.
func Scan[T any](into func(*T) []any) func(Scanner) (T, error) {
	return func(s Scanner) (v T, err error) {
		err = s.Scan(into(&v)...)
		return v, err
	}
}

// InLists cuts values into lists and calls f with the condition that a column is in each, to follow the column's name,
// and its arguments.
func InLists(q Querier, values []string, f func(in string, args []any) error) error {
	d := q.engine()
	for len(values) > 0 {
		n := min(len(values), inSizes[len(inSizes)-1])
		in, args := d.in(values[:n])
		if err := f(in, args); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// in is the condition for one list. PostgreSQL takes it as one array, for which it need not plan anew.
func (d dialect) in(values []string) (text string, args []any) {
	if d.numbered {
		list := make([]string, len(values))
		for i, v := range values {
			list[i] = cleanText(v)
		}
		return "= ANY (CAST(? AS TEXT[]))", []any{list}
	}
	i, _ := slices.BinarySearch(inSizes, len(values))
	args = make([]any, inSizes[i])
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return "IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args
}

// Statements returns the texts of the statements that were asked so far, before placeholders are numbered.
func (d *DB) Statements() []string {
	var out []string
	for _, p := range []*Pool{d.Read, d.writer} {
		p.texts.Range(func(text, _ any) bool {
			out = append(out, text.(string))
			return true
		})
	}
	return out
}
