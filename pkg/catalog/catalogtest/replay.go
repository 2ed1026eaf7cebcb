package catalogtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// replayAll plays a replay to its end and returns how many it has queued.
func (w *world) replayAll(f catalog.ReplayFilter) int64 {
	w.t.Helper()
	var all int64
	for cursor := ""; ; {
		n, next, err := w.Replay(w.ctx, f, cursor)
		ok(w.t, err)
		all += n
		if next == "" {
			return all
		}
		cursor = next
	}
}

func testReplay(t *testing.T, open Open) {
	t.Run("what passes the filter is queued, each with the job that suits it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		file := w.synch(w.createFile().ID)
		failed := w.createFile()
		w.publishAll()
		w.apply(failed, domain.EventError)
		alone := domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.ws, DatastoreID: w.store, Type: domain.TypeWebPage,
			Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/alone"},
		}
		w.create(catalog.NewDatasource{Datasource: alone, Job: domain.NewCrawlJob(alone, w.settled())})
		w.publishAll()
		w.apply(w.get(alone.ID), domain.EventFetched, fetched("alone"))
		w.synch(alone.ID)
		site := w.createSite(domain.DatasourceConfig{}, pageA, pageB)
		w.publishAll()
		w.apply(w.page(site, pageA), domain.EventFetched, fetched("a"))
		w.synch(w.page(site, pageA).ID)
		w.apply(w.page(site, pageB), domain.EventError)
		w.apply(site, domain.EventSynched)
		other := w.datastore(w.ws).ID
		elsewhere := w.createFile(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		foreign := w.createFile(w.foreign())
		w.publishAll()
		a, b := domain.ChildID(site.ID, pageA), domain.ChildID(site.ID, pageB)

		const crawl, ingest = domain.JobCrawl, domain.JobIngest
		for sentence, test := range map[string]struct {
			filter catalog.ReplayFilter
			want   map[string]domain.JobKind
		}{
			"a datastore": {catalog.ReplayFilter{DatastoreID: w.store},
				map[string]domain.JobKind{file.ID: ingest, failed.ID: ingest, alone.ID: ingest, a: ingest, b: crawl}},
			"a datastore, fetched": {catalog.ReplayFilter{DatastoreID: w.store, Fetch: true},
				map[string]domain.JobKind{file.ID: ingest, failed.ID: ingest, alone.ID: crawl, site.ID: crawl}},
			"what failed of a datastore": {catalog.ReplayFilter{DatastoreID: w.store, Failed: true},
				map[string]domain.JobKind{failed.ID: ingest, b: crawl}},
			"what failed of a datastore, fetched": {catalog.ReplayFilter{DatastoreID: w.store, Failed: true, Fetch: true},
				map[string]domain.JobKind{failed.ID: ingest, b: crawl}},
			"the pages of a site":     {catalog.ReplayFilter{GroupID: site.ID}, map[string]domain.JobKind{a: ingest, b: crawl}},
			"one":                     {catalog.ReplayFilter{DatasourceID: file.ID}, map[string]domain.JobKind{file.ID: ingest}},
			"one page, fetched":       {catalog.ReplayFilter{DatasourceID: a, Fetch: true}, map[string]domain.JobKind{a: crawl}},
			"one of another store":    {catalog.ReplayFilter{DatasourceID: file.ID, DatastoreID: other}, nil},
			"one of another tenant":   {catalog.ReplayFilter{DatasourceID: foreign.ID, WorkspaceID: w.ws}, nil},
			"a workspace, of a store": {catalog.ReplayFilter{WorkspaceID: w.ws, DatastoreID: other}, map[string]domain.JobKind{elsewhere.ID: ingest}},
			"everything": {catalog.ReplayFilter{}, map[string]domain.JobKind{
				file.ID: ingest, failed.ID: ingest, alone.ID: ingest, a: ingest, b: crawl, elsewhere.ID: ingest, foreign.ID: ingest}},
		} {
			test.filter.ReplayID = domain.NewID()
			if n := w.replayAll(test.filter); n != int64(len(test.want)) {
				t.Errorf("%s: %d were queued, want %d", sentence, n, len(test.want))
			}
			got := map[string]domain.JobKind{}
			for _, j := range w.publishAll() {
				got[j.DatasourceID] = j.Kind
				if j.DatasourceID == failed.ID || j.DatasourceID == b {
					w.end(j, domain.EventError)
				} else {
					w.end(j, domain.EventUnchanged)
				}
			}
			if test.want == nil {
				test.want = map[string]domain.JobKind{}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", sentence, diff)
			}
		}
	})
	t.Run("a large replay goes on from where it was, in the order of age, and counts", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		var in []catalog.NewDatasource
		for range 450 {
			in = append(in, w.file())
		}
		made := w.create(in...)
		w.publishAll()
		f := catalog.ReplayFilter{DatastoreID: w.store, ReplayID: domain.NewID(), Priority: catalog.PriorityReplay, Force: true}
		n, next, err := w.Replay(w.ctx, f, "")
		ok(t, err)
		equal(t, int64(200), n)
		equal(t, datasourceIDs(made)[:200], w.outbox())
		upload := w.createFile()
		equal(t, upload.ID, w.outbox()[0])
		rest, next, err := w.Replay(w.ctx, f, next)
		ok(t, err)
		last, end, err := w.Replay(w.ctx, f, next)
		ok(t, err)
		equal(t, []any{int64(200), int64(51), ""}, []any{rest, last, end}) // the upload has come last
		jobs := w.publishAll()
		equal(t, true, jobs[0].Force)
		w.end(jobs[5], domain.EventError)
		w.end(jobs[6], domain.EventSynched)
		w.end(jobs[7], domain.EventUnchanged)
		total, done, failed, err := w.ReplayProgress(w.ctx, f.ReplayID)
		ok(t, err)
		equal(t, []int64{451, 2, 1}, []int64{total, done, failed})
		total, _, _, err = w.ReplayProgress(w.ctx, "")
		ok(t, err)
		equal(t, int64(0), total)
	})
	t.Run("only what has changed since is queued", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		w.synch(w.createFile().ID)
		w.clock.advance(time.Hour)
		since := w.clock.now()
		late := w.createFile()
		equal(t, int64(1), w.replayAll(catalog.ReplayFilter{DatastoreID: w.store, Since: since}))
		equal(t, []string{late.ID}, w.outbox())
	})
	t.Run("a cursor of another kind is refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		_, _, err := w.Replay(w.ctx, catalog.ReplayFilter{}, "?")
		code(t, domain.CodeInvalid, err)
	})
}
