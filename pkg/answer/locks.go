package answer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// A conversation's questions are answered one at a time: in order of arrival within a process, and with a lease in the
// catalog across processes.

// How long a lock outlives its process. A running process renews it well before that.
const defaultLockTime = 15 * time.Second

// Limits on the delay between attempts to take another process's lock.
const (
	minLockWait = 20 * time.Millisecond
	maxLockWait = 500 * time.Millisecond
)

// Timeout for renewing or releasing a lock in the catalog.
const lockTimeout = 5 * time.Second

// lockConversation takes the conversation's lock as soon as no other process is answering a question in it. The caller
// must call end once to release the lock.
func (a *Answerer) lockConversation(ctx context.Context, conversationID string) (end func(), err error) {
	holder := a.deps.NewID()
	for wait := minLockWait; ; wait = min(2*wait, maxLockWait) {
		taken, err := a.deps.Conversations.Lock(ctx, conversationID, holder, a.opts.lockTime)
		if err != nil {
			return nil, fmt.Errorf("taking a lock in conversation %s: %w", conversationID, err)
		}
		if taken {
			break
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)): // with jitter, so that no waiter is always last
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx)) // the answer is stored even if the client has disconnected
	var kept sync.WaitGroup
	kept.Go(func() { a.renewLock(keeping, conversationID, holder) })
	return func() {
		stop()
		kept.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTimeout)
		defer cancel()
		_ = a.deps.Conversations.Unlock(ctx, conversationID, holder) // if this fails, the lock expires
	}, nil
}

// renewLock renews the lock until ctx is done. If the catalog is down for a long time, the lock may expire before the
// question is answered. At worst, the conversation's next question is then answered without this question in its
// history.
func (a *Answerer) renewLock(ctx context.Context, conversationID, holder string) {
	beat := time.NewTicker(a.opts.lockTime / 3)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		within, cancel := context.WithTimeout(ctx, lockTimeout)
		_, _ = a.deps.Conversations.Lock(within, conversationID, holder, a.opts.lockTime) // the next tick retries
		cancel()
	}
}

// localLocks admits one question per conversation at a time, usually in order of arrival.
type localLocks struct {
	mu   sync.Mutex
	busy map[string]*localLock
}

type localLock struct {
	token   chan struct{}
	waiters int // number of waiting questions, including the current holder's
}

// acquire waits for the conversation's lock within this process. The caller must call `release` once.
func (t *localLocks) acquire(ctx context.Context, conversationID string) (release func(), err error) {
	t.mu.Lock()
	if t.busy == nil {
		t.busy = make(map[string]*localLock)
	}
	own := t.busy[conversationID]
	if own == nil {
		own = &localLock{token: make(chan struct{}, 1)}
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
