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
	"github.com/sluice/sluice/pkg/lists"
)

// MapNotFound converts sql.ErrNoRows to domain.NotFound.
func MapNotFound(err error, kind, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return domain.NotFound(kind, id)
	}
	if err != nil {
		return fmt.Errorf("reading the %s: %w", kind, err)
	}
	return nil
}

// MapConflict returns an insert's error. rows is the number of inserted rows. If err is nil but rows is 0, the id
// already exists, and MapConflict returns a domain.CodeConflict error.
func MapConflict(rows int64, err error, kind, id string) error {
	if err == nil && rows == 0 {
		return domain.Errorf(domain.CodeConflict, "there is already a %s with id %q", kind, id)
	}
	return err
}

// Querier runs queries, either on the read pool or in a transaction.
type Querier interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, text string, args ...any) Scanner
	// engine returns the database's dialect.
	engine() dialect
	// limit returns a context with the timeout for one statement.
	limit(ctx context.Context) (context.Context, context.CancelFunc)
}

// Scanner is one row in a query's result.
type Scanner interface{ Scan(dest ...any) error }

// failedRow is the row of a query that couldn't be sent. Scan returns the error.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return Fault(r.err) }

// boundRow is a row with a timeout.
type boundRow struct {
	row  *sql.Row
	done context.CancelFunc
	ctx  context.Context
}

func (r boundRow) Scan(dest ...any) error {
	defer r.done()
	return Fault(timeoutError(r.ctx, r.row.Scan(dest...)))
}

// Timeout for one statement. The server's own timeout is shorter, so this one matters only if the network fails.
const answerTimeout = statementTimeout + 15*time.Second

// errTimeout is the context's cause if the server does not respond in time.
var errTimeout = errors.New("the database did not answer in time")

// bound adds a timeout to a statement's context. SQLite doesn't need one, because it only accesses a file.
func (d dialect) bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if !d.shared {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, errTimeout)
}

// timeoutError returns a domain.CodeUnavailable error if the server did not respond in time, and otherwise err. err may
// be the context's error if the caller gave up.
func timeoutError(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		return &domain.Error{Code: domain.CodeUnavailable, Message: "the catalog's database did not answer in time; try again shortly", Err: err}
	}
	return err
}

// Maximum number of prepared statements. There are only a few statement texts, so the limit matters only if a bug
// generates too many.
const maxStatements = 512

// Pool is a connection pool. If the dialect requires it, the pool prepares each statement once and keeps it.
type Pool struct {
	db      *sql.DB
	dialect dialect
	mu      sync.Mutex
	stmts   map[string]*sql.Stmt
	texts   sync.Map // maps each text to the engine's form of it
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

// prepared returns the prepared statement for the text, or nil if it has not been prepared yet.
func (p *Pool) prepared(text string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stmts[text]
}

// prepare returns the prepared statement for the text, preparing it on first use. It needs a free connection, so don't
// call it during a transaction on the same pool.
func (p *Pool) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := p.prepared(text); s != nil {
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

// QueryRow runs a query for a single row. If there is none, Scan returns sql.ErrNoRows.
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

// Collect scans all rows returned by a query.
func Collect[T any](ctx context.Context, q Querier, scan func(Scanner) (T, error), text string, args ...any) (out []T, err error) {
	ctx, done := q.limit(ctx)
	defer done()
	rows, err := q.query(ctx, text, args...)
	if err != nil {
		return nil, Fault(timeoutError(ctx, err))
	}
	defer func() {
		if err = errors.Join(err, rows.Close()); err != nil {
			out, err = nil, Fault(timeoutError(ctx, err))
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

// Exists reports whether a query returns any row.
func Exists(ctx context.Context, q Querier, text string, args ...any) (bool, error) {
	var one int
	err := q.QueryRow(ctx, text, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// ScanString scans a row that has a single text column.
func ScanString(s Scanner) (string, error) {
	var v string
	err := s.Scan(&v)
	return v, err
}

// inSizes lists the possible lengths of IN lists. To keep the number of statements small, a list is padded to the next
// of these lengths by repeating its last value.
var inSizes = []int{1, 4, 16, 32, 64, 128, 256}

// Scan returns a function that reads a row into a new T. `into` returns pointers to the new T's fields, in column
// order.
func Scan[T any](into func(*T) []any) func(Scanner) (T, error) {
	return func(s Scanner) (v T, err error) {
		err = s.Scan(into(&v)...)
		return v, err
	}
}

// InLists splits values into lists of limited length and calls f for each list. `in` is an SQL condition for the list,
// to append to a column's name, and args are the condition's arguments.
func InLists(q Querier, values []string, f func(in string, args []any) error) error {
	d := q.engine()
	for len(values) > 0 {
		n := min(len(values), inSizes[len(inSizes)-1])
		in, args := d.inList(values[:n])
		if err := f(in, args); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// inList returns the condition for one list, and its arguments. On PostgreSQL, the whole list is a single array
// argument, so that query plans can be reused.
func (d dialect) inList(values []string) (text string, args []any) {
	if d.numbered {
		list := lists.Map(values, cleanText)
		return "= ANY (CAST(? AS TEXT[]))", []any{list}
	}
	i, _ := slices.BinarySearch(inSizes, len(values))
	args = make([]any, inSizes[i])
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return "IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args
}

// Statements returns the statements used so far, with ? placeholders.
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
