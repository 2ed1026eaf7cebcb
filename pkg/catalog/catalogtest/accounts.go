package catalogtest

import (
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
		k.ExpiresAt = new(w.clock.now().Add(time.Hour + time.Nanosecond))
		made, err := w.CreateKey(w.ctx, k)
		ok(t, err)
		got, err := w.KeyByHash(w.ctx, k.Hash)
		ok(t, err)
		equal(t, made, got)
		k.CreatedAt, k.ExpiresAt = got.CreatedAt, new(w.clock.now().Add(time.Hour))
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
		w.createKey(k)
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
	t.Run("the limits of a key are found with it, listed, and go with it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		k := newKey(w.ws)
		k.Limits = domain.Limits{domain.MetricQueries: 5, domain.LimitRequests: 2}
		w.createKey(k)
		w.createKey(newKey(w.ws))
		got, err := w.KeyByHash(w.ctx, k.Hash)
		ok(t, err)
		equal(t, k.Limits, got.Limits)
		keys, err := w.Keys(w.ctx, w.ws)
		ok(t, err)
		equal(t, nil, keys[0].Limits)
		equal(t, k.Limits, keys[1].Limits)
		gone, err := w.RevokeKey(w.ctx, w.ws, k.ID)
		ok(t, err)
		equal(t, k.Limits, gone.Limits)
		left, err := w.Limits(w.ctx, domain.Account{WorkspaceID: w.ws, KeyID: k.ID})
		ok(t, err)
		equal(t, nil, left)
	})
	t.Run("a second key with the hash of another is a conflict", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		k := newKey(w.ws)
		w.createKey(k)
		k.ID = domain.NewID()
		_, err := w.CreateKey(w.ctx, k)
		code(t, domain.CodeConflict, err)
	})
	t.Run("a key of an unknown workspace is refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		_, err := w.CreateKey(w.ctx, newKey(domain.NewID()))
		code(t, domain.CodeNotFound, err)
	})
	t.Run("a revoked key is gone, and another workspace cannot revoke it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		k := newKey(w.ws)
		w.createKey(k)
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
			w.createKey(k)
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
		w.createKey(k)
		at := w.clock.now()
		for _, use := range []time.Time{at, at.Add(30 * time.Second), at.Add(2 * time.Minute), at.Add(time.Minute)} {
			ok(t, w.TouchKey(w.ctx, k.ID, use))
		}
		got, err := w.KeyByHash(w.ctx, k.Hash)
		ok(t, err)
		equal(t, at.Add(2*time.Minute), *got.LastUsedAt)
	})
}
