package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Write is a statement whose outcome the transaction does not wait for.
type Write struct {
	Doing string // for its error
	Text  string
	Args  []any
	Check func(rows int64) error // nil: however many rows it changed is right
}

// maxDue bounds the writes that wait to be sent.
const maxDue = 256

// Later runs the write before the next statement that asks for anything, and at the latest before the commit. Those that
// come together make one journey to the server. With SQLite, which is no journey away, it runs at once.
func (t *Tx) Later(ctx context.Context, w Write) error {
	if t.conn == nil {
		rows, err := t.Exec(ctx, w.Text, w.Args...)
		return w.outcome(rows, err)
	}
	if t.due = append(t.due, w); len(t.due) >= maxDue {
		return t.flush(ctx)
	}
	return nil
}

func (w Write) outcome(rows int64, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", w.Doing, err)
	case w.Check != nil:
		return w.Check(rows)
	default:
		return nil
	}
}

// flush sends the writes that wait.
func (t *Tx) flush(ctx context.Context) error {
	if len(t.due) == 0 {
		return nil
	}
	due := t.due
	t.due = nil
	ctx, done := t.limit(ctx)
	defer done()
	err := t.conn.Raw(func(driverConn any) (err error) {
		batch := &pgx.Batch{}
		for _, w := range due {
			batch.Queue(t.db.writer.text(w.Text), clean(w.Args)...)
		}
		results := driverConn.(*stdlib.Conn).Conn().SendBatch(ctx, batch)
		defer func() { err = errors.Join(err, results.Close()) }()
		for _, w := range due {
			tag, err := results.Exec()
			if err := w.outcome(tag.RowsAffected(), err); err != nil {
				return err
			}
		}
		return nil
	})
	return overdue(ctx, err)
}
