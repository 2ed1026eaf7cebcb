package resources

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/migrations"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// openCached opens a catalog with a datastore and three datasources in its cache: a and b, which are a site's pages,
// and c.
func openCached(t *testing.T) *Resources {
	t.Helper()
	cache := NewReadCache(1 << 20)
	d, err := db.Open(t.Context(), db.Options{Path: filepath.Join(t.TempDir(), "catalog.db"), Schema: migrations.FS, Observer: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	a := accounts.New(d, nil)
	if err := a.EnsureWorkspace(t.Context(), "w", "w"); err != nil {
		t.Fatal(err)
	}
	c := New(d, cache, a, nil)
	if _, err := c.CreateDatastore(t.Context(), domain.Datastore{ID: "s", WorkspaceID: "w", Name: "s", Type: domain.EngineEmbedded}); err != nil {
		t.Fatal(err)
	}
	err = c.db.Update(t.Context(), "adding", func(tx *db.Tx) error {
		for _, id := range []string{"a", "b", "c"} {
			r := record.Record{Datasource: domain.Datasource{ID: id, WorkspaceID: "w", DatastoreID: "s", Name: id, Type: domain.TypeFile}}
			if id != "c" {
				r.GroupID = "site"
			}
			if err := r.Insert(t.Context(), tx, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	queryNames(t, c)
	if got := inCache(c); got != "a b c s" {
		t.Fatalf("the cache holds %q", got)
	}
	return c
}

// queryNames reads the data that every query reads and returns the datasources' names.
func queryNames(t *testing.T, c *Resources) string {
	t.Helper()
	found, err := c.ActiveOf(t.Context(), []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(found))
	for i, f := range found {
		if names[i] = "-"; f != nil {
			names[i] = f.Name
		}
	}
	if _, err := c.Datastore(t.Context(), "w", "s"); err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// inCache returns the names of the cached datasources and datastores.
func inCache(c *Resources) string {
	var held []string
	for _, id := range []string{"a", "b", "c"} {
		if _, ok := c.cache.active[id]; ok {
			held = append(held, id)
		}
	}
	if _, ok := c.cache.stores["s"]; ok {
		held = append(held, "s")
	}
	return strings.Join(held, " ")
}

// TestACommitInvalidatesTheCachedRowsThatItChanges changes cached rows with all kinds of statements. The cache must
// drop exactly the changed rows and then read them again.
func TestACommitInvalidatesTheCachedRowsThatItChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ statement, kept, answer string }{
		"one is renamed":            {`UPDATE datasources SET name = 'new' WHERE id = 'b'`, "a c s", "a new c"},
		"some are renamed":          {`UPDATE datasources SET name = name || 'x' WHERE group_id = 'site'`, "c s", "ax bx c"},
		"one is removed":            {`DELETE FROM datasources WHERE id = 'a'`, "b c s", "- b c"},
		"all are removed":           {`DELETE FROM datasources`, "s", "- - -"},
		"one is put again":          {`INSERT INTO datasources SELECT * FROM datasources WHERE id = 'a' ON CONFLICT (id) DO UPDATE SET name = 'again'`, "b c s", "again b c"},
		"one takes another's place": {`REPLACE INTO datasources SELECT * FROM datasources WHERE id = 'a'`, "b c s", "a b c"},
		"the datastore is renamed":  {`UPDATE datastores SET name = 'new'`, "", "a b c"},
		"the datastore is deleted":  {`UPDATE datastores SET deleted_at = 1`, "", "- - -"},
		"the datastore is removed":  {`DELETE FROM datastores`, "", "- - -"}, // with its datasources, by foreign key
		"the workspace is removed":  {`DELETE FROM workspaces`, "", "- - -"},
		"the site is doomed":        {`INSERT INTO doomed_sites (site_id) VALUES ('site')`, "", "- - c"},
		"something else":            {`UPDATE workspaces SET name = 'new'`, "a b c s", "a b c"},
		"nobody":                    {`UPDATE datasources SET name = 'new' WHERE id = 'x'`, "a b c s", "a b c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			has := openCached(t)
			if err := has.db.Update(t.Context(), "changing", func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), c.statement)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if got := inCache(has); got != c.kept {
				t.Errorf("kept are %q, not %q", got, c.kept)
			}
			if got := queryNames(t, has); got != c.answer {
				t.Errorf("the answer is %q, not %q", got, c.answer)
			}
			if got := queryNames(t, has); got != c.answer {
				t.Errorf("the second answer is %q, not %q", got, c.answer)
			}
		})
	}
}

// TestAChangeInvalidatesTheCacheBeforeItIsVisible changes a row in an open transaction. The cached rows must stay
// correct until the commit.
func TestAChangeInvalidatesTheCacheBeforeItIsVisible(t *testing.T) {
	t.Parallel()
	c := openCached(t)
	if err := c.db.Update(t.Context(), "changing", func(tx *db.Tx) error {
		if _, err := tx.Exec(t.Context(), `UPDATE datasources SET name = 'new' WHERE id = 'b'`); err != nil {
			return err
		}
		if got := queryNames(t, c); got != "a b c" {
			t.Errorf("the answer is %q before the commit", got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	done := func() func() { // as if a commit were in progress
		c.cache.Change(tableSources, false, func() (string, error) { return "a", nil })
		return c.cache.Committing()
	}()
	if got := queryNames(t, c); got != "a new c" {
		t.Errorf("the answer is %q", got)
	}
	if got := inCache(c); got != "c s" {
		t.Errorf("kept are %q while nobody knows what readers see", got)
	}
	done()
	queryNames(t, c)
	if got := inCache(c); got != "a b c s" {
		t.Errorf("kept are %q", got)
	}
}

// TestTheReadCacheIsBounded caches more data than fits and changes more datasources than are tracked individually.
func TestTheReadCacheIsBounded(t *testing.T) {
	t.Parallel()
	m := ReadCache{max: 16 << 20}
	for n := range 100 {
		id := fmt.Sprint(n)
		m.putDatasources(0, []sizedDatasource{{&domain.ActiveDatasource{ID: id}, 1 << 19}, {&domain.ActiveDatasource{ID: id}, 1 << 20}})
		m.putDatastore(0, domain.Datastore{ID: id, Description: strings.Repeat("x", 1<<19)})
		held := int64(len(m.active))<<20 + int64(len(m.stores))*(1<<19+512+1)
		if m.size > m.max || held > m.max || len(m.active) == 0 {
			t.Fatalf("%d are kept, %d bytes of %d", len(m.active), held, m.size)
		}
	}
	m.putDatasources(0, []sizedDatasource{{&domain.ActiveDatasource{ID: "huge"}, m.max + 1}})
	if _, kept := m.active["huge"]; kept || len(m.active) == 0 {
		t.Error("a row larger than the cache was cached or evicted all others")
	}
	for n := range 2 * maxChanged {
		m.Change(tableSources, false, func() (string, error) { return fmt.Sprint(n), nil })
		if len(m.changed) > maxChanged {
			t.Fatalf("%d changes are remembered", len(m.changed))
		}
	}
	m.Committing()()
	if m.size != 0 || len(m.active) != 0 || m.changedAll || m.commits.Load() != 2 {
		t.Errorf("%d bytes are kept after everything has changed, version %d", m.size, m.commits.Load())
	}
	m.putDatasources(2, []sizedDatasource{{&domain.ActiveDatasource{ID: "a"}, 100}, {&domain.ActiveDatasource{ID: "b"}, 10}})
	m.Change(tableSources, false, func() (string, error) { return "a", nil })
	m.Committing()()
	if m.size != 10 || m.commits.Load() != 4 {
		t.Errorf("%d bytes are kept, version %d", m.size, m.commits.Load())
	}
	m.putDatasources(2, []sizedDatasource{{&domain.ActiveDatasource{ID: "a"}, 100}}) // as if read before the commit
	if m.size != 10 {
		t.Errorf("old rows stayed in the cache")
	}
}
