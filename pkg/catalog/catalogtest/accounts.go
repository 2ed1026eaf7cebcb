package catalogtest

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func newKey(ws string) domain.APIKey {
	id := domain.NewID()
	return domain.APIKey{
		ID: id, WorkspaceID: ws, Name: "ci", Hash: domain.HashKey("sk_" + id), Hint: "abcd",
		Scopes: []domain.Scope{domain.ScopeRead, domain.ScopeWrite},
	}
}

func testKeys(t *testing.T, open world.Open) {
	t.Run("a key is found by its hash with everything that was stored", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		k := newKey(w.WS)
		k.AgentID = "agent"
		k.ExpiresAt = new(w.Clock.Now().Add(time.Hour + time.Nanosecond))
		made, err := w.CreateKey(w.Ctx, k)
		world.OK(t, err)
		got, err := w.KeyByHash(w.Ctx, k.Hash)
		world.OK(t, err)
		world.Equal(t, made, got)
		k.CreatedAt, k.ExpiresAt = got.CreatedAt, new(w.Clock.Now().Add(time.Hour))
		world.Equal(t, k, got)
	})
	t.Run("an unknown hash is not found", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		_, err := w.KeyByHash(w.Ctx, domain.HashKey("sk_nobody"))
		world.Code(t, domain.CodeNotFound, err)
	})
	t.Run("a key is not found from the moment it expires, and still listed", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		k := newKey(w.WS)
		expires := w.Clock.Now().Add(time.Hour)
		k.ExpiresAt = &expires
		createKey(w, k)
		w.Clock.Advance(time.Hour - time.Microsecond)
		_, err := w.KeyByHash(w.Ctx, k.Hash)
		world.OK(t, err)
		w.Clock.Advance(time.Microsecond)
		_, err = w.KeyByHash(w.Ctx, k.Hash)
		world.Code(t, domain.CodeNotFound, err)
		keys, err := w.Keys(w.Ctx, w.WS)
		world.OK(t, err)
		world.Equal(t, 1, len(keys))
	})
	t.Run("the limits of a key are found with it, listed, and go with it", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		k := newKey(w.WS)
		k.Limits = domain.Limits{domain.MetricQueries: 5, domain.LimitRequests: 2}
		createKey(w, k)
		createKey(w, newKey(w.WS))
		got, err := w.KeyByHash(w.Ctx, k.Hash)
		world.OK(t, err)
		world.Equal(t, k.Limits, got.Limits)
		keys, err := w.Keys(w.Ctx, w.WS)
		world.OK(t, err)
		world.Equal(t, nil, keys[0].Limits)
		world.Equal(t, k.Limits, keys[1].Limits)
		gone, err := w.RevokeKey(w.Ctx, w.WS, k.ID)
		world.OK(t, err)
		world.Equal(t, k.Limits, gone.Limits)
		left, err := w.Limits(w.Ctx, domain.Account{WorkspaceID: w.WS, KeyID: k.ID})
		world.OK(t, err)
		world.Equal(t, nil, left)
	})
	t.Run("a second key with the hash of another is a conflict", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		k := newKey(w.WS)
		createKey(w, k)
		k.ID = domain.NewID()
		_, err := w.CreateKey(w.Ctx, k)
		world.Code(t, domain.CodeConflict, err)
	})
	t.Run("a key of an unknown workspace is refused", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		_, err := w.CreateKey(w.Ctx, newKey(domain.NewID()))
		world.Code(t, domain.CodeNotFound, err)
	})
	t.Run("a revoked key is gone, and another workspace cannot revoke it", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		k := newKey(w.WS)
		createKey(w, k)
		_, err := w.RevokeKey(w.Ctx, w.NewWorkspace(), k.ID)
		world.Code(t, domain.CodeNotFound, err)
		got, err := w.RevokeKey(w.Ctx, w.WS, k.ID)
		world.OK(t, err)
		world.Equal(t, k.Hash, got.Hash)
		_, err = w.KeyByHash(w.Ctx, k.Hash)
		world.Code(t, domain.CodeNotFound, err)
	})
	t.Run("keys of all workspaces are counted, one workspace's are listed newest first", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		first, second, other := newKey(w.WS), newKey(w.WS), newKey(w.NewWorkspace())
		for _, k := range []domain.APIKey{first, second, other} {
			createKey(w, k)
		}
		n, err := w.CountKeys(w.Ctx)
		world.OK(t, err)
		world.Equal(t, int64(3), n)
		keys, err := w.Keys(w.Ctx, w.WS)
		world.OK(t, err)
		world.Equal(t, []string{second.ID, first.ID}, world.IDs(keys, func(k domain.APIKey) string { return k.ID }))
	})
	t.Run("the last use is noted to the minute and never moves back", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		k := newKey(w.WS)
		createKey(w, k)
		at := w.Clock.Now()
		for _, use := range []time.Time{at, at.Add(30 * time.Second), at.Add(2 * time.Minute), at.Add(time.Minute)} {
			world.OK(t, w.TouchKey(w.Ctx, k.ID, use))
		}
		got, err := w.KeyByHash(w.Ctx, k.Hash)
		world.OK(t, err)
		world.Equal(t, at.Add(2*time.Minute), *got.LastUsedAt)
	})
}
