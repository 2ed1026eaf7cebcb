package catalogtest

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

func testRefreshes(t *testing.T, open Open) {
	daily := func(d *domain.Datasource) { d.Config.Refresh = "24h" }
	t.Run("schedules of all workspaces are listed, a part at a time", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		var want []string
		for range 5 {
			want = append(want, w.single(daily).ID)
			w.single()
		}
		slices.Sort(want)
		var got []string
		for cursor := ""; ; {
			part, next, err := w.Refreshes(w.ctx, cursor, 2)
			ok(t, err)
			for _, r := range part {
				equal(t, catalog.Refresh{WorkspaceID: w.ws, DatastoreID: w.store, DatasourceID: r.DatasourceID, Schedule: "24h"}, r)
				got = append(got, r.DatasourceID)
			}
			if cursor = next; next == "" {
				break
			}
		}
		equal(t, want, got)
	})
	t.Run("a refresh that is due is queued once, behind fresh content, if nothing is under way", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single(daily)
		due := func(at time.Time) bool {
			queued, err := w.RefreshDue(w.ctx, d.ID, at)
			ok(t, err)
			return queued
		}
		w.clock.advance(time.Hour)
		equal(t, false, due(w.clock.now())) // it still waits
		w.play(pages{pageA: {content: "a"}})
		at := w.clock.now()
		equal(t, true, due(at))
		w.clock.advance(time.Minute)
		upload := w.createFile()
		equal(t, []string{upload.ID, d.ID}, w.outbox())
		jobs := w.publishAll()
		equal(t, "a", jobs[1].Crawl.ETag)
		w.end(jobs[1], domain.EventUnchanged)
		equal(t, false, due(at)) // the same message again
		equal(t, true, due(w.clock.now()))
	})
	t.Run("a refresh whose schedule or datasource is gone is not queued", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.single(daily)
		w.play(pages{pageA: {content: "a"}})
		never := ""
		got, err := w.UpdateWebConfig(w.ctx, w.ws, d.ID, domain.WebPatch{Refresh: &never})
		ok(t, err)
		equal(t, "", got.Config.Refresh)
		for _, id := range []string{d.ID, domain.NewID()} {
			queued, err := w.RefreshDue(w.ctx, id, w.clock.now().Add(time.Hour))
			ok(t, err)
			equal(t, false, queued)
		}
	})
	t.Run("how a site is fetched can be changed, and counts from its next crawl on", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{MaxDepth: 2})
		pagesAtMost, exclude, refresh := 7, []string{"/private/**"}, "0 3 * * *"
		got, err := w.UpdateWebConfig(w.ctx, w.ws, site.ID, domain.WebPatch{MaxPages: &pagesAtMost, Exclude: &exclude, Refresh: &refresh})
		ok(t, err)
		want := site.Config
		want.MaxPages, want.Exclude, want.Refresh = pagesAtMost, exclude, refresh
		equal(t, want, got.Config)
		w.requeue(got)
		equal(t, exclude, w.publishAll()[0].Crawl.Site.Exclude)
	})
	t.Run("what has no such setting is refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		site := w.createSite(domain.DatasourceConfig{}, pageA)
		depth, refresh := 3, "24h"
		for id, patch := range map[string]domain.WebPatch{
			w.createFile().ID:      {Refresh: &refresh},
			w.page(site, pageA).ID: {Refresh: &refresh},
			w.single().ID:          {MaxDepth: &depth},
		} {
			_, err := w.UpdateWebConfig(w.ctx, w.ws, id, patch)
			code(t, domain.CodeInvalid, err)
		}
		_, err := w.UpdateWebConfig(w.ctx, w.workspace(), site.ID, domain.WebPatch{Refresh: &refresh})
		code(t, domain.CodeNotFound, err)
	})
}
