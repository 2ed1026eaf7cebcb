package catalog_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// TestARevokedKeyIsRefusedAtOnce revokes keys and changes their limits, both through this process's catalog and through
// a second one on the same database, while other goroutines keep looking up the keys.
func TestARevokedKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	c, other := open(t, catalog.Options{Path: path}), open(t, catalog.Options{Path: path})
	ctx, ws := t.Context(), domain.NewID()
	if err := c.EnsureWorkspace(ctx, ws, "w"); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		by := []*catalog.Catalog{c, other}[i%2]
		id := domain.NewID()
		k, err := by.CreateKey(ctx, domain.APIKey{ID: id, WorkspaceID: ws, Hash: domain.HashKey("sk_" + id), Scopes: []domain.Scope{domain.ScopeRead}})
		if err != nil {
			t.Fatal(err)
		}
		var limited, revoked atomic.Bool
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for {
					wasLimited, wasRevoked := limited.Load(), revoked.Load()
					got, err := c.KeyByHash(ctx, k.Hash)
					switch {
					case wasRevoked:
						if domain.CodeOf(err) != domain.CodeNotFound {
							t.Errorf("key %d was found after it was revoked: %v", i, err)
						}
						return
					case err != nil && domain.CodeOf(err) != domain.CodeNotFound:
						t.Errorf("key %d: %v", i, err)
						return
					case err == nil && wasLimited && got.Limits[domain.LimitRequests] != 7:
						t.Errorf("key %d has the limits %v", i, got.Limits)
					}
				}
			})
		}
		if err := by.SetLimits(ctx, domain.Account{WorkspaceID: ws, KeyID: id}, domain.Limits{domain.LimitRequests: 7}); err != nil {
			t.Error(err)
		}
		limited.Store(true)
		if _, err := by.RevokeKey(ctx, ws, id); err != nil {
			t.Error(err)
		}
		revoked.Store(true)
		readers.Wait()
	}
}

func BenchmarkKeyByHash(b *testing.B) {
	c := open(b, catalog.Options{Path: filepath.Join(b.TempDir(), "catalog.db")})
	ws, id := domain.NewID(), domain.NewID()
	if err := c.EnsureWorkspace(b.Context(), ws, "w"); err != nil {
		b.Fatal(err)
	}
	k, err := c.CreateKey(b.Context(), domain.APIKey{ID: id, WorkspaceID: ws, Hash: domain.HashKey("sk_" + id), Scopes: []domain.Scope{domain.ScopeRead}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.KeyByHash(b.Context(), k.Hash); err != nil {
			b.Fatal(err)
		}
	}
}
