package answer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// A conversation's questions are answered one at a time: within a process in order of arrival, and across processes by
// a turn (a lease) in the catalog.

// Lifetime of a turn after its process has died. A running process renews it well before.
const defaultTurnTime = 15 * time.Second

// Bounds of the delay between attempts to take a turn that another process holds.
const (
	firstTurnWait = 20 * time.Millisecond
	mostTurnWait  = 500 * time.Millisecond
)

// Time limit for each catalog request that renews or releases a turn.
const turnTimeout = 5 * time.Second

// takeTurn waits until no other process answers a question of the conversation, and holds the turn until end is called.
// end must be called once.
func (a *Answerer) takeTurn(ctx context.Context, conversationID string) (end func(), err error) {
	holder := a.deps.NewID()
	for wait := firstTurnWait; ; wait = min(2*wait, mostTurnWait) {
		taken, err := a.deps.Conversations.Lock(ctx, conversationID, holder, a.opts.turnTime)
		if err != nil {
			return nil, fmt.Errorf("taking a turn in conversation %s: %w", conversationID, err)
		}
		if taken {
			break
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)): // with jitter, so that no waiter always comes last
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx)) // the answer is stored even if the client has disconnected
	var kept sync.WaitGroup
	kept.Go(func() { a.keepTurn(keeping, conversationID, holder) })
	return func() {
		stop()
		kept.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnTimeout)
		defer cancel()
		_ = a.deps.Conversations.Unlock(ctx, conversationID, holder) // otherwise it expires
	}, nil
}

// keepTurn renews the turn until ctx ends. The turn may expire if the catalog is unavailable for long. Then another
// question may be answered without this one in its history, but nothing else is affected.
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
		_, _ = a.deps.Conversations.Lock(within, conversationID, holder, a.opts.turnTime) // the next tick retries
		cancel()
	}
}

// turns admits one question per conversation at a time, in order of arrival as far as the runtime preserves it.
type turns struct {
	mu   sync.Mutex
	busy map[string]*turn
}

type turn struct {
	token   chan struct{}
	waiters int // including the current holder
}

// take waits for the conversation's turn within this process. release must be called once.
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
