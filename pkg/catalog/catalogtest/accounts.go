package catalogtest

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

func newKey(ws string) domain.APIKey {
	id := domain.NewID()
	return domain.APIKey{
		ID: id, WorkspaceID: ws, Name: "ci", Hash: domain.HashKey("sk_" + id), Hint: "abcd",
		Scopes: []domain.Scope{domain.ScopeRead, domain.ScopeWrite},
	}
}

func testKeys(t *testing.T, open world.Open) {
	world.Run(t, open, "a key is found by its hash with everything that was stored", func(t *testing.T, w *world.World) {
		k := newKey(w.WS)
		k.AgentID = "agent"
		k.ExpiresAt = new(w.Clock.Now().Add(time.Hour + time.Nanosecond))
		made := world.Must(w.CreateKey(w.Ctx, k))(t)
		got := world.Must(w.KeyByHash(w.Ctx, k.Hash))(t)
		world.Equal(t, made, got)
		k.CreatedAt, k.ExpiresAt = got.CreatedAt, new(w.Clock.Now().Add(time.Hour))
		world.Equal(t, k, got)
	})
	world.Run(t, open, "an unknown hash is not found", func(t *testing.T, w *world.World) {
		world.Refused(w.KeyByHash(w.Ctx, domain.HashKey("sk_nobody")))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "a key is not found from the moment it expires, and still listed", func(t *testing.T, w *world.World) {
		k := newKey(w.WS)
		expires := w.Clock.Now().Add(time.Hour)
		k.ExpiresAt = &expires
		createKey(w, k)
		w.Clock.Advance(time.Hour - time.Microsecond)
		world.Must(w.KeyByHash(w.Ctx, k.Hash))(t)
		w.Clock.Advance(time.Microsecond)
		world.Refused(w.KeyByHash(w.Ctx, k.Hash))(t, domain.CodeNotFound)
		keys := world.Must(w.Keys(w.Ctx, w.WS))(t)
		world.Equal(t, 1, len(keys))
	})
	world.Run(t, open, "the limits of a key are found with it, listed, and go with it", func(t *testing.T, w *world.World) {
		k := newKey(w.WS)
		k.Limits = domain.Limits{domain.MetricQueries: 5, domain.LimitRequests: 2}
		createKey(w, k)
		createKey(w, newKey(w.WS))
		got := world.Must(w.KeyByHash(w.Ctx, k.Hash))(t)
		world.Equal(t, k.Limits, got.Limits)
		keys := world.Must(w.Keys(w.Ctx, w.WS))(t)
		world.Equal(t, nil, keys[0].Limits)
		world.Equal(t, k.Limits, keys[1].Limits)
		gone := world.Must(w.RevokeKey(w.Ctx, w.WS, k.ID))(t)
		world.Equal(t, k.Limits, gone.Limits)
		left := world.Must(w.Limits(w.Ctx, domain.Account{WorkspaceID: w.WS, KeyID: k.ID}))(t)
		world.Equal(t, nil, left)
	})
	world.Run(t, open, "a second key with the hash of another is a conflict", func(t *testing.T, w *world.World) {
		k := newKey(w.WS)
		createKey(w, k)
		k.ID = domain.NewID()
		world.Refused(w.CreateKey(w.Ctx, k))(t, domain.CodeConflict)
	})
	world.Run(t, open, "a key of an unknown workspace is refused", func(t *testing.T, w *world.World) {
		world.Refused(w.CreateKey(w.Ctx, newKey(domain.NewID())))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "a revoked key is gone, and another workspace cannot revoke it", func(t *testing.T, w *world.World) {
		k := newKey(w.WS)
		createKey(w, k)
		world.Refused(w.RevokeKey(w.Ctx, w.NewWorkspace(), k.ID))(t, domain.CodeNotFound)
		got := world.Must(w.RevokeKey(w.Ctx, w.WS, k.ID))(t)
		world.Equal(t, k.Hash, got.Hash)
		world.Refused(w.KeyByHash(w.Ctx, k.Hash))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "keys of all workspaces are counted, one workspace's are listed newest first", func(t *testing.T, w *world.World) {
		first, second, other := newKey(w.WS), newKey(w.WS), newKey(w.NewWorkspace())
		for _, k := range []domain.APIKey{first, second, other} {
			createKey(w, k)
		}
		n := world.Must(w.CountKeys(w.Ctx))(t)
		world.Equal(t, int64(3), n)
		keys := world.Must(w.Keys(w.Ctx, w.WS))(t)
		world.Equal(t, []string{second.ID, first.ID}, lists.Map(keys, func(k domain.APIKey) string { return k.ID }))
	})
	world.Run(t, open, "the last use is noted to the minute and never moves back", func(t *testing.T, w *world.World) {
		k := newKey(w.WS)
		createKey(w, k)
		at := w.Clock.Now()
		for _, use := range []time.Time{at, at.Add(30 * time.Second), at.Add(2 * time.Minute), at.Add(time.Minute)} {
			world.OK(t, w.TouchKey(w.Ctx, k.ID, use))
		}
		got := world.Must(w.KeyByHash(w.Ctx, k.Hash))(t)
		world.Equal(t, at.Add(2*time.Minute), *got.LastUsedAt)
	})
}
