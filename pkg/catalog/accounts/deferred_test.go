package accounts

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/migrations"
	"github.com/sluice/sluice/pkg/domain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens an SQLite database. The returned function closes it along with the Accounts.
func open(t *testing.T, path string) (c *Accounts, end func()) {
	t.Helper()
	d, err := db.Open(t.Context(), db.Options{Path: path, Schema: migrations.FS})
	if err != nil {
		t.Fatal(err)
	}
	c = New(d, nil)
	return c, func() {
		c.Close()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseStoresDeferredUsage counts a use, closes immediately, and reopens the database as another process would.
func TestCloseStoresDeferredUsage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	c, end := open(t, path)
	const ws = "ws"
	if err := c.EnsureWorkspace(t.Context(), ws, "test"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.CountDeferred(domain.Account{WorkspaceID: ws, KeyID: "a"}, map[domain.Metric]int64{domain.MetricRetrievals: 1})
	}
	end()
	c.CountDeferred(domain.Account{WorkspaceID: ws}, map[domain.Metric]int64{domain.MetricRetrievals: 1}) // no effect after Close
	c, end = open(t, path)
	defer end()
	used, err := c.Usage(t.Context(), ws, time.Now())
	if err != nil || used[domain.MetricRetrievals] != 3 {
		t.Errorf("%v are told after the catalog was opened again, error %v; want three retrievals", used, err)
	}
}

func TestReadingUsageEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c, end := open(t, filepath.Join(t.TempDir(), "catalog.db"))
	defer end()
	const ws = "ws"
	if err := c.EnsureWorkspace(t.Context(), ws, "test"); err != nil {
		t.Fatal(err)
	}
	began, proceed, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.db.Update(t.Context(), "holding the one connection", func(*db.Tx) error { close(began); <-proceed; return nil }); err != nil {
			t.Error(err)
		}
	}()
	<-began
	c.CountDeferred(domain.Account{WorkspaceID: ws, KeyID: "a"}, map[domain.Metric]int64{domain.MetricRetrievals: 3})
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, errUsage := c.Usage(gone, ws, time.Now())
	_, errKeys := c.KeyUsage(gone, ws, time.Now())
	close(proceed)
	<-ended
	if !errors.Is(errUsage, context.Canceled) || !errors.Is(errKeys, context.Canceled) {
		t.Errorf("reading the usage ended with %v, and by key with %v", errUsage, errKeys)
	}
	used, err := c.Usage(t.Context(), ws, time.Now())
	keys, errKeys := c.KeyUsage(t.Context(), ws, time.Now())
	if used[domain.MetricRetrievals] != 3 || keys["a"][domain.MetricRetrievals] != 3 || err != nil || errKeys != nil {
		t.Errorf("%v and %v are told once it was stored, errors %v and %v; want three retrievals", used, keys, err, errKeys)
	}
}
