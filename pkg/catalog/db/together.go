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
	// maxTogether is how many transactions share a commit at most.
	maxTogether = 32
	// maxOpen is how long a shared commit takes others in: what is done then waits no longer for them.
	maxOpen = 5 * time.Millisecond
)

// errUndone says that a transaction was undone for another's fault, and is to be run again.
var errUndone = errors.New("undone with another transaction")

// together lets transactions that wait for the one connection share a commit, which is one wait for the disk: each runs by
// itself and can be undone by itself, and the last one in sight commits for all. None is told as done before that.
type together struct {
	turn     chan struct{} // full while somebody uses what follows
	open     *commit       // begun and not committed; nil: none
	waiting  atomic.Int64  // how many are about to take the turn
	observer observer      // called around commits; nil: none

	committed func() // called after each commit by who has the turn; nil: nothing
}

// commit is a transaction of the database that several of ours share.
type commit struct {
	tx      *sql.Tx
	began   time.Time
	members int
	done    chan struct{} // closed when it is committed or lost
	err     error         // why it is lost; set before done is closed
}

func newTogether(o observer) *together { return &together{turn: make(chan struct{}, 1), observer: o} }

// run runs f as a transaction of its own and returns when it is committed. It fails with errUndone where f may be run again.
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
	<-c.done // soon, and only then is it known what became of it
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
	select { // whoever had the turn may have left the commit to us
	case g.turn <- struct{}{}:
		g.release()
	default: // who has it looks once more who waits, after giving it up
	}
	return ctx.Err()
}

// release commits unless somebody else will, and gives up the turn. Who is waiting while it looks takes the turn, or comes here
// in leaving: so a commit never stays open with nobody to end it. The caller has the turn.
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

// join makes the transaction part of the open commit, or opens one. The caller has the turn.
func (g *together) join(ctx context.Context, t *Tx) (*commit, error) {
	if g.open == nil {
		// It does not end with the one who begins it.
		begun, err := t.db.write.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return nil, err
		}
		g.open = &commit{tx: begun, began: time.Now(), done: make(chan struct{})}
	}
	t.tx = g.open.tx
	return g.open, nil
}

// member runs f within the commit, commits if nobody else is in sight, and gives up the turn.
func (g *together) member(ctx context.Context, c *commit, t *Tx, f func(*Tx) error) (err error) {
	ran := false
	defer func() {
		if !ran { // f has panicked: nobody knows in what state the connection is
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

// within runs f so that it leaves nothing behind when it fails. The error is errUndone when that has undone everything.
func (c *commit) within(ctx context.Context, f func() error) error {
	steady := context.WithoutCancel(ctx)
	if _, err := c.tx.ExecContext(steady, `SAVEPOINT member`); err != nil {
		return fmt.Errorf("%w: %w", errUndone, err)
	}
	err := f()
	if err != nil {
		// A statement that was cut short may have ended the whole transaction; then there is nothing to go back to.
		if _, undo := c.tx.ExecContext(steady, `ROLLBACK TO member`); undo != nil {
			return fmt.Errorf("%w: %w", errUndone, errors.Join(err, undo))
		}
	}
	if _, release := c.tx.ExecContext(steady, `RELEASE member`); release != nil {
		return fmt.Errorf("%w: %w", errUndone, errors.Join(err, release))
	}
	return err
}

// settle commits unless another one is about to join; see release. The caller has the turn.
func (g *together) settle() {
	c := g.open
	if c == nil || g.waiting.Load() > 0 && c.members < maxTogether && time.Since(c.began) < maxOpen {
		return
	}
	g.open = nil
	if c.members == 0 {
		c.err = c.tx.Rollback() // nobody waits for it
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

// lose gives up a commit: its members have to be run again. The caller has the turn.
func (g *together) lose(c *commit, cause error) {
	if g.open != c {
		return
	}
	g.open = nil
	c.err = cause
	_ = c.tx.Rollback() // it is undone already, or nobody can say why it is not
	close(c.done)
}
