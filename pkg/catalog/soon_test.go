package catalog

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// TestWhatIsCountedSoonIsStoredByClose counts, closes at once, and looks with another process's eyes.
func TestWhatIsCountedSoonIsStoredByClose(t *testing.T) {
	t.Parallel()
	o := Options{Path: filepath.Join(t.TempDir(), "catalog.db")}
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	const ws = "ws"
	if err := c.EnsureWorkspace(t.Context(), ws, "test"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.CountSoon(domain.Account{WorkspaceID: ws, KeyID: "a"}, map[domain.Metric]int64{domain.MetricRetrievals: 1})
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c.CountSoon(domain.Account{WorkspaceID: ws}, map[domain.Metric]int64{domain.MetricRetrievals: 1}) // too late, and no harm
	if c, err = Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	used, err := c.Usage(t.Context(), ws, time.Now())
	if err != nil || used[domain.MetricRetrievals] != 3 {
		t.Errorf("%v are told after the catalog was opened again, error %v; want three retrievals", used, err)
	}
}

// TestWhoAsksForUseWaitsNoLongerThanItsContext asks while nothing can be stored.
func TestWhoAsksForUseWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	c, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "catalog.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const ws = "ws"
	if err := c.EnsureWorkspace(t.Context(), ws, "test"); err != nil {
		t.Fatal(err)
	}
	release := occupy(t, c.db)
	c.CountSoon(domain.Account{WorkspaceID: ws, KeyID: "a"}, map[domain.Metric]int64{domain.MetricRetrievals: 3})
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, errUsage := c.Usage(gone, ws, time.Now())
	_, errKeys := c.KeyUsage(gone, ws, time.Now())
	release()
	if !errors.Is(errUsage, context.Canceled) || !errors.Is(errKeys, context.Canceled) {
		t.Errorf("it ended with %v, and by key with %v", errUsage, errKeys)
	}
	used, err := c.Usage(t.Context(), ws, time.Now())
	keys, errKeys := c.KeyUsage(t.Context(), ws, time.Now())
	if used[domain.MetricRetrievals] != 3 || keys["a"][domain.MetricRetrievals] != 3 || err != nil || errKeys != nil {
		t.Errorf("%v and %v are told once it was stored, errors %v and %v; want three retrievals", used, keys, err, errKeys)
	}
}
