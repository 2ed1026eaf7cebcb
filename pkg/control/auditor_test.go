package control

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/originals"
)

// inventory simulates the contents of the only engine.
type inventory struct {
	rows  []index.Stored
	since []index.Stored // written after the rows were listed
	left  []index.Stored // in the space of a model that the datastore does not use
	space error          // returned when spaces are listed
}

func (v inventory) Engines() []domain.Engine           { return []domain.Engine{here.Engine} }
func (v inventory) Index(domain.Engine) (Index, error) { return v, nil }
func (v inventory) Spaces(_ context.Context, store string) ([]index.Space, error) {
	spaces := []index.Space{{DatastoreID: store, Model: here.Model}}
	if v.left != nil {
		spaces = append(spaces, index.Space{DatastoreID: store, Model: there.Model})
	}
	return spaces, v.space
}
func (v inventory) Stored(_ context.Context, s index.Space, f func(index.Stored) error) error {
	rows := v.rows
	if s.Model != here.Model {
		rows = v.left
	}
	for _, s := range rows {
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}
func (v inventory) Count(_ context.Context, s index.Space, datasourceID string, generation uint64) (n int64, err error) {
	for _, r := range append(v.since, v.rows...) {
		if s.Model == here.Model && r.DatasourceID == datasourceID && r.Generation == generation {
			n += r.Rows
		}
	}
	return n, nil
}
func (v inventory) DeleteGenerations(context.Context, index.Space, ...index.Generations) error {
	return errors.New("an audit deletes nothing itself")
}
func (v inventory) DropDatastore(context.Context, string) error {
	return errors.New("an audit drops nothing itself")
}

// kept simulates the original store. It maps each key to the time it was stored.
type kept map[string]time.Time

func (k kept) Each(_ context.Context, f func(string, int64, time.Time) error) error {
	for key, modified := range k {
		if err := f(key, 1, modified); err != nil {
			return err
		}
	}
	return nil
}

// spoiled is the storage time that marks an original as damaged.
var spoiled = time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)

func (k kept) Verify(_ context.Context, key string) error {
	switch at, ok := k[key]; {
	case !ok:
		return fmt.Errorf("original %s: %w", key, originals.ErrNotFound)
	case at.Equal(spoiled):
		return fmt.Errorf("original %s: %w", key, originals.ErrCorrupt)
	}
	return nil
}

func (k kept) Exists(_ context.Context, key string) (bool, error) {
	_, ok := k[key]
	return ok, nil
}

// testCatalog returns a real catalog. Its only datasource, "src", was synched at the time `at`, with 3 chunks in
// generation 7.
func testCatalog(t *testing.T, at time.Time) *catalog.Catalog {
	t.Helper()
	ctx := t.Context()
	c, err := catalog.Open(ctx, catalog.Options{Path: filepath.Join(t.TempDir(), "catalog.db"), Log: quiet, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.EnsureWorkspace(ctx, "ws", "w"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateDatastore(ctx, domain.Datastore{ID: "store", WorkspaceID: "ws", Name: "s", Type: here.Engine, EmbeddingModel: here.Model}); err != nil {
		t.Fatal(err)
	}
	d := domain.Datasource{
		ID: "src", WorkspaceID: "ws", DatastoreID: "store", Type: domain.TypeFile, Name: "a.pdf", Original: &domain.Original{Key: "uploads/src"},
	}
	job := domain.NewIngestJob(d, domain.Datastore{ID: "store", Type: here.Engine, EmbeddingModel: here.Model})
	if _, err := c.CreateDatasources(ctx, []catalog.NewDatasource{{Datasource: d, Job: job}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Published(ctx, job, 7); err != nil {
		t.Fatal(err)
	}
	job.Generation = 7
	ev := job.Event(domain.EventSynched, at)
	ev.Chunks, ev.Bytes = 3, 30
	if _, err := c.Apply(ctx, ev); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAuditRepairsDifferences(t *testing.T) {
	t.Parallel()
	synched := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	whole := index.Stored{DatasourceID: "src", Generation: 7, Rows: 3}
	tests := map[string]struct {
		rows      []index.Stored
		since     []index.Stored // written while the index is read
		originals kept
		later     time.Duration // time between the synch and the audit
		want      Report
		sweeps    []domain.Sweep
		left      []index.Stored
		lost      bool // the original is lost
		prune     bool
		gone      bool // the datasource is deleted
		read      bool // the datasource is read again
	}{
		"nothing when index and catalog agree": {rows: []index.Stored{whole}, later: time.Hour, want: Report{Datasources: 1}},
		"a datasource whose rows are missing is read again": {
			rows: []index.Stored{{DatasourceID: "src", Generation: 7, Rows: 2}}, later: time.Hour,
			want: Report{Datasources: 1, Missing: 1}, read: true,
		},
		"a datasource that became active while the index was read is left alone": {
			since: []index.Stored{whole}, later: time.Second, want: Report{Datasources: 1},
		},
		"rows of older generations are swept": {
			rows: []index.Stored{whole, {DatasourceID: "src", Generation: 5, Rows: 4}}, later: time.Hour,
			want:   Report{Datasources: 1, StrayRows: 4},
			sweeps: []domain.Sweep{{WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src", Place: here, Below: 7}},
		},
		"rows of an unknown datasource are swept, but not those of a page that comes back under its id": {
			rows:  []index.Stored{whole, {DatasourceID: "gone", Generation: 3, Rows: 2}, {DatasourceID: "gone", Generation: 6, Rows: 1}},
			later: time.Hour, want: Report{Datasources: 1, StrayRows: 3},
			sweeps: []domain.Sweep{{WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "gone", Place: here, Below: 7}},
		},
		"an original that is lost is told, and what is in the index stays": {
			rows: []index.Stored{whole}, later: time.Hour, lost: true, want: Report{Datasources: 1, MissingOriginals: 1},
		},
		"a datasource that has lost rows and original ends with an error, which its job finds": {
			later: time.Hour, lost: true, want: Report{Datasources: 1, Lost: 1}, read: true,
		},
		"a datasource that has lost rows and original is deleted if that is asked for": {
			later: time.Hour, lost: true, prune: true, want: Report{Datasources: 1, Pruned: 1}, gone: true,
			sweeps: []domain.Sweep{{
				WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src", Below: 8,
				Originals: []string{"uploads/src"}, Jobs: true,
			}},
		},
		"a datasource that has lost its original and some of its rows is not deleted": {
			rows: []index.Stored{{DatasourceID: "src", Generation: 7, Rows: 1}}, later: time.Hour, lost: true, prune: true,
			want: Report{Datasources: 1, Lost: 1}, read: true,
		},
		"a datasource that has all its rows is not deleted": {
			rows: []index.Stored{whole}, later: time.Hour, lost: true, prune: true, want: Report{Datasources: 1, MissingOriginals: 1},
		},
		"rows of a place that the datastore has left are swept": {
			rows: []index.Stored{whole}, left: []index.Stored{{DatasourceID: "src", Generation: 4, Rows: 2}, {DatasourceID: "x", Generation: 6, Rows: 1}},
			later: time.Hour, want: Report{Datasources: 1, StrayRows: 3},
			sweeps: []domain.Sweep{{
				WorkspaceID: "ws", DatastoreID: "store", Place: domain.Place{Engine: here.Engine, Model: there.Model}, Below: 7,
			}},
		},
		"originals that nobody refers to are swept once they cannot be on their way any more": {
			rows: []index.Stored{whole}, later: 2 * time.Hour,
			originals: kept{"uploads/old": synched, "uploads/new": synched.Add(100 * time.Minute)},
			want:      Report{Datasources: 1, StrayOriginals: 1},
			sweeps:    []domain.Sweep{{Originals: []string{"uploads/old"}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testCatalog(t, synched)
			if test.originals == nil {
				test.originals = kept{}
			}
			if !test.lost {
				test.originals["uploads/src"] = synched
			}
			a := Auditor{
				Catalog: c, Engines: inventory{rows: test.rows, since: test.since, left: test.left}, Originals: test.originals, Log: quiet,
				Now: func() time.Time { return synched.Add(test.later) },
			}
			got, err := a.Audit(t.Context(), Scope{Prune: test.prune}, func(format string, args ...any) { t.Logf(format, args...) })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			tasks, err := c.Sweeps(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			var sweeps []domain.Sweep
			for _, task := range tasks {
				sweeps = append(sweeps, task.Sweep)
			}
			if diff := cmp.Diff(test.sweeps, sweeps, cmpopts.IgnoreFields(domain.Sweep{}, "ID")); diff != "" {
				t.Error(diff)
			}
			if _, err := c.Datasource(t.Context(), "ws", "src"); (domain.CodeOf(err) == domain.CodeNotFound) != test.gone {
				t.Errorf("the datasource is deleted: %v, want %v", err, test.gone)
			}
			waiting, err := c.Outbox(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			if read := len(waiting) == 1 && waiting[0].DatasourceID == "src" && waiting[0].Kind == domain.JobIngest; read != test.read {
				t.Errorf("the outbox holds %v, want the datasource to be read again: %v", waiting, test.read)
			}
		})
	}
}

// TestAnArchiveThatHasLostItsOriginalKeepsItsFiles prunes datasources without content. Archives never have any content.
func TestAnArchiveThatHasLostItsOriginalKeepsItsFiles(t *testing.T) {
	t.Parallel()
	synched := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := testCatalog(t, synched)
	apply := func(typ domain.EventType, change func(*domain.Event)) {
		d, err := c.Datasource(t.Context(), "ws", "src")
		if err != nil {
			t.Fatal(err)
		}
		ev := domain.Event{
			Type: typ, JobID: d.JobID, JobKind: domain.JobIngest, WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src", Generation: 8,
			Places: []domain.Place{here}, At: synched,
		}
		change(&ev)
		if _, err := c.Apply(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	job := domain.Job{ID: domain.NewID()}
	if _, err := c.ReplaceContent(t.Context(), "ws", "src", catalog.Replacement{Original: domain.Original{Key: "uploads/zip"}, Job: job}); err != nil {
		t.Fatal(err)
	}
	apply(domain.EventArchive, func(*domain.Event) {})
	file := domain.MemberID("src", "a.txt")
	apply(domain.EventDiscovered, func(ev *domain.Event) {
		ev.Members = []domain.Original{{Key: "uploads/a", SHA256: "a", Size: 1, Name: "a.txt"}}
	})
	apply(domain.EventSynched, func(ev *domain.Event) { ev.Complete = true })
	member, err := c.Datasource(t.Context(), "ws", file)
	if err != nil {
		t.Fatal(err)
	}
	apply(domain.EventSynched, func(ev *domain.Event) { ev.DatasourceID, ev.JobID, ev.Generation, ev.Chunks = file, member.JobID, 9, 2 })
	a := Auditor{
		Catalog: c, Engines: inventory{rows: []index.Stored{{DatasourceID: file, Generation: 9, Rows: 2}}}, Originals: kept{"uploads/a": synched}, Log: quiet,
		Now: func() time.Time { return synched.Add(time.Hour) },
	}
	report, err := a.Audit(t.Context(), Scope{Prune: true}, func(format string, args ...any) { t.Logf(format, args...) })
	if err != nil || report.MissingOriginals != 1 || report.Pruned != 0 || report.Missing != 0 {
		t.Errorf("the audit found %+v, %v", report, err)
	}
	for _, id := range []string{"src", file} {
		if d, err := c.Datasource(t.Context(), "ws", id); err != nil || d.Status != domain.StatusSynched {
			t.Errorf("%s is %s, %v", id, d.Status, err)
		}
	}
}

func TestAuditSkipsAnUnreadableDatastore(t *testing.T) {
	t.Parallel()
	synched := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := testCatalog(t, synched)
	a := Auditor{
		Catalog: c, Engines: inventory{space: errDown}, Originals: kept{"uploads/old": synched}, Log: quiet,
		Now: func() time.Time { return synched.Add(2 * time.Hour) },
	}
	report, err := a.Audit(t.Context(), Scope{}, func(format string, args ...any) { t.Logf(format, args...) })
	if !errors.Is(err, errDown) || report.StrayOriginals != 1 {
		t.Errorf("the audit found %+v, err %v", report, err)
	}
}

// listings is an inventory that lists different rows the second time.
type listings struct {
	inventory
	again  []index.Stored
	listed *int
}

func (l listings) Index(domain.Engine) (Index, error) { return l, nil }

func (l listings) Stored(ctx context.Context, s index.Space, f func(index.Stored) error) error {
	*l.listed++
	if *l.listed > 1 {
		l.rows = l.again
	}
	return l.inventory.Stored(ctx, s, f)
}

func (l listings) Count(context.Context, index.Space, string, uint64) (int64, error) {
	return 0, errors.New("many datasources are counted one by one")
}

func TestManyMissingDatasourcesAreCountedTogether(t *testing.T) {
	t.Parallel()
	synched := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := testCatalog(t, synched)
	store := domain.Datastore{ID: "store", Type: here.Engine, EmbeddingModel: here.Model}
	kept, ids := kept{"uploads/src": synched}, []string{"src"}
	for i := range maxCounts + 4 {
		d := domain.Datasource{ID: fmt.Sprint("more", i), WorkspaceID: "ws", DatastoreID: "store", Type: domain.TypeFile, Name: "b.pdf"}
		d.Original = &domain.Original{Key: "uploads/" + d.ID}
		kept[d.Original.Key], ids = synched, append(ids, d.ID)
		job := domain.NewIngestJob(d, store)
		_, err := c.CreateDatasources(t.Context(), []catalog.NewDatasource{{Datasource: d, Job: job}})
		if err == nil {
			err = c.Published(t.Context(), job, 7)
		}
		job.Generation = 7
		ev := job.Event(domain.EventSynched, synched)
		ev.Chunks, ev.Bytes = 3, 30
		if err == nil {
			_, err = c.Apply(t.Context(), ev)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The first listing finds no rows. The second finds every row of three datasources, and two of the three rows of a
	// fourth.
	var again []index.Stored
	for _, id := range ids[:4] {
		again = append(again, index.Stored{DatasourceID: id, Generation: 7, Rows: 3})
	}
	again[3].Rows = 2
	a := Auditor{
		Catalog: c, Engines: listings{again: again, listed: new(int)}, Originals: kept, Log: quiet,
		Now: func() time.Time { return synched.Add(2 * time.Hour) },
	}
	report, err := a.Audit(t.Context(), Scope{}, func(format string, args ...any) { t.Logf(format, args...) })
	if want := (Report{Datasources: len(ids), Missing: len(ids) - 3}); err != nil || report != want {
		t.Errorf("the audit found %+v, err %v, want %+v", report, err, want)
	}
	for i, id := range ids {
		d, err := c.Datasource(t.Context(), "ws", id)
		if err != nil || d.Status.Terminal() != (i < 3) {
			t.Errorf("%s has the status %s: %v", id, d.Status, err)
		}
	}
}
