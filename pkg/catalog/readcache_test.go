package catalog_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// TestCachedDataIsNeverOlderThanTheLastCommit renames a datastore and its datasource in a loop while other goroutines
// read both and count usage.
func TestCachedDataIsNeverOlderThanTheLastCommit(t *testing.T) {
	t.Parallel()
	c := open(t, catalog.Options{Path: filepath.Join(t.TempDir(), "catalog.db")})
	ctx, ws, id := t.Context(), domain.NewID(), domain.NewID()
	if err := c.EnsureWorkspace(ctx, ws, "w"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateDatastore(ctx, domain.Datastore{ID: id, WorkspaceID: ws, Name: "0", Type: domain.EngineEmbedded}); err != nil {
		t.Fatal(err)
	}
	var written, answered atomic.Int64
	stop := make(chan struct{})
	var reading sync.WaitGroup
	for range 3 {
		reading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				minimum := written.Load()
				d, err := c.Datastore(ctx, ws, id)
				var n int64
				if _, scanErr := fmt.Sscan(d.Name, &n); err != nil || scanErr != nil || n < minimum {
					t.Errorf("the datastore is called %q after it was called %d: %v", d.Name, minimum, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for i := range int64(150) {
		name := fmt.Sprint(i + 1)
		if _, err := c.UpdateDatastore(ctx, ws, id, domain.DatastorePatch{Name: &name}); err != nil {
			t.Error(err)
			break
		}
		written.Store(i + 1)
		if err := c.Count(ctx, domain.Account{WorkspaceID: ws}, map[domain.Metric]int64{domain.MetricRetrievals: 1}); err != nil {
			t.Error(err)
		}
		for seen := answered.Load(); answered.Load() == seen && !t.Failed(); { // until another reader has got an answer
			d, err := c.Datastore(ctx, ws, id)
			if err != nil || d.Name != name {
				t.Fatalf("the datastore is called %q, want %q: %v", d.Name, name, err)
			}
		}
	}
	close(stop)
	reading.Wait()
	if _, err := c.Datastore(ctx, domain.NewID(), id); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("another workspace's datastore: %v", err)
	}
	if _, err := c.DeleteDatastore(ctx, ws, id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Datastore(ctx, ws, id); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a deleted datastore: %v", err)
	}
}
