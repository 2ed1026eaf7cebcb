package answer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Of the questions of a conversation one is answered at a time: within a process in the order in which they came, and
// between processes by a turn in the catalog.

// defaultTurnTime is after how long the turn of a process that died passes to another. A turn is renewed well before.
const defaultTurnTime = 15 * time.Second

// How long to wait before asking for a turn again that another process has.
const (
	firstTurnWait = 20 * time.Millisecond
	mostTurnWait  = 500 * time.Millisecond
)

// turnTimeout bounds each request about a turn that does not wait for it.
const turnTimeout = 5 * time.Second

// takeTurn waits until no other process answers a question of the conversation, and keeps the turn until end is called,
// which must happen once.
func (a *Answerer) takeTurn(ctx context.Context, conversationID string) (end func(), err error) {
	holder := a.deps.NewID()
	for wait := firstTurnWait; ; wait = min(2*wait, mostTurnWait) {
		taken, err := a.deps.Conversations.TakeTurn(ctx, conversationID, holder, a.opts.turnTime)
		if err != nil {
			return nil, fmt.Errorf("taking a turn in conversation %s: %w", conversationID, err)
		}
		if taken {
			break
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)): // apart, so that of several that wait none is always late
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx)) // the answer is stored though its reader has left
	var kept sync.WaitGroup
	kept.Go(func() { a.keepTurn(keeping, conversationID, holder) })
	return func() {
		stop()
		kept.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnTimeout)
		defer cancel()
		_ = a.deps.Conversations.EndTurn(ctx, conversationID, holder) // else it ends with its time
	}, nil
}

// keepTurn renews the turn until ctx ends. A turn that is lost all the same, because the catalog was away for long, does
// no harm but that another question does not know of this one's answer.
func (a *Answerer) keepTurn(ctx context.Context, conversationID, holder string) {
	beat := time.NewTicker(a.opts.turnTime / 3)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		within, cancel := context.WithTimeout(ctx, turnTimeout)
		_, _ = a.deps.Conversations.TakeTurn(within, conversationID, holder, a.opts.turnTime) // the next beat tries again
		cancel()
	}
}

// turns lets one question of a conversation at a time through, in the order in which they came as far as the runtime
// keeps it.
type turns struct {
	mu   sync.Mutex
	busy map[string]*turn
}

type turn struct {
	token   chan struct{}
	waiters int // including the one whose turn it is
}

// take waits for the conversation's turn in this process; release must be called once.
func (t *turns) take(ctx context.Context, conversationID string) (release func(), err error) {
	t.mu.Lock()
	if t.busy == nil {
		t.busy = make(map[string]*turn)
	}
	own := t.busy[conversationID]
	if own == nil {
		own = &turn{token: make(chan struct{}, 1)}
		t.busy[conversationID] = own
	}
	own.waiters++
	t.mu.Unlock()

	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.waiters--; own.waiters == 0 {
			delete(t.busy, conversationID)
		}
	}
	select {
	case own.token <- struct{}{}:
		return func() { <-own.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
