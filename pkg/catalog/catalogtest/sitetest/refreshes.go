package sitetest

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func testRefreshes(t *testing.T, open world.Open) {
	daily := func(d *domain.Datasource) { d.Config.Refresh = "24h" }
	world.Run(t, open, "schedules of all workspaces are listed, a part at a time", func(t *testing.T, w *world.World) {
		var want []string
		for range 5 {
			want = append(want, w.CreatePage(daily).ID)
			w.CreatePage()
		}
		slices.Sort(want)
		var got []string
		for cursor := ""; ; {
			part, next, err := w.Refreshes(w.Ctx, cursor, 2)
			world.OK(t, err)
			for _, r := range part {
				world.Equal(t, catalog.Refresh{WorkspaceID: w.WS, DatastoreID: w.StoreID, DatasourceID: r.DatasourceID, Schedule: "24h"}, r)
				got = append(got, r.DatasourceID)
			}
			if cursor = next; next == "" {
				break
			}
		}
		world.Equal(t, want, got)
	})
	world.Run(t, open, "a refresh that is due is queued once, behind fresh content, if nothing is under way", func(t *testing.T, w *world.World) {
		d := w.CreatePage(daily)
		due := func(at time.Time) bool {
			queued := world.Must(w.RefreshDue(w.Ctx, d.ID, at))(t)
			return queued
		}
		w.Clock.Advance(time.Hour)
		world.Equal(t, false, due(w.Clock.Now())) // the page is still waiting for its first job
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		at := w.Clock.Now()
		world.Equal(t, true, due(at))
		w.Clock.Advance(time.Minute)
		upload := w.CreateFile()
		world.Equal(t, []string{upload.ID, d.ID}, w.OutboxIDs())
		jobs := w.PublishAll()
		world.Equal(t, "a", jobs[1].Crawl.ETag)
		w.End(jobs[1], domain.EventUnchanged)
		world.Equal(t, false, due(at)) // the same event again
		world.Equal(t, true, due(w.Clock.Now()))
	})
	world.Run(t, open, "a refresh whose schedule or datasource is gone is not queued", func(t *testing.T, w *world.World) {
		d := w.CreatePage(daily)
		w.RunWorkers(world.Pages{world.PageA: {Content: "a"}})
		never := ""
		got := world.Must(w.UpdateWebConfig(w.Ctx, w.WS, d.ID, domain.WebPatch{Refresh: &never}))(t)
		world.Equal(t, "", got.Config.Refresh)
		for _, id := range []string{d.ID, domain.NewID()} {
			queued := world.Must(w.RefreshDue(w.Ctx, id, w.Clock.Now().Add(time.Hour)))(t)
			world.Equal(t, false, queued)
		}
	})
	world.Run(t, open, "how a site is fetched can be changed, and counts from its next crawl on", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{MaxDepth: 2})
		maxPages, exclude, refresh := 7, []string{"/private/**"}, "0 3 * * *"
		got := world.Must(w.UpdateWebConfig(w.Ctx, w.WS, site.ID, domain.WebPatch{MaxPages: &maxPages, Exclude: &exclude, Refresh: &refresh}))(t)
		want := site.Config
		want.MaxPages, want.Exclude, want.Refresh = maxPages, exclude, refresh
		world.Equal(t, want, got.Config)
		w.FetchAgain(got)
		world.Equal(t, exclude, w.PublishAll()[0].Crawl.Site.Exclude)
	})
	world.Run(t, open, "datasources without the setting are rejected", func(t *testing.T, w *world.World) {
		site := w.CreateSite(domain.DatasourceConfig{}, world.PageA)
		depth, refresh := 3, "24h"
		for id, patch := range map[string]domain.WebPatch{
			w.CreateFile().ID:              {Refresh: &refresh},
			w.PageAt(site, world.PageA).ID: {Refresh: &refresh},
			w.CreatePage().ID:              {MaxDepth: &depth},
		} {
			world.Refused(w.UpdateWebConfig(w.Ctx, w.WS, id, patch))(t, domain.CodeInvalid)
		}
		world.Refused(w.UpdateWebConfig(w.Ctx, w.NewWorkspace(), site.ID, domain.WebPatch{Refresh: &refresh}))(t, domain.CodeNotFound)
	})
}
