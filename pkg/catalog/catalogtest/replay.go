package catalogtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// replayAll runs a replay to completion and returns the number of queued datasources.
func replayAll(w *world.World, f catalog.ReplayFilter) int64 {
	w.T.Helper()
	var all int64
	for cursor := ""; ; {
		n, next, err := w.Replay(w.Ctx, f, cursor)
		world.OK(w.T, err)
		all += n
		if next == "" {
			return all
		}
		cursor = next
	}
}

func testReplay(t *testing.T, open world.Open) {
	world.Run(t, open, "what passes the filter is queued, each with the job that suits it", func(t *testing.T, w *world.World) {
		file := w.Synch(w.CreateFile().ID)
		failed := w.CreateFile()
		w.PublishAll()
		w.ApplyEvent(failed, domain.EventError)
		alone := domain.Datasource{
			ID: domain.NewID(), WorkspaceID: w.WS, DatastoreID: w.StoreID, Type: domain.TypeWebPage,
			Config: domain.DatasourceConfig{SourceURL: "https://pumps.example/alone"},
		}
		w.Create(catalog.NewDatasource{Datasource: alone, Job: domain.NewCrawlJob(alone, w.Settled())})
		w.PublishAll()
		w.ApplyEvent(w.Get(alone.ID), domain.EventFetched, world.Fetched("alone"))
		w.Synch(alone.ID)
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA, world.PageB)
		w.PublishAll()
		w.ApplyEvent(w.PageAt(site, world.PageA), domain.EventFetched, world.Fetched("a"))
		w.Synch(w.PageAt(site, world.PageA).ID)
		w.ApplyEvent(w.PageAt(site, world.PageB), domain.EventError)
		w.ApplyEvent(site, domain.EventSynched)
		other := w.NewDatastore(w.WS).ID
		elsewhere := w.CreateFile(func(n *catalog.NewDatasource) { n.Datasource.DatastoreID = other })
		foreign := w.CreateFile(foreign(w))
		w.PublishAll()
		a, b := domain.ChildID(site.ID, world.PageA), domain.ChildID(site.ID, world.PageB)

		const crawl, ingest = domain.JobCrawl, domain.JobIngest
		for sentence, test := range map[string]struct {
			filter catalog.ReplayFilter
			want   map[string]domain.JobKind
		}{
			"a datastore": {catalog.ReplayFilter{DatastoreID: w.StoreID},
				map[string]domain.JobKind{file.ID: ingest, failed.ID: ingest, alone.ID: ingest, a: ingest, b: crawl}},
			"a datastore, fetched": {catalog.ReplayFilter{DatastoreID: w.StoreID, Fetch: true},
				map[string]domain.JobKind{file.ID: ingest, failed.ID: ingest, alone.ID: crawl, site.ID: crawl}},
			"what failed of a datastore": {catalog.ReplayFilter{DatastoreID: w.StoreID, Failed: true},
				map[string]domain.JobKind{failed.ID: ingest, b: crawl}},
			"what failed of a datastore, fetched": {catalog.ReplayFilter{DatastoreID: w.StoreID, Failed: true, Fetch: true},
				map[string]domain.JobKind{failed.ID: ingest, b: crawl}},
			"the pages of a site":     {catalog.ReplayFilter{GroupID: site.ID}, map[string]domain.JobKind{a: ingest, b: crawl}},
			"one":                     {catalog.ReplayFilter{DatasourceID: file.ID}, map[string]domain.JobKind{file.ID: ingest}},
			"one page, fetched":       {catalog.ReplayFilter{DatasourceID: a, Fetch: true}, map[string]domain.JobKind{a: crawl}},
			"one of another store":    {catalog.ReplayFilter{DatasourceID: file.ID, DatastoreID: other}, nil},
			"one of another tenant":   {catalog.ReplayFilter{DatasourceID: foreign.ID, WorkspaceID: w.WS}, nil},
			"a workspace, of a store": {catalog.ReplayFilter{WorkspaceID: w.WS, DatastoreID: other}, map[string]domain.JobKind{elsewhere.ID: ingest}},
			"everything": {catalog.ReplayFilter{}, map[string]domain.JobKind{
				file.ID: ingest, failed.ID: ingest, alone.ID: ingest, a: ingest, b: crawl, elsewhere.ID: ingest, foreign.ID: ingest}},
		} {
			test.filter.ReplayID = domain.NewID()
			if n := replayAll(w, test.filter); n != int64(len(test.want)) {
				t.Errorf("%s: %d were queued, want %d", sentence, n, len(test.want))
			}
			got := map[string]domain.JobKind{}
			for _, j := range w.PublishAll() {
				got[j.DatasourceID] = j.Kind
				if j.DatasourceID == failed.ID || j.DatasourceID == b {
					w.End(j, domain.EventError)
				} else {
					w.End(j, domain.EventUnchanged)
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
	world.Run(t, open, "a large replay goes on from where it was, in the order of age, and counts", func(t *testing.T, w *world.World) {
		var in []catalog.NewDatasource
		for range 450 {
			in = append(in, w.File())
		}
		made := w.Create(in...)
		w.PublishAll()
		f := catalog.ReplayFilter{DatastoreID: w.StoreID, ReplayID: domain.NewID(), Priority: catalog.PriorityReplay, Force: true}
		n, next, err := w.Replay(w.Ctx, f, "")
		world.OK(t, err)
		world.Equal(t, int64(200), n)
		world.Equal(t, world.DatasourceIDs(made)[:200], w.OutboxIDs())
		upload := w.CreateFile()
		world.Equal(t, upload.ID, w.OutboxIDs()[0])
		rest, next, err := w.Replay(w.Ctx, f, next)
		world.OK(t, err)
		last, end, err := w.Replay(w.Ctx, f, next)
		world.OK(t, err)
		world.Equal(t, []any{int64(200), int64(51), ""}, []any{rest, last, end}) // the upload comes last
		jobs := w.PublishAll()
		world.Equal(t, true, jobs[0].Force)
		w.End(jobs[5], domain.EventError)
		w.End(jobs[6], domain.EventSynched)
		w.End(jobs[7], domain.EventUnchanged)
		total, done, failed, err := w.ReplayProgress(w.Ctx, f.ReplayID)
		world.OK(t, err)
		world.Equal(t, []int64{451, 2, 1}, []int64{total, done, failed})
		total, _, _, err = w.ReplayProgress(w.Ctx, "")
		world.OK(t, err)
		world.Equal(t, int64(0), total)
	})
	world.Run(t, open, "only content changed since then is queued", func(t *testing.T, w *world.World) {
		w.Synch(w.CreateFile().ID)
		w.Clock.Advance(time.Hour)
		since := w.Clock.Now()
		late := w.CreateFile()
		world.Equal(t, int64(1), replayAll(w, catalog.ReplayFilter{DatastoreID: w.StoreID, Since: since}))
		world.Equal(t, []string{late.ID}, w.OutboxIDs())
	})
	world.Run(t, open, "a cursor of another kind is refused", func(t *testing.T, w *world.World) {
		_, _, err := w.Replay(w.Ctx, catalog.ReplayFilter{}, "?")
		world.Code(t, domain.CodeInvalid, err)
	})
}
