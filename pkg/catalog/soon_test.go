package catalog

import (
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
