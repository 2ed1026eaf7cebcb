package catalogtest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

func newKey(ws string) domain.APIKey {
	id := domain.NewID()
	return domain.APIKey{
		ID: id, WorkspaceID: ws, Name: "ci", Hash: domain.HashKey("sk_" + id), Hint: "abcd",
		Scopes: []domain.Scope{domain.ScopeRead, domain.ScopeWrite},
	}
}

func testKeys(t *testing.T, open Open) {
	t.Run("a key is found by its hash with everything that was stored", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		k := newKey(w.ws)
		k.AgentID = "agent"
		ok(t, w.CreateKey(w.ctx, k))
		got, err := w.KeyByHash(w.ctx, k.Hash)
		ok(t, err)
		k.CreatedAt = got.CreatedAt
		equal(t, k, got)
	})
	t.Run("an unknown hash is not found", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		_, err := w.KeyByHash(w.ctx, domain.HashKey("sk_nobody"))
		code(t, domain.CodeNotFound, err)
	})
	t.Run("a key is not found from the moment it expires, and still listed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		k := newKey(w.ws)
		expires := w.clock.now().Add(time.Hour)
		k.ExpiresAt = &expires
		ok(t, w.CreateKey(w.ctx, k))
		w.clock.advance(time.Hour - time.Microsecond)
		_, err := w.KeyByHash(w.ctx, k.Hash)
		ok(t, err)
		w.clock.advance(time.Microsecond)
		_, err = w.KeyByHash(w.ctx, k.Hash)
		code(t, domain.CodeNotFound, err)
		keys, err := w.Keys(w.ctx, w.ws)
		ok(t, err)
		equal(t, 1, len(keys))
	})
	t.Run("a second key with the hash of another is a conflict", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		k := newKey(w.ws)
		ok(t, w.CreateKey(w.ctx, k))
		k.ID = domain.NewID()
		code(t, domain.CodeConflict, w.CreateKey(w.ctx, k))
	})
	t.Run("a key of an unknown workspace is refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		code(t, domain.CodeNotFound, w.CreateKey(w.ctx, newKey(domain.NewID())))
	})
	t.Run("a revoked key is gone, and another workspace cannot revoke it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		k := newKey(w.ws)
		ok(t, w.CreateKey(w.ctx, k))
		_, err := w.RevokeKey(w.ctx, w.workspace(), k.ID)
		code(t, domain.CodeNotFound, err)
		got, err := w.RevokeKey(w.ctx, w.ws, k.ID)
		ok(t, err)
		equal(t, k.Hash, got.Hash)
		_, err = w.KeyByHash(w.ctx, k.Hash)
		code(t, domain.CodeNotFound, err)
	})
	t.Run("keys of all workspaces are counted, one workspace's are listed newest first", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first, second, other := newKey(w.ws), newKey(w.ws), newKey(w.workspace())
		for _, k := range []domain.APIKey{first, second, other} {
			ok(t, w.CreateKey(w.ctx, k))
		}
		n, err := w.CountKeys(w.ctx)
		ok(t, err)
		equal(t, int64(3), n)
		keys, err := w.Keys(w.ctx, w.ws)
		ok(t, err)
		equal(t, []string{second.ID, first.ID}, ids(keys, func(k domain.APIKey) string { return k.ID }))
	})
	t.Run("the last use is noted to the minute and never moves back", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		k := newKey(w.ws)
		ok(t, w.CreateKey(w.ctx, k))
		at := w.clock.now()
		for _, use := range []time.Time{at, at.Add(30 * time.Second), at.Add(2 * time.Minute), at.Add(time.Minute)} {
			ok(t, w.TouchKey(w.ctx, k.ID, use))
		}
		got, err := w.KeyByHash(w.ctx, k.Hash)
		ok(t, err)
		equal(t, at.Add(2*time.Minute), *got.LastUsedAt)
	})
}

func testUsage(t *testing.T, open Open) {
	t.Run("counters add up by metric, and begin anew each month", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		march := w.clock.now()
		ok(t, w.Count(w.ctx, w.ws, domain.MetricTokens, 40))
		ok(t, w.Count(w.ctx, w.ws, domain.MetricTokens, 2))
		ok(t, w.Count(w.ctx, w.ws, domain.MetricQueries, 1))
		w.clock.advance(31 * 24 * time.Hour)
		ok(t, w.Count(w.ctx, w.ws, domain.MetricTokens, 5))
		got, err := w.Usage(w.ctx, w.ws, march)
		ok(t, err)
		equal(t, map[domain.Metric]int64{domain.MetricTokens: 42, domain.MetricQueries: 1}, got)
		got, err = w.Usage(w.ctx, w.ws, w.clock.now())
		ok(t, err)
		equal(t, map[domain.Metric]int64{domain.MetricTokens: 5}, got)
	})
	t.Run("what would pass the limit is refused and not counted", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		for _, step := range []struct {
			n    int64
			want bool
		}{{11, false}, {7, true}, {4, false}, {3, true}, {1, false}} {
			passed, err := w.Consume(w.ctx, w.ws, domain.MetricQueries, step.n, 10)
			ok(t, err)
			equal(t, step.want, passed)
		}
		got, err := w.Usage(w.ctx, w.ws, w.clock.now())
		ok(t, err)
		equal(t, int64(10), got[domain.MetricQueries])
	})
	t.Run("a limit of 0 never refuses", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		passed, err := w.Consume(w.ctx, w.ws, domain.MetricQueries, 1_000_000, 0)
		ok(t, err)
		equal(t, true, passed)
	})
	t.Run("however many ask at once, no more than the limit pass", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for range 5 {
					yes, err := w.Consume(w.ctx, w.ws, domain.MetricQueries, 1, 30)
					if err != nil {
						t.Error(err)
					}
					if yes {
						passed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		equal(t, int64(30), passed.Load())
	})
}
