package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Tx is a write transaction.
type Tx struct {
	tx      *sql.Tx
	conn    *sql.Conn // tx's connection if the engine supports batches of writes; see Queue
	batch   []Write
	db      *DB
	Lock    string        // see dialect.lock
	timeout time.Duration // see ExtendTimeout; 0 means answerTimeout
	// unprepared lists statements to prepare after the transaction. They can't be prepared during the transaction,
	// because it uses the only connection.
	unprepared []string
	locks      map[int64]bool  // keys of the advisory locks held; see gates
	announced  map[string]bool // topics to announce; true means to other processes as well
	locals     map[any]any     // see Local
}

// stmt returns the prepared statement for the text, or nil if the text itself must be sent.
func (t *Tx) stmt(ctx context.Context, text string) *sql.Stmt {
	if !t.db.dialect.prepares {
		return nil
	}
	if s := t.db.writer.prepared(text); s != nil {
		return t.tx.StmtContext(ctx, s)
	}
	t.unprepared = append(t.unprepared, text)
	return nil
}

// Exec runs a statement and returns the number of changed rows.
func (t *Tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	if err := t.flush(ctx); err != nil {
		return 0, err
	}
	ctx, done := t.limit(ctx)
	defer done()
	var res sql.Result
	var err error
	if s := t.stmt(ctx, text); s != nil { //nolint:sqlclosecheck // the pool owns and closes it
		res, err = s.ExecContext(ctx, clean(args)...)
	} else {
		res, err = t.tx.ExecContext(ctx, t.db.writer.text(text), clean(args)...)
	}
	if err != nil {
		return 0, timeoutError(ctx, err)
	}
	return res.RowsAffected()
}

func (t *Tx) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	if s := t.stmt(ctx, text); s != nil { //nolint:sqlclosecheck // the pool owns and closes it
		return s.QueryContext(ctx, clean(args)...)
	}
	return t.tx.QueryContext(ctx, t.db.writer.text(text), clean(args)...)
}

// QueryRow runs a query for a single row. If there is none, Scan returns sql.ErrNoRows.
func (t *Tx) QueryRow(ctx context.Context, text string, args ...any) Scanner {
	if err := t.flush(ctx); err != nil {
		return failedRow{err}
	}
	ctx, done := t.limit(ctx)
	if s := t.stmt(ctx, text); s != nil { //nolint:sqlclosecheck // it belongs to the pool, which closes it
		return boundRow{s.QueryRowContext(ctx, clean(args)...), done, ctx}
	}
	return boundRow{t.tx.QueryRowContext(ctx, t.db.writer.text(text), clean(args)...), done, ctx}
}

func (t *Tx) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return t.db.dialect.bound(ctx, cmp.Or(t.timeout, answerTimeout))
}

func (t *Tx) engine() dialect { return t.db.dialect }

// Stamp calls DB.Stamp.
func (t *Tx) Stamp() int64 { return t.db.Stamp() }

// IsShared reports whether other processes may write concurrently.
func (t *Tx) IsShared() bool { return t.db.dialect.shared }

// Notify announces the topic to all processes once the transaction has committed.
func (t *Tx) Notify(topic string) { t.announced[topic] = true }

// Wake announces the topic to this process only, once the transaction has committed.
func (t *Tx) Wake(topic string) {
	if _, known := t.announced[topic]; !known {
		t.announced[topic] = false
	}
}

// Local returns the value of type T that belongs to the transaction. The first call creates it with init.
func Local[T any](t *Tx, init func() T) T {
	key := (*T)(nil)
	v, known := t.locals[key].(T)
	if !known {
		v = init()
		t.locals[key] = v
	}
	return v
}

// Timeout for statements that may change every datasource in a datastore.
const extendedTimeout = 15 * time.Minute

// ExtendTimeout raises the timeout for the transaction's remaining statements. Use it before changing a large
// datastore.
func (t *Tx) ExtendTimeout(ctx context.Context) error {
	if !t.db.dialect.shared {
		return nil
	}
	t.timeout = extendedTimeout
	_, err := t.Exec(ctx, `SELECT set_config('statement_timeout', CAST(? AS TEXT), true)`, milliseconds(extendedTimeout))
	return err
}

// transact runs f in a transaction and returns the transaction once it is committed. On a conflict with other
// transactions, it waits and runs f again, up to maxRuns times in total or until ctx is done.
func (d *DB) transact(ctx context.Context, f func(*Tx) error) (*Tx, error) {
	for run := 0; ; run++ {
		t := &Tx{db: d, Lock: d.dialect.lock, locks: map[int64]bool{}, announced: map[string]bool{}, locals: map[any]any{}}
		err := t.run(ctx, f)
		if err == nil {
			t.prepareStatements(ctx)
			return t, nil
		}
		if !isContention(err) && !isForeignKeyFault(err) && !errors.Is(err, errRolledBack) || run+1 >= maxRuns {
			return nil, Fault(err)
		}
		if waiting := backOff(ctx, run); waiting != nil {
			return nil, errors.Join(waiting, err)
		}
	}
}

func (t *Tx) run(ctx context.Context, f func(*Tx) error) (err error) {
	if t.db.groups != nil {
		return t.db.groups.run(ctx, t, f)
	}
	within, done := t.db.dialect.bound(ctx, extendedTimeout)
	defer done()
	if t.tx, err = t.begin(within); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	defer func() { err = errors.Join(err, t.conn.Close()) }()
	if err = f(t); err == nil {
		err = t.flush(ctx)
	}
	if err != nil {
		if undo := t.tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, fmt.Errorf("rolling back: %w", undo))
		}
		return err
	}
	if err := t.tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

func (t *Tx) begin(ctx context.Context) (begun *sql.Tx, err error) {
	if t.conn, err = t.db.write.Conn(ctx); err != nil {
		return nil, err
	}
	if begun, err = t.conn.BeginTx(ctx, nil); err != nil {
		return nil, errors.Join(err, t.conn.Close())
	}
	return begun, nil
}

func (t *Tx) prepareStatements(ctx context.Context) {
	for _, text := range t.unprepared {
		// Ignore errors: the transaction is committed, and an unprepared statement is merely slower.
		if _, err := t.db.writer.prepare(ctx, text); err != nil { //nolint:sqlclosecheck // the pool keeps and closes it
			return
		}
	}
}
