package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Write is a statement that can be queued in a transaction; see Tx.Queue.
type Write struct {
	Action string // for error messages
	Text   string
	Args   []any
	Check  func(rows int64) error // nil accepts any number of rows
}

// Maximum number of queued writes.
const maxBatch = 256

// Queue queues a write, which is executed before the transaction's next query or commit. All queued writes are sent in
// one round trip. On SQLite, which has no round trips, the write is executed immediately.
func (t *Tx) Queue(ctx context.Context, w Write) error {
	if t.conn == nil {
		rows, err := t.Exec(ctx, w.Text, w.Args...)
		return w.outcome(rows, err)
	}
	if t.batch = append(t.batch, w); len(t.batch) >= maxBatch {
		return t.flush(ctx)
	}
	return nil
}

func (w Write) outcome(rows int64, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", w.Action, err)
	case w.Check != nil:
		return w.Check(rows)
	default:
		return nil
	}
}

func (t *Tx) flush(ctx context.Context) error {
	if len(t.batch) == 0 {
		return nil
	}
	due := t.batch
	t.batch = nil
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
	return timeoutError(ctx, err)
}
