package catalog_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/tools/local/engines"
)

func TestMain(m *testing.M) {
	engines.RunChildIfAsked()
	goleak.VerifyTestMain(engines.Stopping(m))
}

// mayWalk lists fragments of statements that may scan a table or sort. The comment on each says why.
var mayWalk = []string{
	"SELECT COUNT(*) FROM api_keys",                                      // a small table, counted only at startup
	"original_key FROM datasources WHERE original_key <> ''",             // has to scan
	"WHERE place <> 1 AND status IN",                                     // partial index of datasources in flight
	"SELECT agent_id, datastore_id FROM agent_datastores WHERE agent_id", // sorts the datastores for one page of agents
	"SELECT d.status, COUNT(*) FROM batch_files",                         // counts one batch's files, whose number is limited
}

// mayScan lists query plan steps that scan only a few rows.
var mayScan = []string{
	"SCAN waiting",    // subquery for at most one row: a waiting page
	"SCAN unfinished", // subquery for a few rows: unfinished files
	"SCAN CONSTANT ROW",
	"SCAN datastores USING INDEX datastores_deleted", // datastores being removed
	"SCAN datastores USING INDEX datastores_moving",  // datastores being moved
	"SCAN doomed_sites USING COVERING INDEX sqlite_autoindex_doomed_sites_1",
	"SCAN doomed_sites",                            // sites being removed
	"SCAN repairs USING INDEX repairs_open",        // unfinished repairs
	"SCAN files USING INDEX files_deleted",         // files being removed
	"SCAN v USING INDEX vector_stores_emptying",    // vector stores being emptied
	"SCAN outbox USING COVERING INDEX outbox_turn", // counts waiting jobs for monitoring
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	statements := map[string]bool{}
	empty := migrated(t)
	t.Run("suite", func(t *testing.T) {
		catalogtest.Run(t, func(t testing.TB, o catalog.Options) *catalog.Catalog {
			o.Path = filepath.Join(t.TempDir(), "catalog.db")
			if err := os.WriteFile(o.Path, empty, 0o600); err != nil {
				t.Fatal(err)
			}
			c := open(t, o)
			t.Cleanup(func() {
				mu.Lock()
				defer mu.Unlock()
				c.Statements(statements)
			})
			return c
		})
	})
	c := open(t, catalog.Options{Path: filepath.Join(t.TempDir(), "catalog.db")})
	for text := range statements {
		if slices.ContainsFunc(mayWalk, func(part string) bool { return strings.Contains(text, part) }) {
			continue
		}
		plan, err := c.Plan(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range plan {
			walks := strings.HasPrefix(step, "SCAN ") && !slices.Contains(mayScan, step)
			if walks || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("this statement gets slower with the size of the catalog:\n%s\n%s", text, strings.Join(plan, "\n"))
			}
		}
	}
}

func open(t testing.TB, o catalog.Options) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// migrated returns the file of an empty catalog. Every test starts with a copy, because running the migrations would be
// slower.
func migrated(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.db")
	if err := open(t, catalog.Options{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOpen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("what was stored is there after opening again, and waiting work wakes at once", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "with space & ümlaut?#.db")
		c := open(t, catalog.Options{Path: path})
		if err := c.EnsureWorkspace(ctx, "ws", "test"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateKey(ctx, domain.APIKey{ID: "k", WorkspaceID: "ws", Hash: "h"}); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = open(t, catalog.Options{Path: path})
		<-c.OutboxWake()
		<-c.SweepWake()
		if _, err := c.KeyByHash(ctx, "h"); err != nil {
			t.Fatal(err)
		}
		if err := c.Ready(ctx); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a closed catalog is not ready, and closing again is no error", func(t *testing.T) {
		t.Parallel()
		c := open(t, catalog.Options{Path: filepath.Join(t.TempDir(), "c.db")})
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.Ready(ctx); err == nil {
			t.Fatal("a closed catalog says that it is ready")
		}
	})
	t.Run("a database of a newer version is refused in words", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "c.db")
		if err := open(t, catalog.Options{Path: path}).Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`); err != nil {
			t.Fatal(err)
		}
		_, err = catalog.Open(ctx, catalog.Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), "use a newer version of the program") {
			t.Fatalf("opening gave %v", err)
		}
	})
	t.Run("a file that is no database is refused", func(t *testing.T) {
		t.Parallel()
		if c, err := catalog.Open(ctx, catalog.Options{Path: t.TempDir()}); err == nil {
			t.Fatal("a folder was opened", c.Close())
		}
		if _, err := catalog.Open(ctx, catalog.Options{}); err == nil {
			t.Fatal("no path was opened")
		}
	})
	t.Run("a cancelled context ends a write and changes nothing", func(t *testing.T) {
		t.Parallel()
		c := open(t, catalog.Options{Path: filepath.Join(t.TempDir(), "c.db")})
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := c.EnsureWorkspace(gone, "ws", "test"); err == nil {
			t.Fatal("a cancelled write succeeded")
		}
		if err := c.EnsureWorkspace(ctx, "ws", "test"); err != nil {
			t.Fatal(err)
		}
	})
}

// After a crash, the log may still contain a deleted datasource's job.
func TestAJobThatIsBackInTheLogIsRemovedAgain(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(t testing.TB, o catalog.Options) *catalog.Catalog {
		o.Path = filepath.Join(t.TempDir(), "catalog.db")
		return open(t, o)
	})
	d := w.CreateFile()
	job := w.PublishAll()[0]
	_, err := w.DeleteDatasource(w.Ctx, w.WS, d.ID)
	world.OK(t, err)
	w.ClearSweeps() // the job was removed from the log
	for range 2 {   // the second time, the sweep is still queued
		what, err := w.Adopt(w.Ctx, job)
		world.OK(t, err)
		world.Equal(t, catalog.NothingAdopted, what)
		sweeps := w.AllSweeps()
		world.Equal(t, 1, len(sweeps))
		world.Equal(t, []any{w.StoreID, d.ID, job.Generation + 1, true},
			[]any{sweeps[0].DatastoreID, sweeps[0].DatasourceID, sweeps[0].Below, sweeps[0].Jobs})
	}
	w.ClearSweeps()
	job.Generation++ // newer than the catalog, which was restored from an older copy
	what, err := w.Adopt(w.Ctx, job)
	world.OK(t, err)
	world.Equal(t, catalog.AdoptedUnknown, what)
}
