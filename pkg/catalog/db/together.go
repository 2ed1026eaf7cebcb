package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// Maximum transactions per commit.
	maxTogether = 32
	// Time for which a shared commit accepts further transactions, which bounds the wait of its members.
	maxOpen = 5 * time.Millisecond
)

// errUndone is returned if a transaction was undone because of another one, and must be run again.
var errUndone = errors.New("undone with another transaction")

// together is group commit for the single writing connection: each transaction runs in a savepoint and can be undone
// separately, and the last one in sight commits for all. None returns before that.
type together struct {
	turn     chan struct{} // full while a goroutine uses the fields below
	open     *commit       // begun but not committed; nil: none
	waiting  atomic.Int64  // number of goroutines about to take the turn
	observer observer      // called around commits; nil: none

	committed func() // called after each commit by the holder of the turn; nil: not called
}

// commit is a database transaction shared by several transactions of type Tx.
type commit struct {
	tx      *sql.Tx
	began   time.Time
	members int
	done    chan struct{} // closed when it is committed or lost
	err     error         // reason if it is lost; set before done is closed
}

func newTogether(o observer) *together { return &together{turn: make(chan struct{}, 1), observer: o} }

// run runs f as a separate transaction and returns when it is committed. It fails with errUndone if f may be run again.
func (g *together) run(ctx context.Context, t *Tx, f func(*Tx) error) error {
	if err := g.take(ctx); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	c, err := g.join(ctx, t)
	if err != nil {
		<-g.turn
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	if err := g.member(ctx, c, t, f); err != nil {
		return err
	}
	<-c.done // soon; only then is the result known
	if c.err != nil {
		return fmt.Errorf("committing: %w", c.err)
	}
	return nil
}

// take waits for the turn.
func (g *together) take(ctx context.Context) error {
	g.waiting.Add(1)
	select {
	case g.turn <- struct{}{}:
		g.waiting.Add(-1)
		return nil
	case <-ctx.Done():
	}
	g.waiting.Add(-1)
	select { // the previous holder may have left the commit to this goroutine
	case g.turn <- struct{}{}:
		g.release()
	default: // the present holder checks again for waiters after releasing the turn
	}
	return ctx.Err()
}

// release commits unless another goroutine will, and releases the turn. A goroutine that starts to wait meanwhile takes
// the turn, or calls release when it gives up, so a commit never stays open. The caller has the turn.
func (g *together) release() {
	for {
		g.settle()
		left := g.open != nil
		<-g.turn
		if !left || g.waiting.Load() > 0 {
			return
		}
		select {
		case g.turn <- struct{}{}:
		default:
			return
		}
	}
}

// join adds the transaction to the open commit, or opens one. The caller has the turn.
func (g *together) join(ctx context.Context, t *Tx) (*commit, error) {
	if g.open == nil {
		// The commit must not end with the context of its first member.
		begun, err := t.db.write.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return nil, err
		}
		g.open = &commit{tx: begun, began: time.Now(), done: make(chan struct{})}
	}
	t.tx = g.open.tx
	return g.open, nil
}

// member runs f in the commit, commits if no other goroutine is waiting, and releases the turn.
func (g *together) member(ctx context.Context, c *commit, t *Tx, f func(*Tx) error) (err error) {
	ran := false
	defer func() {
		if !ran { // f has panicked, so the state of the connection is unknown
			g.lose(c, errUndone)
		}
		g.release()
	}()
	err = c.within(ctx, func() error { return f(t) })
	ran = true
	if errors.Is(err, errUndone) {
		g.lose(c, err)
		return err
	}
	if err == nil {
		c.members++
	}
	return err
}

// within runs f so that it has no effect if it fails. It returns errUndone if the complete commit was undone.
func (c *commit) within(ctx context.Context, f func() error) error {
	steady := context.WithoutCancel(ctx)
	if _, err := c.tx.ExecContext(steady, `SAVEPOINT member`); err != nil {
		return fmt.Errorf("%w: %w", errUndone, err)
	}
	err := f()
	if err != nil {
		// An interrupted statement may have ended the complete transaction; then there is no savepoint.
		if _, undo := c.tx.ExecContext(steady, `ROLLBACK TO member`); undo != nil {
			return fmt.Errorf("%w: %w", errUndone, errors.Join(err, undo))
		}
	}
	if _, release := c.tx.ExecContext(steady, `RELEASE member`); release != nil {
		return fmt.Errorf("%w: %w", errUndone, errors.Join(err, release))
	}
	return err
}

// settle commits unless another transaction is about to join; see release. The caller has the turn.
func (g *together) settle() {
	c := g.open
	if c == nil || g.waiting.Load() > 0 && c.members < maxTogether && time.Since(c.began) < maxOpen {
		return
	}
	g.open = nil
	if c.members == 0 {
		c.err = c.tx.Rollback() // no member waits for it
	} else {
		told := func() {}
		if g.observer != nil {
			told = g.observer.Committing()
		}
		c.err = c.tx.Commit()
		told()
	}
	close(c.done)
	if c.err == nil && g.committed != nil {
		g.committed()
	}
}

// lose abandons a commit: its members must be run again. The caller has the turn.
func (g *together) lose(c *commit, cause error) {
	if g.open != c {
		return
	}
	g.open = nil
	c.err = cause
	_ = c.tx.Rollback() // it is already undone, or the reason cannot be determined
	close(c.done)
}
