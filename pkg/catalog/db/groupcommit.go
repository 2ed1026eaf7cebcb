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
	// Maximum number of transactions per commit.
	maxGroupSize = 32
	// How long a commit accepts more transactions, and therefore how long the first one may wait for its commit.
	maxGroupDelay = 5 * time.Millisecond
)

// errRolledBack means that a transaction was rolled back together with all others in its commit. It must be retried.
var errRolledBack = errors.New("rolled back together with another transaction")

// groupCommit lets several transactions share one commit on the only write connection. Each transaction runs in a
// savepoint, so that it can be rolled back alone. A transaction that finds no other transaction waiting to join commits
// for all of them. None of them returns before that commit.
type groupCommit struct {
	lock     chan struct{} // full while a goroutine uses the fields below
	open     *commit       // the commit in progress; nil if there is none
	waiting  atomic.Int64  // number of goroutines about to take the lock
	observer observer      // called before and after commits; may be nil

	committed func() // called after each commit by the lock's holder; may be nil
}

// commit is a database transaction shared by several Tx transactions.
type commit struct {
	tx      *sql.Tx
	began   time.Time
	members int
	done    chan struct{} // closed when the commit has succeeded or failed
	err     error         // why the commit failed; set before done is closed
}

func newGroupCommit(o observer) *groupCommit {
	return &groupCommit{lock: make(chan struct{}, 1), observer: o}
}

// run runs f as a transaction and returns once it is committed. After errRolledBack, the caller can retry.
func (g *groupCommit) run(ctx context.Context, t *Tx, f func(*Tx) error) error {
	if err := g.acquire(ctx); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	c, err := g.join(ctx, t)
	if err != nil {
		<-g.lock
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	if err := g.runMember(ctx, c, t, f); err != nil {
		return err
	}
	<-c.done // the commit follows soon and decides the result
	if c.err != nil {
		return fmt.Errorf("committing: %w", c.err)
	}
	return nil
}

func (g *groupCommit) acquire(ctx context.Context) error {
	g.waiting.Add(1)
	select {
	case g.lock <- struct{}{}:
		g.waiting.Add(-1)
		return nil
	case <-ctx.Done():
	}
	g.waiting.Add(-1)
	select { // the previous holder may have left the commit to this goroutine
	case g.lock <- struct{}{}:
		g.release()
	default: // the holder checks for waiting goroutines again after releasing the lock
	}
	return ctx.Err()
}

// release commits unless another goroutine is waiting to join, and then releases the lock, which the caller must hold.
// If a goroutine stops waiting because its context is done, it calls release itself, so that no commit stays open.
func (g *groupCommit) release() {
	for {
		g.commitIfLast()
		left := g.open != nil
		<-g.lock
		if !left || g.waiting.Load() > 0 {
			return
		}
		select {
		case g.lock <- struct{}{}:
		default:
			return
		}
	}
}

// join adds the transaction to the open commit, or to a new one. The caller must hold the lock.
func (g *groupCommit) join(ctx context.Context, t *Tx) (*commit, error) {
	if g.open == nil {
		// The commit must survive cancellation of its first member's context.
		begun, err := t.db.write.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return nil, err
		}
		g.open = &commit{tx: begun, began: time.Now(), done: make(chan struct{})}
	}
	t.tx = g.open.tx
	return g.open, nil
}

// runMember runs f as part of the commit, commits if no other goroutine is waiting, and releases the lock.
func (g *groupCommit) runMember(ctx context.Context, c *commit, t *Tx, f func(*Tx) error) (err error) {
	ran := false
	defer func() {
		if !ran { // f panicked, so the connection is in an unknown state
			g.abandon(c, errRolledBack)
		}
		g.release()
	}()
	err = c.savepoint(ctx, func() error { return f(t) })
	ran = true
	if errors.Is(err, errRolledBack) {
		g.abandon(c, err)
		return err
	}
	if err == nil {
		c.members++
	}
	return err
}

// savepoint runs f in a savepoint, so that f has no effect if it fails. It returns errRolledBack if the whole commit
// was rolled back.
func (c *commit) savepoint(ctx context.Context, f func() error) error {
	steady := context.WithoutCancel(ctx)
	if _, err := c.tx.ExecContext(steady, `SAVEPOINT member`); err != nil {
		return fmt.Errorf("%w: %w", errRolledBack, err)
	}
	err := f()
	if err != nil {
		// An interrupted statement may have ended the whole transaction, including the savepoint.
		if _, undo := c.tx.ExecContext(steady, `ROLLBACK TO member`); undo != nil {
			return fmt.Errorf("%w: %w", errRolledBack, errors.Join(err, undo))
		}
	}
	if _, release := c.tx.ExecContext(steady, `RELEASE member`); release != nil {
		return fmt.Errorf("%w: %w", errRolledBack, errors.Join(err, release))
	}
	return err
}

// commitIfLast commits if no transaction is waiting to join or if the commit is full or too old. The caller must hold
// the lock.
func (g *groupCommit) commitIfLast() {
	c := g.open
	if c == nil || g.waiting.Load() > 0 && c.members < maxGroupSize && time.Since(c.began) < maxGroupDelay {
		return
	}
	g.open = nil
	if c.members == 0 {
		c.err = c.tx.Rollback() // no members wait for it
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

// abandon gives up a commit; its transactions must be retried. The caller must hold the lock.
func (g *groupCommit) abandon(c *commit, cause error) {
	if g.open != c {
		return
	}
	g.open = nil
	c.err = cause
	_ = c.tx.Rollback() // the commit is lost in any case
	close(c.done)
}
